#pragma once
// Blocks of tensors by their offsets instead of pointers and masks: Triton's tensor descriptors and block pointers, and parameters that bring shape and strides.

#include <initializer_list>
#include <vector>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

/// What a load gives outside of the tensor. Nan: of float dtypes.
enum class Padding : std::uint8_t { Zero, Nan };

/// make_tensor_descriptor(x, {M, N}, {N, 1}, {BM, BN}): d.load({m, n}) is the block whose first element is x[m, n], padding outside of the tensor; d.store({m, n},
/// v) stores what lies within. Sizes and strides (in elements) are numbers or integer scalars.
class TensorDescriptor {
 public:
  Tile load(const std::vector<TileArg>& offsets, Line where = Line::current()) const;
  void store(const std::vector<TileArg>& offsets, TileArg value, Line where = Line::current()) const;
  /// Adds to what lies within.
  void atomic_add(const std::vector<TileArg>& offsets, TileArg value, Line where = Line::current()) const;
  /// Of a matrix with blocks of one row, {1, N}: (R, N) whose line i is row rows[i] from `column` on. rows: integers (R).
  Tile gather(TileArg rows, TileArg column, Line where = Line::current()) const;
  /// Stores line i of (R, N) into row rows[i] from `column` on.
  void scatter(TileArg value, TileArg rows, TileArg column, Line where = Line::current()) const;
  const Shape& block() const { return block_; }

 private:
  friend TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                                 const Shape& block, Padding padding, Line where);
  struct Place {
    Tile pointers, inside;
  };
  Place place(const std::vector<TileArg>& offsets, const Line& where) const;
  Place lines(TileArg rows, TileArg column, const Line& where) const;
  /// The position of each element along an axis, and what of it lies within.
  void move(Place& place, int axis, const Tile& at) const;
  Tile padded(const Place& place, const Line& where) const;

  std::vector<Tile> base_;  // one
  std::vector<Tile> sizes_, strides_;
  Shape block_;
  Padding padding_ = Padding::Zero;
};
TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                        const Shape& block, Padding padding = Padding::Zero, Line where = Line::current());

/// A block of a tensor that moves along: Triton's older block pointers. A variable, as tiles are.
class BlockPointer {
 public:
  BlockPointer(TensorDescriptor tensor, const std::vector<TileArg>& offsets);
  BlockPointer(const BlockPointer&) = default;
  /// To where the other one is, of the same tensor and block.
  BlockPointer& operator=(const BlockPointer& other);

  const TensorDescriptor& tensor() const { return tensor_; }
  std::vector<TileArg> offsets(const Line& where) const;

 private:
  TensorDescriptor tensor_;
  std::vector<Tile> offsets_;
};
/// Every axis is checked against the tensor's size.
BlockPointer make_block_ptr(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                            const std::vector<TileArg>& offsets, const Shape& block, Line where = Line::current());
/// The block so many elements further on along each axis.
BlockPointer advance(const BlockPointer& pointer, const std::vector<TileArg>& by, Line where = Line::current());
Tile load(const BlockPointer& pointer, Line where = Line::current());
void store(const BlockPointer& pointer, TileArg value, Line where = Line::current());

namespace language {
/// What a parameter TensorOf or Descriptor brings.
struct TensorContents {
  Content pointer;
  std::vector<Content> sizes, strides;
  Shape block;
};
template <class T>
struct Tensored {
  using Pointer = Ptr<T>;
};
template <class T>
struct Tensored<Out<T>> {
  using Pointer = Out<T>;
};
template <class T>
struct Tensored<InOut<T>> {
  using Pointer = InOut<T>;
};
}  // namespace language

/// A parameter that is a tensor of rank N with its sizes and strides; it is a pointer to the first element as well. TensorOf<float, 2> takes a Tensor that may
/// lie in any way (a transposed one, a slice): nothing is copied. TensorOf<Out<float>, 2> and TensorOf<InOut<float>, 2> are results and Variables.
template <class T, int N>
class TensorOf : public Tile {
 public:
  TensorOf(const language::TensorContents& contents, const Line& where) : Tile(contents.pointer, where) {
    for (const language::Content& size : contents.sizes) sizes_.push_back(language::said(size, where));
    for (const language::Content& stride : contents.strides) strides_.push_back(language::said(stride, where));
  }
  using Tile::operator=;

  /// i64 scalars.
  const Tile& size(int axis) const { return sizes_.at(static_cast<std::size_t>(axis < 0 ? axis + N : axis)); }
  /// Elements from one to the next.
  const Tile& stride(int axis) const { return strides_.at(static_cast<std::size_t>(axis < 0 ? axis + N : axis)); }
  /// Its blocks.
  TensorDescriptor blocks(const Shape& block, Padding padding = Padding::Zero, Line where = Line::current()) const {
    const std::vector<TileArg> sizes(sizes_.begin(), sizes_.end()), strides(strides_.begin(), strides_.end());
    return make_tensor_descriptor(*this, sizes, strides, block, padding, where);
  }

 private:
  std::vector<Tile> sizes_, strides_;
};
/// The same as its blocks, whose shape the launch says: tile::descriptor(x, {BM, BN}).
template <class T, int N>
class Descriptor : public TensorDescriptor {
 public:
  Descriptor(const language::TensorContents& contents, const Line& where)
      : TensorDescriptor(TensorOf<T, N>(contents, where).blocks(contents.block, Padding::Zero, where)) {}
};

}  // namespace tegula::tile
