#pragma once
// Tensors as the copy engine of a GPU (TMA) sees them.

#include <cstdint>

#include "tegula/core/dtype.h"

namespace tegula::simt {

/// Two axes: rows of `columns` elements, side by side in memory, that begin `stride` elements apart. The launch makes it from its arguments. Boxes of it are
/// copied into shared memory as rows of `pitch` bytes (32, 64, 128), with the swizzle of that size; what lies outside of the tensor is 0 there.
struct TensorMap {
  /// An argument of the program, or a number.
  struct Size {
    int parameter = -1;
    std::int64_t number = 0;
    bool operator==(const Size&) const = default;
  };
  int pointer = 0;  // the parameter
  DType dtype = DType::bf16;
  Size columns, rows, stride;
  int box_columns = 0, box_rows = 0, pitch = 128;
  bool operator==(const TensorMap&) const = default;

  std::size_t box_bytes() const { return static_cast<std::size_t>(box_rows) * static_cast<std::size_t>(pitch); }
};

}  // namespace tegula::simt
