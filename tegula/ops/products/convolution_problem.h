#pragma once
// A convolution with its arguments checked: where each way to compute it begins.

#include <string_view>

#include "tegula/graph/op.h"
#include "tegula/graph/tensor.h"
#include "tegula/ops/products/convolution.h"

namespace tegula::ops {

struct ConvolutionProblem {
  Tensor x, weight;       // (N, I, spatial…) and (O, I/groups, window…), of one float dtype
  Window window;
  Shape shape;            // shape of the result, (N, O, spatial'…)
  bool batched;           // false: the user's x had no batch axis
  Ref<const Op> library;  // the LibraryOp over (x, weight)
};

/// Throws Error in the name of `op`, as conv2d says.
ConvolutionProblem convolution_problem(std::string_view op, int axes, const Arg& x, const Arg& weight, const ConvolutionOptions& options);

/// True if x (N, I, spatial…), weight (O, I/groups, window…) and y (N, O, spatial'…) fit such a convolution, in any direction.
bool fits_convolution(const Window& window, std::int64_t groups, const Shape& x, const Shape& weight, const Shape& y);
/// The LibraryOp of one group.
Ref<const Op> convolution_op(const Window& window);

}  // namespace tegula::ops
