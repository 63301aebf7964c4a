#include "tegula/tile/language/descriptor.h"

#include <string>

#include "tegula/core/error.h"

namespace tegula::tile {

TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                        const Shape& block, Line where) {
  const auto rank = static_cast<std::size_t>(block.rank());
  if (shape.size() != rank || strides.size() != rank || rank == 0) {
    throw Error(
        {.op = "make_tensor_descriptor",
         .got = std::to_string(shape.size()) + " sizes, " + std::to_string(strides.size()) + " strides, a block of " + to_string(block),
         .expected = "as many of each",
         .where = where});
  }
  const language::Within line(where);
  TensorDescriptor made;
  made.base_.emplace_back(language::said(base.alone(), where));
  for (const TileArg& size : shape) made.sizes_.emplace_back(language::said(size.alone(), where));
  for (const TileArg& stride : strides) made.strides_.emplace_back(language::said(stride.alone(), where));
  made.block_ = block;
  return made;
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
    const auto k = static_cast<std::size_t>(axis);
    Shape along = Dims::filled(block_.rank(), 1);
    along[axis] = block_[axis];
    const Tile at = reshape(arange(0, block_[axis]), along) + offsets[k];
    const Tile inside = at >= 0 && at < sizes_[k];
    place.pointers = place.pointers + at * strides_[k];
    place.inside = place.inside && inside;
  }
  return place;
}

Tile TensorDescriptor::load(const std::vector<TileArg>& offsets, Line where) const {
  const language::Within line(where);
  const Place at = place(offsets, where);
  return tile::load(at.pointers, at.inside, 0);
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

}  // namespace tegula::tile
