#pragma once
// Library ops that are also written in other ops.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Optional base of a LibraryOp with several results: the same computation in plain ops. The tests take it as the op's meaning, and devices
/// without such a call run it (compile/passes/spell_out.h).
class Composed {
 public:
  virtual ~Composed() = default;
  /// All results, in order, of the shapes and dtypes that the node has.
  virtual std::vector<Tensor> composition(std::span<const Tensor> inputs) const = 0;
  /// True if the device has a call for this op.
  virtual bool is_call_of(const runtime::Device& device, std::span<const Tensor> inputs) const = 0;
  /// All results, of f32 inputs, by the device's call for halves: for a precision that stores halves. Empty: there is none.
  virtual std::vector<Tensor> in_halves(DType half, const runtime::Device& device, std::span<const Tensor> inputs) const {
    (void)half, (void)device, (void)inputs;
    return {};
  }
};

}  // namespace tegula
