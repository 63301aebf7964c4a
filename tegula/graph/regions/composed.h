#pragma once
// Library ops that say in other ops what they do.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// What a LibraryOp with several results is as well: the same in plain ops. That is its meaning for the tests, and what devices run that have
/// no such call (compile/passes/spell_out.h).
class Composed {
 public:
  virtual ~Composed() = default;
  /// All results, in order, of the shapes and dtypes that the node has.
  virtual std::vector<Tensor> composition(std::span<const Tensor> inputs) const = 0;
  /// Whether the device has a call for it.
  virtual bool is_call_of(const runtime::Device& device, std::span<const Tensor> inputs) const = 0;
  /// All results, of f32 inputs, by the call that the device has for halves: what a precision asks for that stores those. Empty: it has none.
  virtual std::vector<Tensor> in_halves(DType half, const runtime::Device& device, std::span<const Tensor> inputs) const {
    (void)half, (void)device, (void)inputs;
    return {};
  }
};

}  // namespace tegula
