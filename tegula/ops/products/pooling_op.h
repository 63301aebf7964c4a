#pragma once
// Pooling with everything decided, for the sources of its public functions.

#include <initializer_list>
#include <vector>

#include "tegula/ops/products/pooling.h"
#include "tegula/runtime/call_description.h"

namespace tegula::ops {

/// x (N, C, spatial…) and what its windows give. The window's padding reaches just as far as its last position.
struct PoolingProblem {
  Tensor x;
  Window window;
  Shape shape;  // of the result
  bool is_batched;  // else x is given, and the result asked for, without N
};
/// The problem that the arguments of max_pool2d and its kin describe. Throws Error in the name of `op`.
PoolingProblem max_pooling_of(std::string_view op, int axes, const Arg& x, const PerAxis& window, const MaxPoolOptions& options);
/// The maxima (N, C, positions…); of floats in windows that have taps (runtime::Pooling) also those.
std::vector<Tensor> max_pooled(const PoolingProblem& problem, const Line& where);
/// The lowest number of the dtype, which padding holds: -inf of floats.
Number lowest_of(DType dtype);
/// Every window of x: (N, C, positions…, elements of the window), with `outside` in the padding.
Tensor pooling_windows(const Tensor& x, const PoolingProblem& problem, Number outside);

/// A node of a float pooling; of the maximum forward with taps two results, else one.
std::vector<Tensor> pooling_nodes(runtime::PoolingKind kind, bool is_backward, const Window& window, std::initializer_list<Tensor> inputs,
                                  const Shape& shape, const Line& where);

}  // namespace tegula::ops
