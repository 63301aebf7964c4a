#include "tegula/ops/linalg/factors.h"

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/linalg/lu_system.h"
#include "tegula/ops/linalg/matrix_op.h"
#include "tegula/ops/linalg/shapes.h"
#include "tegula/ops/linalg/triangles.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

using runtime::Routine;

LUFactors ops::factors_of(const Tensor& a, const Line& where) {
  const auto parts = matrix_routine({.routine = Routine::LU}, {transpose(a)}, where);
  return {transpose(parts[0]), parts[1], parts[2]};
}

namespace {

/// The rows of x (…, n, m) in the order (…, n) of each matrix: whole rows of all matrices, one below the other.
Tensor rows_of(const Tensor& x, const Tensor& order) {
  if (x.numel() == 0) return x;
  const std::int64_t n = x.size(-2), count = x.numel() / (n * x.size(-1));
  const Tensor starts = unsqueeze(arange(count) * n, -1);
  return reshape(index_select(reshape(x, {count * n, x.size(-1)}), 0, flatten(reshape(order, {count, n}) + starts)), x.shape());
}

}  // namespace

Tensor ops::by_factors(const Tensor& packed, const Tensor& order, const Tensor& b, bool transposed) {
  if (!transposed) {
    const Tensor y = triangular_solve(packed, rows_of(b, order), {.unit = true});
    return triangular_solve(packed, y, {.upper = true});
  }
  const Tensor y = triangular_solve(packed, b, {.upper = true, .transposed = true});
  const Tensor x = triangular_solve(packed, y, {.transposed = true, .unit = true});
  return rows_of(x, argsort(order));
}

Tensor ops::not_singular(std::string_view op, const Tensor& x, const Tensor& packed, const Line& where) {
  return checked(op, x, any(diagonal(packed) == 0.0, -1), "a singular matrix",
                 "add a small number to its diagonal, or leave equations out that follow from others", where);
}

LUFactors lu_factor(Arg of_a) {
  const In frame("lu_factor", of_a.loc);
  const ops::Matrix a = ops::matrix_of("lu_factor", of_a);
  LUFactors out = ops::factors_of(a.x, of_a.loc);
  out.packed = a.back(out.packed);
  return out;
}

LUParts lu(Arg of_a) {
  const In frame("lu", of_a.loc);
  const ops::Matrix a = ops::matrix_of("lu", of_a);
  const std::int64_t k = std::min(a.rows, a.columns);
  const LUFactors factors = ops::factors_of(a.x, of_a.loc);
  const Tensor l = tril(slice(factors.packed, -1, {0, k}), -1) + eye(a.rows, k, a.x.dtype());
  const Tensor rows = graph::index({{a.rows, 1}, {1, 0}, 0}, of_a.loc);
  return {cast(rows == unsqueeze(factors.order, -2), a.given), a.back(l), a.back(triu(slice(factors.packed, -2, {0, k})))};
}

Tensor lu_solve(const LUFactors& factors, Arg of_b, const LUSolveOptions& options) {
  const In frame("lu_solve", of_b.loc);
  const ops::System system = ops::system_of("lu_solve", factors.packed, of_b);
  Shape order = system.a.shape();
  order.erase(order.rank() - 1);
  const Tensor x = ops::by_factors(system.a, graph::expand(factors.order, order, of_b.loc), system.b, options.transposed);
  return system.back(ops::not_singular("lu_solve", x, system.a, of_b.loc));
}

Tensor cholesky(Arg of_a) {
  const In frame("cholesky", of_a.loc);
  const ops::Matrix a = ops::matrix_of("cholesky", of_a, ops::Extents2::Square);
  const auto parts = ops::matrix_routine({.routine = Routine::Cholesky, .full = true}, {a.x}, of_a.loc);
  const Tensor l = ops::checked("cholesky", parts[0], parts[1] != 0, "a matrix that is not positive definite",
                                "add a small number to its diagonal, or take lu or eigh", of_a.loc);
  return a.back(l);
}

Tensor cholesky_solve(Arg of_l, Arg of_b) {
  const In frame("cholesky_solve", of_l.loc);
  const ops::System system = ops::system_of("cholesky_solve", of_l, of_b);
  return system.back(triangular_solve(system.a, triangular_solve(system.a, system.b), {.transposed = true}));
}

QRFactors qr(Arg of_a, const QROptions& options) {
  const In frame("qr", of_a.loc);
  const ops::Matrix a = ops::matrix_of("qr", of_a);
  const auto parts = ops::matrix_routine({.routine = Routine::QR, .full = options.full}, {transpose(a.x)}, of_a.loc);
  return {a.back(transpose(parts[0])), a.back(triu(transpose(parts[1])))};
}

}  // namespace tegula
