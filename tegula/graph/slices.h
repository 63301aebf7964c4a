#pragma once
// Calls whose operands or results are slices: parts of larger tensors that are read and written where they lie.

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

/// What an op with several results is as well, where those may be slices.
class PreparesWithin {
 public:
  virtual ~PreparesWithin() = default;
  /// LibraryOp::prepare, given where each result lies.
  virtual std::unique_ptr<runtime::Call> prepare_within(runtime::Device& device, std::span<const Layout> inputs,
                                                        std::span<const Layout> results, DType dtype) const = 0;
};

/// Whether the slice begins at a multiple of `alignment` bytes, and each run of elements side by side does.
bool runs_are_aligned(const SlicePlace& slice, std::size_t alignment);

}  // namespace tegula
