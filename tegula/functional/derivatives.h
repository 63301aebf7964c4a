#pragma once
// Derivatives beside gradients: along a direction, and whole matrices of them. grad and vjp are in graph/autodiff/grad.h.

#include "tegula/graph/autodiff/grad.h"

namespace tegula {

/// Jacobian-vector products: Σ_i d y / d xs[i] · vs[i] for each of ys, of its shape and dtype: the derivative along the direction vs (forward mode). vs[i] has the
/// shape of xs[i].
///
/// Forward rules are not needed: vjp is linear in its vectors, and the derivative of a linear function is the function, so the product is the vjp of a vjp
/// (Townsend, "A new trick for calculating Jacobian vector products", 2017). Values that the inner one computes and the outer one does not need are removed
/// like anything that nothing reads; the cost is one to two times that of ys.
/// Throws Error as vjp does, and for vs that do not fit.
std::vector<Tensor> jvp(const std::vector<Tensor>& ys, const WrtList& xs, const std::vector<Tensor>& vs, Line where = Line::current());
Tensor jvp(const Tensor& y, const Wrt& x, const Tensor& v, Line where = Line::current());

/// The way to a Jacobian: by rows (one vjp for each element of y) or by columns (one jvp for each element of the xs).
enum class JacobianBy : std::uint8_t {
  Fewer,  // whichever are fewer
  Rows,
  Columns,
};

/// d y / d x of shape (y's axes…, x's axes…) and y's dtype, for each of xs. All rows (or columns) are one computation: vmap over the vectors. Memory grows with their
/// number; of an op without a rule for vmap a loop is made. Differentiate again as you like.
/// Throws Error as vjp does, and if y and x have more than eight axes together.
std::vector<Tensor> jacobian(const Tensor& y, const WrtList& xs, JacobianBy by = JacobianBy::Fewer, Line where = Line::current());
template <class X>
requires std::convertible_to<const X&, Wrt>
Tensor jacobian(const Tensor& y, const X& x, JacobianBy by = JacobianBy::Fewer, Line where = Line::current()) {
  return jacobian(y, WrtList{x}, by, where)[0];
}

/// d² y / d x² of shape (x's axes…, x's axes…), of a scalar y: the Jacobian of its gradient. A product with a vector, without the matrix, is
/// jvp(grad(y, x), x, v).
Tensor hessian(const Tensor& y, const Wrt& x, Line where = Line::current());
/// The blocks [i][k] = d² y / (d xs[i] d xs[k]).
std::vector<std::vector<Tensor>> hessian(const Tensor& y, const WrtList& xs, Line where = Line::current());

}  // namespace tegula
