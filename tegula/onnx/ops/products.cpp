// Products of matrices.

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/linalg/solve.h"
#include "tegula/ops/products/einsum.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// alpha * A B + beta * C, A and B transposed where asked for. A factor of 1 multiplies nothing.
Results gemm(const Call& call) {
  const auto scaled = [](const Tensor& x, double factor) {
    if (factor == 1) return x;
    return is_float(x.dtype()) ? x * factor : cast(cast(x, f64) * factor, x.dtype());
  };
  Tensor a = call[0], b = call[1];
  if (a.rank() != 2 || b.rank() != 2) call.refuse("shapes " + to_string(a.shape()) + " and " + to_string(b.shape()), "two matrices");
  if (call.flag("transA")) a = transpose(a);
  if (call.flag("transB")) b = transpose(b);
  const Tensor product = scaled(matmul(a, b), call.number("alpha", 1));
  return call.has(2) ? product + scaled(call[2], call.number("beta", 1)) : product;
}

/// Expanded along the first row (Laplace), for the smallest matrices: the gradient divides by nothing, also where they are singular.
Tensor determinant(const Tensor& a) {
  const std::int64_t n = a.size(-1);
  if (n == 1) return select(select(a, -1, 0), -1, 0);
  Tensor out;
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<std::int64_t> columns;
    for (std::int64_t k = 0; k < n; ++k)
      if (k != j) columns.push_back(k);
    const Tensor below = slice(a, -2, {.begin = 1});
    const Tensor part = select(select(a, -2, 0), -1, j) * determinant(take(below, constant(columns), -1));
    out = !out.defined() ? part : j % 2 == 0 ? out + part : out - part;
  }
  return out;
}

Results determinants(const Call& call) {
  constexpr std::int64_t kSmall = 3;  // rows
  const Tensor a = call[0];
  if (a.rank() < 2 || a.size(-1) != a.size(-2)) call.refuse("shape " + to_string(a.shape()), "square matrices");
  if (a.size(-1) >= 1 && a.size(-1) <= kSmall) return determinant(a);
  return cast(det(cast(a, a.dtype() == f64 ? f64 : f32)), a.dtype());
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"MatMul", [](Call& c) -> Results { return matmul(c[0], c[1]); }},
    {"Gemm", [](Call& c) -> Results { return gemm(c); }, "alpha beta transA transB broadcast"},
    {"Det", [](Call& c) -> Results { return determinants(c); }},
    {"Einsum", [](Call& c) -> Results { return einsum(c.text("equation"), c.tensors()); }, "equation"},
};
// clang-format on

}  // namespace

Operators product_operators() { return kOperators; }

}  // namespace tegula::onnx
