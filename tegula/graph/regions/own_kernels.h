#pragma once
// Library ops that some devices would rather have as kernels made for them.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// What a LibraryOp with one result is as well where an op with tile programs can stand for it.
class HasOwnKernels {
 public:
  virtual ~HasOwnKernels() = default;
  /// The same by such an op, of this shape; empty where the device has a better call.
  virtual std::vector<Tensor> by_own_kernels(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const = 0;
};

}  // namespace tegula
