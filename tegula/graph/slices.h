#pragma once
// Operands and results that are slices: parts of larger tensors that are read and written where they lie.

#include <cstddef>

#include "tegula/graph/op.h"

namespace tegula {

/// The place of a slice inside a larger tensor.
struct SlicePlace {
  Layout layout;           // with the larger tensor's strides
  std::int64_t first = 0;  // the element of that tensor at which it begins, which itself begins wherever anybody wants it to
  DType dtype = DType::f32;
};

/// True if the slice, and each of its contiguous runs, begins at a multiple of `alignment` bytes.
bool runs_are_aligned(const SlicePlace& slice, std::size_t alignment);

}  // namespace tegula
