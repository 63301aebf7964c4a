#include "tegula/tile/language/descriptor.h"

#include <limits>
#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::tile {

TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                        const Shape& block, Padding padding, Line where) {
  const auto rank = static_cast<std::size_t>(block.rank());
  if (shape.size() != rank || strides.size() != rank || rank == 0) {
    throw Error(
        {.op = "make_tensor_descriptor",
         .got = std::to_string(shape.size()) + " sizes, " + std::to_string(strides.size()) + " strides, a block of " + to_string(block),
         .expected = "as many of each",
         .where = where});
  }
  if (padding == Padding::Nan && !is_float(base.content.dtype)) {
    throw Error({.op = "make_tensor_descriptor",
                 .got = "NaN as the padding of " + std::string(name(base.content.dtype)),
                 .expected = "a float dtype, or Padding::Zero",
                 .where = where});
  }
  const language::Within line(where);
  TensorDescriptor made;
  made.base_.emplace_back(language::said(base.alone(), where));
  for (const TileArg& size : shape) made.sizes_.emplace_back(language::said(size.alone(), where));
  for (const TileArg& stride : strides) made.strides_.emplace_back(language::said(stride.alone(), where));
  made.block_ = block;
  made.padding_ = padding;
  return made;
}

void TensorDescriptor::move(Place& place, int axis, const Tile& at) const {
  const auto k = static_cast<std::size_t>(axis);
  place.pointers = place.pointers + at * strides_[k];
  place.inside = place.inside && at >= 0 && at < sizes_[k];
}

TensorDescriptor::Place TensorDescriptor::place(const std::vector<TileArg>& offsets, const Line& where) const {
  if (offsets.size() != sizes_.size()) {
    throw Error({.op = "TensorDescriptor",
                 .got = std::to_string(offsets.size()) + " offsets",
                 .expected = std::to_string(sizes_.size()) + ", one for each axis",
                 .where = where});
  }
  Place place{base_[0], true};
  for (int axis = 0; axis < block_.rank(); ++axis) {
    Shape along = Dims::filled(block_.rank(), 1);
    along[axis] = block_[axis];
    move(place, axis, reshape(arange(0, block_[axis]), along) + offsets[static_cast<std::size_t>(axis)]);
  }
  return place;
}

TensorDescriptor::Place TensorDescriptor::lines(TileArg rows, TileArg column, const Line& where) const {
  if (block_.rank() != 2 || block_[0] != 1) {
    throw Error({.op = "TensorDescriptor",
                 .got = "a gather or scatter by blocks of " + to_string(block_),
                 .expected = "blocks of one row of a matrix, {1, N}",
                 .where = where});
  }
  Place place{base_[0], true};
  move(place, 0, col(rows));
  move(place, 1, row(arange(0, block_[1]) + column));
  return place;
}

Tile TensorDescriptor::padded(const Place& place, const Line& where) const {
  const double other = padding_ == Padding::Nan ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  return tile::load(TileArg(place.pointers, where), TileArg(place.inside, where), TileArg(other, where));
}

Tile TensorDescriptor::load(const std::vector<TileArg>& offsets, Line where) const {
  const language::Within line(where);
  return padded(place(offsets, where), where);
}
void TensorDescriptor::store(const std::vector<TileArg>& offsets, TileArg value, Line where) const {
  const language::Within line(where);
  const Place at = place(offsets, where);
  tile::store(at.pointers, value, at.inside);
}
void TensorDescriptor::atomic_add(const std::vector<TileArg>& offsets, TileArg value, Line where) const {
  const language::Within line(where);
  const Place at = place(offsets, where);
  tile::atomic_add(at.pointers, value, at.inside);
}
Tile TensorDescriptor::gather(TileArg rows, TileArg column, Line where) const {
  const language::Within line(where);
  return padded(lines(rows, column, where), where);
}
void TensorDescriptor::scatter(TileArg value, TileArg rows, TileArg column, Line where) const {
  const language::Within line(where);
  const Place at = lines(rows, column, where);
  tile::store(at.pointers, value, at.inside);
}

BlockPointer::BlockPointer(TensorDescriptor tensor, const std::vector<TileArg>& offsets) : tensor_(std::move(tensor)) {
  for (const TileArg& offset : offsets) offsets_.emplace_back(language::said(offset.alone(), offset.where));
}
BlockPointer& BlockPointer::operator=(const BlockPointer& other) {
  for (std::size_t axis = 0; axis < offsets_.size(); ++axis) offsets_[axis] = other.offsets_.at(axis);
  return *this;
}
std::vector<TileArg> BlockPointer::offsets(const Line& where) const {
  std::vector<TileArg> out;
  for (const Tile& offset : offsets_) out.emplace_back(offset, where);
  return out;
}

BlockPointer make_block_ptr(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                            const std::vector<TileArg>& offsets, const Shape& block, Line where) {
  return {make_tensor_descriptor(base, shape, strides, block, Padding::Zero, where), offsets};
}

BlockPointer advance(const BlockPointer& pointer, const std::vector<TileArg>& by, Line where) {
  std::vector<TileArg> offsets = pointer.offsets(where);
  if (by.size() != offsets.size()) {
    throw Error({.op = "advance",
                 .got = std::to_string(by.size()) + " steps",
                 .expected = std::to_string(offsets.size()) + ", one for each axis",
                 .where = where});
  }
  const language::Within line(where);
  std::vector<Tile> moved;
  for (std::size_t axis = 0; axis < by.size(); ++axis) moved.push_back(offsets[axis] + by[axis]);
  return {pointer.tensor(), std::vector<TileArg>(moved.begin(), moved.end())};
}

Tile load(const BlockPointer& pointer, Line where) { return pointer.tensor().load(pointer.offsets(where), where); }
void store(const BlockPointer& pointer, TileArg value, Line where) { pointer.tensor().store(pointer.offsets(where), value, where); }

}  // namespace tegula::tile
