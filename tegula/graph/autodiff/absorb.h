#pragma once
// What is not chosen gives no gradient, whatever it holds.
//
// `where` gives the gradient 0 to what was not chosen. On its way back that 0 meets derivatives of what may hold anything: of the square
// root of 0, which is infinite, of a product with NaN. 0 * inf is NaN, but every step of the reverse pass is a linear function of its
// cotangents, and such a function of zeros is 0. So zeros that come from a choice absorb what they are multiplied by. Each cotangent says
// whether its zeros do (Node::zeros): those that an op that chooses has made do (Op::gradient_zeros), and so do those that are made of such
// ones, through elementwise ops, reductions, views and gathers. Those of a sum do when those of all its terms do. Behind a call of the
// device (a product of matrices, a convolution, attention) AbsorbAll becomes AbsorbPoles: a NaN that such a call has read is in the gradient
// of its other operand anyway, and the kernels of layers that are finite at finite numbers stay what they are.
//
// Where an elementwise op's cotangent is a mask by `where`, or a view or a sum of such, the mask goes around the op's gradient
// (formula::times_partial). Elsewhere only products that are NaN are touched: where(g == 0 && isnan(g * d), 0, g * d). So no number changes,
// nor does a derivative of it.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// `product`, but 0 where it is NaN and all of the cotangents, of its shape or of rank 0, are 0.
Tensor absorbed(const Tensor& product, std::span<const Tensor> cotangents);

/// The gradients of y's inputs, made of its cotangents `dys` by any ops: each elementwise expression among those that multiplies something by
/// cotangents is `absorbed`. What was made before the cotangents and y is left alone.
std::vector<Tensor> with_absorbed_products(const Node& y, std::span<const Tensor> dys, std::vector<Tensor> gradients);

}  // namespace tegula
