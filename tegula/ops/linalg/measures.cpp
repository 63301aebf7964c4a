#include "tegula/ops/linalg/measures.h"

#include <array>
#include <limits>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/linalg/shapes.h"
#include "tegula/ops/linalg/solve.h"
#include "tegula/ops/linalg/spectra.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

using ops::Extents2;
using ops::Matrix;

namespace {

Tensor identity_like(const Matrix& a) { return expand(eye(a.rows, std::nullopt, a.x.dtype()), a.x.shape()); }

/// (…): the limit up to which singular values count as 0.
Tensor limit_of(const Tensor& values, const Matrix& a, const RankOptions& options) {
  const double epsilon = a.x.dtype() == f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return max(values, -1, Keep::Yes) * options.tolerance.value_or(static_cast<double>(std::max(a.rows, a.columns)) * epsilon);
}

Tensor norm_of(const Tensor& x, MatrixNorm norm) {
  switch (norm) {
    case MatrixNorm::Frobenius: return sqrt(sum(x * x, {-1, -2}));
    case MatrixNorm::Nuclear: return sum(svdvals(x), -1);
    case MatrixNorm::Two: return select(svdvals(x), -1, 0);  // they descend
    case MatrixNorm::MinusTwo: return select(svdvals(x), -1, -1);
    case MatrixNorm::One: return max(sum(abs(x), -2), -1);
    case MatrixNorm::Infinity: return max(sum(abs(x), -1), -1);
  }
  return x;
}

}  // namespace

Tensor trace(Arg of_a) {
  const In frame("trace", of_a.loc);
  const Tensor a = of_a.tensor("trace");
  if (a.rank() < 2) ops::refuse("trace", "shape " + to_string(a.shape()), "(…, m, n)", of_a.loc);
  return sum(diagonal(a), -1);
}

Tensor kron(Arg of_a, Arg of_b) {
  const In frame("kron", of_a.loc);
  const Tensor a = of_a.tensor("kron"), b = of_b.tensor("kron");
  bool fits = a.rank() >= 2 && a.rank() == b.rank();
  for (int i = 0; fits && i + 2 < a.rank(); ++i) fits = a.size(i) == b.size(i);
  if (!fits) ops::refuse("kron", "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()), "(…, m, n) and (…, p, q)", of_a.loc);
  Shape shape = a.shape();
  const int last = shape.rank() - 1;
  shape[last - 1] *= b.size(-2), shape[last] *= b.size(-1);
  return reshape(unsqueeze(unsqueeze(a, -1), -3) * unsqueeze(unsqueeze(b, -2), -4), shape);
}

Tensor matrix_power(Arg of_a, std::int64_t power) {
  const In frame("matrix_power", of_a.loc);
  const Matrix a = ops::matrix_of("matrix_power", of_a, Extents2::Square);
  Tensor square = power < 0 ? inverse(a.x) : a.x, out;
  for (std::uint64_t left = power < 0 ? 0 - static_cast<std::uint64_t>(power) : static_cast<std::uint64_t>(power); left > 0;) {
    if (left % 2 == 1) out = out.defined() ? matmul(out, square) : square;
    if ((left /= 2) > 0) square = matmul(square, square);
  }
  return graph::distinct(a.back(out.defined() ? out : identity_like(a)), of_a.tensor("matrix_power"), of_a.loc);
}

Tensor matrix_exp(Arg of_a) {
  const In frame("matrix_exp", of_a.loc);
  const Matrix a = ops::matrix_of("matrix_exp", of_a, Extents2::Square);
  if (numel(a.x.shape()) == 0) return a.back(a.x * 1.0);
  constexpr int kSquares = 12;
  constexpr std::array kPade{64764752532480000.0,
                             32382376266240000.0,
                             7771770303897600.0,
                             1187353796428800.0,
                             129060195264000.0,
                             10559470521600.0,
                             670442572800.0,
                             33522128640.0,
                             1323241920.0,
                             40840800.0,
                             960960.0,
                             16380.0,
                             182.0,
                             1.0};
  const auto c = [&](std::size_t k) { return kPade[k] / kPade[0]; };  // scaled: f32 holds them
  const double reach = a.x.dtype() == f64 ? 5.37 : 2.0;  // norms for which the approximant is as good as its numbers
  const Tensor norm = stop_gradient(unsqueeze(unsqueeze(norm_of(a.x, MatrixNorm::One), -1), -1));
  const Tensor squares = clamp(ceil(log2(norm / reach)), 0.0, static_cast<double>(kSquares));
  const Tensor x = a.x * exp2(-squares), one = identity_like(a);
  const Tensor x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x2, x4);
  const Tensor odd = matmul(x, matmul(x6, c(13) * x6 + c(11) * x4 + c(9) * x2) + c(7) * x6 + c(5) * x4 + c(3) * x2 + c(1) * one);
  const Tensor even = matmul(x6, c(12) * x6 + c(10) * x4 + c(8) * x2) + c(6) * x6 + c(4) * x4 + c(2) * x2 + one;
  Tensor y = solve(even - odd, even + odd);
  for (int i = 0; i < kSquares; ++i) y = where(squares > static_cast<double>(i), matmul(y, y), y);
  return a.back(y);
}

Tensor matrix_norm(Arg of_a, MatrixNorm norm) {
  const In frame("matrix_norm", of_a.loc);
  const Matrix a = ops::matrix_of("matrix_norm", of_a);
  return a.back(norm_of(a.x, norm));
}

Tensor cond(Arg of_a, MatrixNorm norm) {
  const In frame("cond", of_a.loc);
  const bool by_values = norm == MatrixNorm::Two || norm == MatrixNorm::MinusTwo;
  const Matrix a = ops::matrix_of("cond", of_a, by_values ? Extents2::Any : Extents2::Square);
  if (!by_values) return a.back(norm_of(a.x, norm) * norm_of(inverse(a.x), norm));
  const Tensor values = svdvals(a.x), most = select(values, -1, 0), least = select(values, -1, -1);
  return a.back(norm == MatrixNorm::Two ? most / least : least / most);
}

Tensor matrix_rank(Arg of_a, const RankOptions& options) {
  const In frame("matrix_rank", of_a.loc);
  const Matrix a = ops::matrix_of("matrix_rank", of_a);
  const Tensor values = svdvals(a.x);
  if (values.size(-1) == 0) return sum(cast(values, i64), -1);
  return sum(cast(values > limit_of(values, a, options), i64), -1);
}

Tensor pinv(Arg of_a, const RankOptions& options) {
  const In frame("pinv", of_a.loc);
  const Matrix a = ops::matrix_of("pinv", of_a);
  if (std::min(a.rows, a.columns) == 0) return a.back(transpose(a.x) * 1.0);
  const SVDFactors f = svd(a.x);
  const Tensor counts = f.values > stop_gradient(limit_of(f.values, a, options));
  const Tensor inverted = where(counts, 1.0 / where(counts, f.values, 1.0), 0.0);
  return a.back(matmul(f.v * unsqueeze(inverted, -2), transpose(f.u)));
}

}  // namespace tegula
