#include "tegula/ops/linalg/spectra.h"

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/linalg/factors.h"
#include "tegula/ops/linalg/matrix_op.h"
#include "tegula/ops/linalg/shapes.h"
#include "tegula/ops/linalg/triangles.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

using ops::Extents2;
using ops::Matrix;
using runtime::Routine;

namespace {

Tensor swap_back(const Tensor& x, bool swapped) { return swapped ? transpose(x) : x; }

/// A power of two (…, 1, 1) near the largest number of each matrix. Some libraries multiply elements with each other, and of small ones nothing is left:
/// a matrix is divided by it, and the values are multiplied.
Tensor scale_of(const Tensor& a) {
  const Tensor most = stop_gradient(max(abs(a), {-2, -1}, Keep::Yes));
  return tegula::where(isfinite(most) && most > 0, exp2(floor(log2(most))), 1.0);
}

/// Values, vectors and state of a symmetric matrix.
std::vector<Tensor> symmetric_parts(const Tensor& a, const Line& where) {
  if (a.numel() == 0) return ops::matrix_routine({.routine = Routine::SymmetricEigen}, {a}, where);
  const Tensor scale = scale_of(a);
  std::vector<Tensor> parts = ops::matrix_routine({.routine = Routine::SymmetricEigen}, {a / scale}, where);
  parts[0] = parts[0] * squeeze(scale, -1);
  return parts;
}
/// The routine wants its matrix by columns: aᵀ of a wide one, which has the same values.
std::vector<Tensor> svd_parts(const Matrix& a, bool full, const Line& where) {
  const runtime::MatrixRoutine form{.routine = Routine::SVD, .full = full};
  const Tensor x = swap_back(a.x, a.rows >= a.columns);
  if (x.numel() == 0) return ops::matrix_routine(form, {x}, where);
  const Tensor scale = scale_of(x);
  std::vector<Tensor> parts = ops::matrix_routine(form, {x / scale}, where);
  parts[1] = parts[1] * squeeze(scale, -1);
  return parts;
}

}  // namespace

SVDFactors svd(Arg of_a, const SVDOptions& options) {
  const In frame("svd", of_a.loc);
  const Matrix a = ops::matrix_of("svd", of_a);
  const auto parts = svd_parts(a, options.full, of_a.loc);
  const Tensor values = ops::ended("svd", parts[1], parts[3], of_a.loc);
  const Tensor tall = a.back(transpose(parts[0])), square = a.back(parts[2]);
  if (a.rows >= a.columns) return {tall, a.back(values), square};
  return {square, a.back(values), tall};
}

Tensor svdvals(Arg of_a) {
  const In frame("svdvals", of_a.loc);
  const Matrix a = ops::matrix_of("svdvals", of_a);
  const auto parts = svd_parts(a, false, of_a.loc);
  return a.back(ops::ended("svdvals", parts[1], parts[3], of_a.loc));
}

EigenFactors eigh(Arg of_a) {
  const In frame("eigh", of_a.loc);
  const Matrix a = ops::matrix_of("eigh", of_a, Extents2::Square);
  const auto parts = symmetric_parts(a.x, of_a.loc);
  return {a.back(ops::ended("eigh", parts[0], parts[2], of_a.loc)), a.back(transpose(parts[1]))};
}

EigenFactors eigh(Arg of_a, Arg of_b) {
  const In frame("eigh", of_a.loc);
  const ops::System system = ops::system_of("eigh", of_a, of_b);
  if (system.vectors || system.b.size(-1) != system.a.size(-1))
    ops::refuse("eigh", "shapes " + to_string(system.a.shape()) + " and " + to_string(system.b.shape()), "two matrices of one size",
                of_a.loc);
  // l⁻¹ a l⁻ᵀ y = λ y, x = l⁻ᵀ y
  const Tensor l = cholesky(system.b), half = triangular_solve(l, system.a);
  const EigenFactors inner = eigh(triangular_solve(l, transpose(half)));
  return {system.back(inner.values), system.back(triangular_solve(l, inner.vectors, {.transposed = true}))};
}

Tensor eigvalsh(Arg of_a) {
  const In frame("eigvalsh", of_a.loc);
  const Matrix a = ops::matrix_of("eigvalsh", of_a, Extents2::Square);
  const auto parts = symmetric_parts(a.x, of_a.loc);
  return a.back(ops::ended("eigvalsh", parts[0], parts[2], of_a.loc));
}

EigenFactors eig(Arg of_a) {
  const In frame("eig", of_a.loc);
  const Matrix a = ops::matrix_of("eig", of_a, Extents2::Square);
  const auto parts = ops::matrix_routine({.routine = Routine::Eigen}, {transpose(a.x)}, of_a.loc);
  return {a.back(ops::ended("eig", parts[0], parts[2], of_a.loc)), a.back(transpose(parts[1], -3, -2))};
}

Tensor eigvals(Arg of_a) {
  const In frame("eigvals", of_a.loc);
  const Matrix a = ops::matrix_of("eigvals", of_a, Extents2::Square);
  const auto parts = ops::matrix_routine({.routine = Routine::Eigen}, {transpose(a.x)}, of_a.loc);
  return a.back(ops::ended("eigvals", parts[0], parts[2], of_a.loc));
}

}  // namespace tegula
