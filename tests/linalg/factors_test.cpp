// LU, Cholesky, QR and triangular systems: the products of the factors, shapes of all kinds, errors.

#include <limits>
#include <numeric>

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::apart;
using test::digits;
using test::draw;
using test::identity;
using test::most;
using test::positive;

const std::initializer_list<Shape> kShapes{{1, 1},   {2, 2},    {5, 5},    {33, 33},     {97, 97},  {200, 200}, {7, 3}, {3, 7}, {70, 33},
                                           {33, 70}, {150, 40}, {4, 6, 6}, {2, 3, 9, 5}, {3, 0, 0}, {0, 4, 4},  {0, 5}, {5, 0}};

TEST(LinearAlgebra, LUMultipliesToTheMatrixInEveryShapeAndLayout) {
  for (const DType dtype : {f64, f32})
    for (const Shape& shape : kShapes)
      for (const bool turned : {false, true}) {
        Tensor a = draw(shape, dtype);
        if (turned) a = transpose(a);
        const auto [p, l, u] = lu(a);
        const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
        EXPECT_EQ(l.size(-1), k);
        EXPECT_EQ(u.size(-2), k);
        EXPECT_EQ(p.size(-2), m);
        EXPECT_LT(apart(matmul(p, matmul(l, u)), a), digits(dtype) * static_cast<double>(k + 1)) << to_string(shape);
        EXPECT_EQ(most(triu(l, 1)), 0);
        EXPECT_EQ(most(tril(u, -1)), 0);
        EXPECT_LE(most(l), k > 0 ? 1 : 0) << "pivots are the greatest of their columns";
        EXPECT_LT(apart(matmul(transpose(p), p), expand(identity(m, dtype), p.shape())), 1e-12);
      }
}

/// The order of rows by loops: the greatest number of each column, the first of equals.
std::vector<std::int64_t> order_by_loops(std::vector<double> a, std::int64_t m, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return a[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t c = 0; c < std::min(m, n); ++c) {
    std::int64_t best = c;
    for (std::int64_t i = c + 1; i < m; ++i)
      if (std::abs(at(i, c)) > std::abs(at(best, c))) best = i;
    std::swap(order[static_cast<std::size_t>(c)], order[static_cast<std::size_t>(best)]);
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(c, j), at(best, j));
    for (std::int64_t i = c + 1; i < m && at(c, c) != 0; ++i) {
      at(i, c) /= at(c, c);
      for (std::int64_t j = c + 1; j < n; ++j) at(i, j) -= at(i, c) * at(c, j);
    }
  }
  return order;
}

TEST(LinearAlgebra, LUTakesTheGreatestOfEachColumn) {
  for (const Shape& shape : {Shape{15, 15}, Shape{17, 17}, Shape{64, 64}, Shape{130, 40}, Shape{40, 130}, Shape{300, 150}}) {
    const Tensor a = draw(shape);
    EXPECT_EQ(lu_factor(a).order.to_host<std::int64_t>(), order_by_loops(a.to_host<double>(), shape[0], shape[1])) << to_string(shape);
    EXPECT_EQ(lu_factor(transpose(a)).order.to_host<std::int64_t>(), order_by_loops(transpose(a).to_host<double>(), shape[1], shape[0]));
  }
}

TEST(LinearAlgebra, LUTakesTheFirstOfEqualNumbersAndNoNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {f64, f32})
    for (const std::int64_t m : {2, 9, 40, 130}) {
      const auto first = [&](std::vector<double> column) {
        return lu_factor(cast(tensor(column, {m, 1}), dtype)).order.to_host<std::int64_t>()[0];
      };
      for (std::int64_t one = 0; one < m; ++one) {
        std::vector<double> column(static_cast<std::size_t>(m), 1.0);
        column[static_cast<std::size_t>(one)] = -3, column[static_cast<std::size_t>(m - 1)] = 3;
        EXPECT_EQ(first(column), one);
        if (default_device().number() != 0) continue;  // cuSOLVER may take a NaN for the greatest
        column[0] = 2, column[static_cast<std::size_t>(one)] = nan;
        EXPECT_EQ(first(column), one == 0 ? 0 : one == m - 1 ? 0 : m - 1) << one << " of " << m;
      }
    }
}

TEST(LinearAlgebra, LUOfColumnsWithoutAPivot) {
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {1, 16, 40, 100}) {
      const LUFactors none = lu_factor(zeros({n, n}, dtype));
      EXPECT_EQ(most(none.packed), 0);
      EXPECT_EQ(none.order.to_host<std::int64_t>(), arange(n).to_host<std::int64_t>());
      Tensor a = draw({n, n}, dtype);
      a = where(arange(n) == n / 2, 0.0, a);
      const LUFactors factors = lu_factor(a);
      EXPECT_EQ(select(diagonal(factors.packed), 0, n / 2).item<double>(), 0);
      const auto [p, l, u] = lu(a);
      EXPECT_LT(apart(matmul(p, matmul(l, u)), a), digits(dtype) * static_cast<double>(n));
      // Numbers near the ends of the range.
      for (const double scale : dtype == f64 ? std::vector{1e-305, 1e300} : std::vector{1e-38, 1e36}) {
        const auto [q, low, high] = lu(draw({n, n}, dtype) * scale);
        EXPECT_LE(most(low), 1);
        EXPECT_TRUE(all(isfinite(high)).item<bool>());
      }
    }
}

TEST(LinearAlgebra, FactorsHaveTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const DType dtype : {f64, f32}) {
    const Tensor a = draw({500, 500}, dtype), b = draw({500, 90}, dtype), s = positive({500, 500}, dtype);
    eval(a, b, s);
    std::vector<std::vector<double>> seen;
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const auto sum_of = [](const Tensor& x) { return cast(x, f64).to_host<double>(); };
      seen.push_back(sum_of(concat({lu_factor(a).packed, solve(a, b), cholesky(s)}, -1)));
      EXPECT_EQ(seen.back(), seen.front()) << threads;
    }
  }
  set_num_threads(before);
}

TEST(LinearAlgebra, FactorsOfLUSolveSystemsAndTransposedOnes) {
  for (const std::int64_t n : {1, 4, 40, 150}) {
    const Tensor a = draw({2, n, n}), b = draw({2, n, 3}), vector = draw({2, n});
    const LUFactors factors = lu_factor(a);
    const double limit = 1e-9 * static_cast<double>(n);
    EXPECT_LT(apart(matmul(a, lu_solve(factors, b)), b), limit) << n;
    EXPECT_LT(apart(matmul(transpose(a), lu_solve(factors, b, {.transposed = true})), b), limit) << n;
    EXPECT_LT(apart(squeeze(matmul(a, unsqueeze(lu_solve(factors, vector), -1)), -1), vector), limit) << n;
  }
}

TEST(LinearAlgebra, CholeskyMultipliesToTheMatrixAndSolves) {
  for (const DType dtype : {f64, f32})
    for (const Shape& shape :
         {Shape{1, 1}, Shape{4, 4}, Shape{33, 33}, Shape{130, 130}, Shape{3, 20, 20}, Shape{2, 0, 0}, Shape{0, 3, 3}}) {
      const Tensor a = positive(shape, dtype);
      eval(a);
      const Tensor l = cholesky(a);
      EXPECT_LT(apart(matmul(l, transpose(l)), a), digits(dtype) * 10) << to_string(shape);
      EXPECT_EQ(most(triu(l, 1)), 0);
      Shape right = shape;
      right[right.rank() - 1] = 2;
      const Tensor b = draw(right, dtype);
      EXPECT_LT(apart(matmul(a, cholesky_solve(l, b)), b), digits(dtype) * 1e3) << to_string(shape);
      EXPECT_LT(apart(cholesky(tril(a)), l), digits(dtype)) << to_string(shape) << name(dtype) << ": the lower triangle is read";
    }
}

TEST(LinearAlgebra, TriangularSystemsInAllForms) {
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {1, 3, 33, 100})
      for (const std::int64_t right : {1, 2, 70})
        for (int form = 0; form < 16; ++form) {
          const TriangularOptions options{.upper = (form & 1) != 0, .transposed = (form & 2) != 0, .unit = (form & 4) != 0};
          Tensor full = draw({2, n, n}, dtype) / static_cast<double>(n) + 2.0 * identity(n, dtype);
          if ((form & 8) != 0) full = transpose(full);
          const Tensor b = draw({2, n, right}, dtype), x = triangular_solve(full, b, options);
          Tensor t = options.upper ? triu(full) : tril(full);
          if (options.unit) t = t * (1.0 - identity(n, dtype)) + identity(n, dtype);
          if (options.transposed) t = transpose(t);
          EXPECT_LT(apart(matmul(t, x), b), digits(dtype) * 10) << n << " " << right << " " << form;
        }
}

TEST(LinearAlgebra, TriangularSystemsBroadcastTheirBatches) {
  const Tensor t = draw({3, 3}) + 3.0 * identity(3), b = draw({4, 2, 3, 5});
  EXPECT_LT(apart(matmul(tril(t), triangular_solve(t, b)), b), 1e-12);
  EXPECT_EQ(triangular_solve(t, draw({3})).shape(), (Shape{3}));
}

TEST(LinearAlgebra, QRHasOrthonormalColumnsAndMultipliesToTheMatrix) {
  for (const DType dtype : {f64, f32})
    for (const bool full : {false, true})
      for (const Shape& shape : kShapes) {
        const Tensor a = draw(shape, dtype);
        const auto [q, r] = qr(a, {.full = full});
        const std::int64_t m = a.size(-2), n = a.size(-1), k = full ? m : std::min(m, n);
        EXPECT_EQ(q.size(-1), k);
        EXPECT_EQ(r.size(-2), k);
        EXPECT_LT(apart(matmul(q, r), a), digits(dtype) * 10) << to_string(shape);
        EXPECT_LT(apart(matmul(transpose(q), q), expand(identity(k, dtype), matmul(transpose(q), q).shape())), digits(dtype))
            << to_string(shape);
        EXPECT_EQ(most(tril(r, -1)), 0);
      }
}

TEST(LinearAlgebra, QROfLargeMatrices) {
  for (const Shape& shape : {Shape{1100, 1030}, Shape{1030, 1100}}) {  // in blocks of blocks
    const Tensor a = draw(shape, f32);
    const auto [q, r] = qr(a);
    EXPECT_LT(apart(matmul(q, r), a), 1e-4) << to_string(shape);
    EXPECT_LT(apart(matmul(transpose(q), q), identity(1030, f32)), 1e-5) << to_string(shape);
    EXPECT_EQ(most(tril(r, -1)), 0);
  }
}

TEST(LinearAlgebra, QROfZerosAndOfDependentColumns) {
  const auto [q, r] = qr(zeros({5, 3}, f64));
  EXPECT_EQ(most(r), 0);
  EXPECT_LT(apart(matmul(transpose(q), q), identity(3)), 1e-15);
  const Tensor column = draw({6, 1}), a = concat({column, 2.0 * column, draw({6, 1})}, -1);
  const QRFactors f = qr(a);
  EXPECT_LT(apart(matmul(f.q, f.r), a), 1e-14);
}

TEST(LinearAlgebra, FactorsTakeHalvesAndGiveThemBack) {
  const Tensor a = cast(positive({6, 6}), bf16);
  EXPECT_EQ(cholesky(a).dtype(), bf16);
  EXPECT_EQ(qr(a).q.dtype(), bf16);
  EXPECT_EQ(lu(a).u.dtype(), bf16);
}

TEST(LinearAlgebra, ErrorsNameTheMatrixOfTheBatchAndTheLine) {
  const Tensor good = identity(3), bad = tensor({1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0}, {3, 3});
  const Tensor batch = stack({good, good, bad, good}), indefinite = stack({good, -good});
  EXPECT_HAS_MESSAGE(solve(batch, ones({4, 3}, f64)).to_host<double>(), "solve: got a singular matrix, number 2 of the batch");
  EXPECT_HAS_MESSAGE(solve(bad, ones({3}, f64)).to_host<double>(), "solve: got a singular matrix");
  EXPECT_HAS_MESSAGE(inverse(batch).to_host<double>(), "got a singular matrix, number 2 of the batch");
  EXPECT_HAS_MESSAGE(lu_solve(lu_factor(batch), ones({4, 3}, f64)).to_host<double>(), "lu_solve: got a singular matrix, number 2");
  EXPECT_HAS_MESSAGE(cholesky(indefinite).to_host<double>(), "cholesky: got a matrix that is not positive definite, number 1 of the batch");
  EXPECT_HAS_MESSAGE(cholesky(bad).to_host<double>(), "cholesky: got a matrix that is not positive definite");
  EXPECT_HAS_MESSAGE(cholesky(ones({2, 3})), "cholesky: got shape (2, 3)");
  EXPECT_HAS_MESSAGE(qr(ones({3})), "qr: got shape (3,)");
  EXPECT_HAS_MESSAGE(lu(ones({3, 3}, i64)), "expected a float dtype");
  std::uint32_t line = 0;
  try {
    line = Line::current().line() + 1;
    const Tensor x = solve(batch, ones({4, 3}, f64));
    eval(x);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) { EXPECT_EQ(error.report().where.line(), line); }
}

TEST(LinearAlgebra, ASingularMatrixChangesNoVariableInAnyMode) {
  Variable steps(Tensor(0.0));
  std::uint32_t line = 0;
  auto step = jit([&](const Tensor& a) {
    steps = steps + 1.0;
    line = Line::current().line() + 1;
    return sum(solve(a, ones({2, 3}, f64)));
  });
  const Tensor good = stack({identity(3), 2.0 * identity(3)}), bad = stack({identity(3), zeros({3, 3}, f64)});
  EXPECT_EQ(step(good).item<double>(), 4.5);
  for (int again = 0; again < 3; ++again) {
    try {
      step(bad).item<double>();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.report().got, "a singular matrix, number 1 of the batch");
      EXPECT_EQ(error.report().where.line(), line);
    }
    EXPECT_EQ(steps.read().item<double>(), 1);
  }
  EXPECT_EQ(step.repeat(2, good).item<double>(), 4.5);
  EXPECT_EQ(steps.read().item<double>(), 3);
}

TEST(LinearAlgebra, JitComputesTheSameBits) {
  const Tensor a = draw({3, 12, 12}) + 4.0 * identity(12), b = draw({3, 12, 2});
  const auto all = [](const Tensor& x, const Tensor& y) {
    const auto [q, r] = qr(x);
    return std::vector<Tensor>{lu(x).u, q, r, cholesky(matmul(x, transpose(x))), triangular_solve(x, y), solve(x, y), det(x)};
  };
  const std::vector<Tensor> once = all(a, b);
  auto f = jit(all);
  for (int call = 0; call < 3; ++call) {
    const std::vector<Tensor> again = f(a, b);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(again[i].to_host<double>(), once[i].to_host<double>()) << i;
  }
}

}  // namespace
}  // namespace tegula
