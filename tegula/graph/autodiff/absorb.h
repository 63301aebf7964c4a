#pragma once
// Elements that `where` did not choose give no gradient, whatever they hold.
//
// `where` gives the gradient 0 to the elements it did not choose. In the reverse pass that 0 meets derivatives at arbitrary values: of the
// square root at 0, which is infinite, or of a product with NaN. 0 * inf is NaN, but every step of the reverse pass is a linear function of
// its cotangents, and a linear function of zeros is 0. Zeros that come from a choice therefore absorb the factors they are multiplied by. Each
// cotangent says whether its zeros absorb (Node::zeros): the cotangents made by an op that chooses do (Op::gradient_zeros), and so do those
// computed from them by elementwise ops, reductions, views and gathers. The zeros of a sum absorb if those of all its terms do. Behind a
// library call (matmul, convolution, attention) AbsorbAll becomes AbsorbPoles: a NaN that such a call has read is in the gradient of its other
// operand anyway, and the kernels of layers that are finite at finite arguments stay as they are.
//
// If an elementwise op's cotangent is masked by `where`, or is a view or sum of masked ones, the mask is applied to the op's gradient
// (formula::times_partial). Elsewhere only products that are NaN change: where(g == 0 && isnan(g * d), 0, g * d). No other value changes,
// and no derivative of one.

#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// `product`, but 0 where it is NaN and all of the cotangents, of its shape or of rank 0, are 0.
Tensor absorbed(const Tensor& product, std::span<const Tensor> cotangents);

/// The gradients of y's inputs with absorbing products: each elementwise expression in `gradients` that multiplies by a cotangent is rewritten
/// as `absorbed`. Nodes older than the cotangents and y do not change.
std::vector<Tensor> with_absorbed_products(const Node& y, std::span<const Tensor> dys, std::vector<Tensor> gradients);

}  // namespace tegula
