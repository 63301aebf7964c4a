#pragma once
// Blocks of tensors by their offsets instead of pointers and masks: Triton's tensor descriptors.

#include <vector>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

/// make_tensor_descriptor(x, {M, N}, {N, 1}, {BM, BN}): d.load({m, n}) is the block whose first element is x[m, n], zero outside of the tensor; d.store({m, n}, v)
/// stores what lies within. Sizes and strides (in elements) are numbers or integer scalars.
class TensorDescriptor {
 public:
  Tile load(const std::vector<TileArg>& offsets, Line where = Line::current()) const;
  void store(const std::vector<TileArg>& offsets, TileArg value, Line where = Line::current()) const;
  /// Adds to what lies within.
  void atomic_add(const std::vector<TileArg>& offsets, TileArg value, Line where = Line::current()) const;

 private:
  friend TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                                 const Shape& block, Line where);
  struct Place {
    Tile pointers, inside;
  };
  Place place(const std::vector<TileArg>& offsets, const Line& where) const;

  std::vector<Tile> base_;  // one
  std::vector<Tile> sizes_, strides_;
  Shape block_;
};
TensorDescriptor make_tensor_descriptor(TileArg base, const std::vector<TileArg>& shape, const std::vector<TileArg>& strides,
                                        const Shape& block, Line where = Line::current());

// What is known about a value is derived from the program: these words of Triton's give x.
inline Tile multiple_of(TileArg x, std::int64_t) { return language::said(x.alone(), x.where); }
inline Tile max_contiguous(TileArg x, std::int64_t) { return language::said(x.alone(), x.where); }
inline Tile max_constancy(TileArg x, std::int64_t) { return language::said(x.alone(), x.where); }

}  // namespace tegula::tile
