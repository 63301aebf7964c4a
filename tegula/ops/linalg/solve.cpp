#include "tegula/ops/linalg/solve.h"

#include <cmath>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/branch.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/linalg/lu_system.h"
#include "tegula/ops/linalg/shapes.h"
#include "tegula/ops/linalg/triangles.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "solve";

/// x with a x = b, or aᵀ x = b, by the factors of a: which have no gradient, because a has it.
Tensor solved(const Tensor& a, const LUFactors& lu, const Tensor& b, bool transposed, const Line& where) {
  return custom_function(
      std::string(kName), {{"transposed", transposed}},
      [transposed](const std::vector<Tensor>& in) { return ops::by_factors(in[2], in[3], in[1], transposed); },
      [where, transposed](const std::vector<Tensor>& in, const Tensor& x, const Tensor& dx) {
        const Tensor db = solved(in[0], {in[2], in[3], {}}, dx, !transposed, where);
        return std::vector<Tensor>{-(transposed ? matmul(x, transpose(db)) : matmul(db, transpose(x))), db, Tensor(), Tensor()};
      },
      {a, b, lu.packed, lu.order}, where);
}

LUFactors factors_without_gradient(const Tensor& a, const Line& where) { return ops::factors_of(graph::stop_gradient(a, where), where); }

/// Σ of inputs' products with a⁻ᵀ: the gradient of a function of log |det a|.
Tensor inverse_transposed(const Tensor& a, const Line& where) {
  return solved(a, factors_without_gradient(a, where), expand(eye(a.size(-1), std::nullopt, a.dtype()), a.shape()), true, where);
}

Tensor along_matrix(const Tensor& x) { return unsqueeze(unsqueeze(x, -1), -1); }

/// -1 for an odd number of exchanges.
Tensor parity(const LUFactors& lu, DType dtype) { return 1.0 - 2.0 * cast(lu.exchanges % 2, dtype); }

Tensor determinant(const Tensor& a, const Line& where) {
  return custom_function(
      "det",
      [where](const std::vector<Tensor>& in) {
        const LUFactors lu = ops::factors_of(in[0], where);
        return prod(diagonal(lu.packed), -1) * parity(lu, in[0].dtype());
      },
      [where](const std::vector<Tensor>& in, const Tensor&, const Tensor& d) {
        return std::vector<Tensor>{along_matrix(d * determinant(in[0], where)) * inverse_transposed(in[0], where)};
      },
      {a}, where);
}

Tensor log_of_determinant(const Tensor& a, const Line& where) {
  return custom_function(
      "slogdet", [where](const std::vector<Tensor>& in) { return sum(log(abs(diagonal(ops::factors_of(in[0], where).packed))), -1); },
      [where](const std::vector<Tensor>& in, const Tensor&, const Tensor& d) {
        return std::vector<Tensor>{along_matrix(d) * inverse_transposed(in[0], where)};
      },
      {a}, where);
}

Tensor checked_solution(std::string_view name, const Tensor& a, const Tensor& b, const Line& where) {
  const LUFactors lu = factors_without_gradient(a, where);
  return ops::not_singular(name, solved(a, lu, b, false, where), lu.packed, where);
}

/// The solution by factors in f32, or of a rounded to f16: a correction multiplies the error by about their rounding error times the condition.
Tensor refined(const ops::System& system, Refine refine, const Line& where) {
  constexpr std::int64_t kCorrections = 30;
  const DType own = system.a.dtype();
  const double rounding = own == f64 ? 2.220446049250313e-16 : 1.1920928955078125e-7;
  const auto most = [](const Tensor& t) { return max(abs(t), {-1, -2}, Keep::Yes); };
  return custom_function(
      std::string(kName),
      [&](const std::vector<Tensor>& in) {
        const Tensor &a = in[0], &b = in[1];
        if (a.numel() == 0 || b.numel() == 0) return checked_solution(kName, a, b, where);
        // The largest number of each matrix becomes one between 1 and 2.
        const Tensor most_of_a = most(a), scale = tegula::where(isfinite(most_of_a) && most_of_a > 0, exp2(floor(log2(most_of_a))), 1.0);
        const Tensor scaled = a / scale;
        const LUFactors low =
            ops::factors_of(graph::cast(refine == Refine::Half ? graph::cast(scaled, f16, where) : scaled, f32, where), where);
        const auto correction = [&](const Tensor& packed, const Tensor& order, const Tensor& r) {
          return graph::cast(ops::by_factors(packed, order, graph::cast(r, f32, where), false), own, where) / scale;
        };
        const Tensor allowed = rounding * std::sqrt(static_cast<double>(a.size(-1))) * max(sum(abs(a), -1, Keep::Yes), -2, Keep::Yes);
        const auto is_right = [&](const Tensor& x, const Tensor& residual) { return all(most(residual) <= allowed * most(x)); };
        const Tensor first = correction(low.packed, low.order, b);
        const Repeated found = while_loop([&](const std::vector<Tensor>& carry) { return !is_right(carry[0], carry[1]); },
                                          [&](const std::vector<Tensor>& carry) {
                                            const Tensor x = carry[0] + correction(low.packed, low.order, carry[1]);
                                            return std::vector<Tensor>{x, b - matmul(a, x)};
                                          },
                                          {first, b - matmul(a, first)}, kCorrections, where);
        return cond(
            Arg(is_right(found.carry[0], found.carry[1]), where), [](const std::vector<Tensor>& of) { return std::vector<Tensor>{of[2]}; },
            [&](const std::vector<Tensor>& of) { return std::vector<Tensor>{checked_solution(kName, of[0], of[1], where)}; },
            {a, b, found.carry[0]})[0];
      },
      [where](const std::vector<Tensor>& in, const Tensor& x, const Tensor& dx) {
        const Tensor db = solved(in[0], factors_without_gradient(in[0], where), dx, true, where);
        return std::vector<Tensor>{-matmul(db, transpose(x)), db};
      },
      {system.a, system.b}, where);
}

}  // namespace

Tensor solve(Arg of_a, Arg of_b, const SolveOptions& options) {
  const In frame(kName, of_a.loc);
  const ops::System system = ops::system_of(kName, of_a, of_b);
  const bool lower = options.refine == Refine::Half || (options.refine == Refine::Single && system.a.dtype() == f64);
  if (lower) return system.back(refined(system, options.refine, of_a.loc));
  return system.back(checked_solution(kName, system.a, system.b, of_a.loc));
}

Tensor inverse(Arg of_a) {
  const In frame("inverse", of_a.loc);
  const ops::Matrix a = ops::matrix_of("inverse", of_a, ops::Extents2::Square);
  return a.back(checked_solution("inverse", a.x, expand(eye(a.rows, std::nullopt, a.x.dtype()), a.x.shape()), of_a.loc));
}

Tensor det(Arg of_a) {
  const In frame("det", of_a.loc);
  const ops::Matrix a = ops::matrix_of("det", of_a, ops::Extents2::Square);
  return a.back(determinant(a.x, of_a.loc));
}

SignAndLog slogdet(Arg of_a) {
  const In frame("slogdet", of_a.loc);
  const ops::Matrix a = ops::matrix_of("slogdet", of_a, ops::Extents2::Square);
  const LUFactors lu = factors_without_gradient(a.x, of_a.loc);
  return {a.back(prod(sign(diagonal(lu.packed)), -1) * parity(lu, a.x.dtype())), a.back(log_of_determinant(a.x, of_a.loc))};
}

Tensor lstsq(Arg of_a, Arg of_b) {
  const In frame("lstsq", of_a.loc);
  const ops::System system = ops::system_of("lstsq", of_a, of_b, ops::Extents2::Any);
  if (system.a.size(-2) >= system.a.size(-1)) {
    const QRFactors f = qr(system.a);
    return system.back(triangular_solve(f.r, matmul(transpose(f.q), system.b), {.upper = true}));
  }
  const QRFactors f = qr(transpose(system.a));
  return system.back(matmul(f.q, triangular_solve(f.r, system.b, {.upper = true, .transposed = true})));
}

}  // namespace tegula
