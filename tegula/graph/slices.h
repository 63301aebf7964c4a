#pragma once
// Operands and results that are slices: parts of larger tensors that are read and written where they lie.

#include <cstddef>

#include "tegula/graph/op.h"

namespace tegula {

/// Where a part of a larger tensor lies.
struct SlicePlace {
  Layout layout;           // with the larger tensor's strides
  std::int64_t first = 0;  // the element of that tensor at which it begins, which itself begins wherever anybody wants it to
  DType dtype = DType::f32;
};

/// What a LibraryOp is as well that takes slices.
class TakesSlices {
 public:
  virtual ~TakesSlices() = default;
  /// Numbers of results for takes_slice: operand k is k, result k is kResult - k.
  static constexpr int kResult = -1;
  /// Whether the call reads this operand, or writes this result, where the slice lies, and loses nothing by it against a tensor of its own and a copy.
  virtual bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const = 0;
};

/// What a KernelOp with several results is as well where some of them take over the storage of inputs (KernelOp::overwrites).
class OverwritesInputs {
 public:
  virtual ~OverwritesInputs() = default;
  virtual int input_overwritten_by(int result) const = 0;  // -1: none
};

/// What a KernelOp is as well whose result is input 0, over which it is written, but for a slice along an axis, which is input 1. Input 2 (one
/// i64) says where that begins; where it would not fit, nothing is written. Who computes the slice may store it there in the first place.
class InsertsSlice {
 public:
  virtual ~InsertsSlice() = default;
  virtual int slice_axis() const = 0;
};

/// Whether the slice begins at a multiple of `alignment` bytes, and each run of elements side by side does.
bool runs_are_aligned(const SlicePlace& slice, std::size_t alignment);

}  // namespace tegula
