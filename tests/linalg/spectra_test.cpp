// Eigenvalues, singular values, and what is composed: identities, known numbers, matrices that are hard.

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::apart;
using test::digits;
using test::draw;
using test::identity;
using test::most;
using test::positive;

Tensor symmetric(const Tensor& x) { return 0.5 * (x + transpose(x)); }
double orthonormal(const Tensor& q) {
  const Tensor product = matmul(transpose(q), q);
  return apart(product, expand(identity(q.size(-1), q.dtype()), product.shape()));
}

TEST(Spectra, SymmetricMatricesAreTheirValuesAndVectors) {
  for (const DType dtype : {f64, f32})
    for (const Shape& shape : {Shape{1, 1}, Shape{2, 2}, Shape{5, 5}, Shape{40, 40}, Shape{130, 130}, Shape{261, 261}, Shape{3, 8, 8},
                               Shape{2, 0, 0}, Shape{0, 3, 3}}) {
      const Tensor a = symmetric(draw(shape, dtype));
      const auto [w, v] = eigh(a);
      const double limit = digits(dtype) * 20;
      EXPECT_LT(apart(matmul(a, v), v * unsqueeze(w, -2)), limit) << to_string(shape);
      EXPECT_LT(orthonormal(v), limit) << to_string(shape);
      if (shape.back() > 1 && shape[0] > 0) {
        EXPECT_GE(min(slice(w, -1, {1, {}}) - slice(w, -1, {0, -1})).item<double>(), 0) << "ascending";
      }
      EXPECT_LT(apart(eigvalsh(tril(a)), w), limit);
    }
}

TEST(Spectra, SymmetricMatricesWithEqualAndWithTinyValues) {
  EXPECT_LT(apart(eigvalsh(identity(20)), ones({20}, f64)), 1e-15);
  EXPECT_EQ(most(eigvalsh(zeros({4, 4}, f64))), 0);
  const std::int64_t n = 30;  // a known spectrum: 2 - 2 cos(k pi / (n + 1))
  const Tensor second = 2.0 * identity(n) - diag(ones({n - 1}, f64), 1) - diag(ones({n - 1}, f64), -1);
  const Tensor k = cast(arange(1, n + 1), f64);
  EXPECT_LT(apart(eigvalsh(second), 2.0 - 2.0 * cos(k * (M_PI / static_cast<double>(n + 1)))), 1e-13);
  EXPECT_LT(apart(eigvalsh(1e-200 * second), 1e-200 * eigvalsh(second)), 1e-212);
}

TEST(Spectra, LargeSymmetricMatricesWithEqualValues) {  // halves whose values need no correction, or few
  constexpr std::int64_t n = 200;
  const Tensor v = draw({n, 1}), zero = zeros({n, n}, f64), one = identity(n), outer = matmul(v, transpose(v));
  const Tensor i = iota({n, n}, 0), j = iota({n, n}, 1), second = 2.0 * one - cast(abs(i - j) == 1, f64);
  const Tensor blocks = where(logical_xor(i < n / 2, j < n / 2), 0.0, symmetric(draw({n, n})));
  for (const DType dtype : {f64, f32})
    for (const Tensor& wide : {zero, one, one + outer, outer, second, blocks, one + 1e-3 * blocks}) {
      const Tensor a = cast(wide, dtype);
      const auto [w, q] = eigh(a);
      const double size = std::max(most(a), 1.0), limit = digits(dtype) * 20;
      EXPECT_LT(apart(matmul(a, q), q * unsqueeze(w, -2)) / size, limit);
      EXPECT_LT(orthonormal(q), limit);
      EXPECT_LT(apart(eigvalsh(a), w) / size, limit);
    }
  const Tensor k = cast(arange(1, n + 1), f64);
  EXPECT_LT(apart(eigh(second).values, 2.0 - 2.0 * cos(k * (M_PI / static_cast<double>(n + 1)))), 1e-13);
}

TEST(Spectra, GeneralisedSymmetricProblems) {
  const Tensor a = symmetric(draw({2, 6, 6})), b = positive({2, 6, 6});
  const auto [w, v] = eigh(a, b);
  EXPECT_LT(apart(matmul(a, v), matmul(b, v) * unsqueeze(w, -2)), 1e-12);
  EXPECT_LT(apart(matmul(transpose(v), matmul(b, v)), expand(identity(6), {2, 6, 6})), 1e-12);
  EXPECT_HAS_MESSAGE(eigh(identity(2), -identity(2)).values.to_host<double>(), "not positive definite");
}

TEST(Spectra, SingularValuesAndVectorsMultiplyToTheMatrix) {
  for (const DType dtype : {f64, f32})
    for (const bool full : {false, true})
      for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{7, 3}, Shape{3, 7}, Shape{60, 60}, Shape{90, 35}, Shape{35, 90},
                                 Shape{230, 201}, Shape{4, 6, 6}, Shape{2, 3, 4, 5}, Shape{0, 4, 4}, Shape{3, 0}, Shape{0, 3}}) {
        const Tensor a = draw(shape, dtype);
        const auto [u, s, v] = svd(a, {.full = full});
        const std::int64_t k = std::min(a.size(-2), a.size(-1));
        EXPECT_EQ(u.size(-1), full ? a.size(-2) : k);
        EXPECT_EQ(v.size(-1), full ? a.size(-1) : k);
        const double limit = digits(dtype) * 20;
        const Tensor left = slice(u, -1, {0, k}), right = slice(v, -1, {0, k});
        EXPECT_LT(apart(matmul(left * unsqueeze(s, -2), transpose(right)), a), limit) << to_string(shape) << full;
        EXPECT_LT(orthonormal(u), limit) << to_string(shape) << full;
        EXPECT_LT(orthonormal(v), limit) << to_string(shape) << full;
        if (k > 1 && shape[0] > 0) { EXPECT_LE(max(slice(s, -1, {1, {}}) - slice(s, -1, {0, -1})).item<double>(), 0) << "descending"; }
        EXPECT_LT(apart(svdvals(a), s), limit);
      }
}

TEST(Spectra, HaveTheSameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const DType dtype : {f64, f32}) {
    const Tensor a = draw({300, 300}, dtype), s = symmetric(a);
    eval(a, s);
    std::vector<std::vector<double>> seen;
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const EigenFactors pairs = eigh(s);
      const auto [u, values, v] = svd(a);
      seen.push_back(cast(concat({pairs.vectors, unsqueeze(pairs.values, 0), u, unsqueeze(values, 0), v}, 0), f64).to_host<double>());
      EXPECT_EQ(seen.back(), seen.front()) << threads;
    }
  }
  set_num_threads(before);
}

TEST(Spectra, SingularValuesOfMatricesThatLackRank) {
  const Tensor x = draw({8, 2}), a = matmul(x, draw({2, 6}));
  const auto [u, s, v] = svd(a, {.full = true});
  EXPECT_LT(most(slice(s, -1, {2, {}})), 1e-13);
  EXPECT_LT(orthonormal(u), 1e-13);
  EXPECT_LT(orthonormal(v), 1e-13);
  EXPECT_EQ(matrix_rank(a).item<std::int64_t>(), 2);
  EXPECT_LT(apart(matmul(a, matmul(pinv(a), a)), a), 1e-12);
  const auto [zu, zs, zv] = svd(zeros({4, 3}, f64));
  EXPECT_EQ(most(zs), 0);
  EXPECT_LT(orthonormal(zu), 1e-15);
  EXPECT_LT(orthonormal(zv), 1e-15);
  EXPECT_LT(apart(svdvals(1e200 * a), 1e200 * s), 1e188) << "squares would overflow";
}

/// A v - λ v of pairs.
double eigen_residual(const Tensor& a, const EigenFactors& f) {
  const Tensor re = select(f.vectors, -1, 0), im = select(f.vectors, -1, 1);
  const Tensor x = unsqueeze(select(f.values, -1, 0), -2), y = unsqueeze(select(f.values, -1, 1), -2);
  return std::max(apart(matmul(a, re), re * x - im * y), apart(matmul(a, im), re * y + im * x));
}

TEST(Spectra, GeneralMatricesHaveValuesInPairs) {
  for (const DType dtype : {f64, f32})
    for (const Shape& shape :
         {Shape{1, 1}, Shape{2, 2}, Shape{3, 3}, Shape{10, 10}, Shape{60, 60}, Shape{5, 7, 7}, Shape{2, 0, 0}, Shape{0, 3, 3}}) {
      const Tensor a = draw(shape, dtype);
      const EigenFactors f = eig(a);
      EXPECT_LT(eigen_residual(a, f), digits(dtype) * 20) << to_string(shape);
      const Tensor lengths = sum(square(f.vectors), {-1, -3});
      EXPECT_LT(apart(lengths, ones(lengths.shape(), dtype)), digits(dtype));
      EXPECT_LT(apart(sum(select(f.values, -1, 0), -1), trace(a)), digits(dtype) * 100) << "their sum is the trace";
      EXPECT_LT(most(sum(select(f.values, -1, 1), -1)), digits(dtype) * 10) << "pairs are conjugate";
      EXPECT_LT(apart(eigvals(a), f.values), digits(dtype) * 1e3);
    }
}

TEST(Spectra, KnownValuesOfGeneralMatrices) {
  const Tensor turn = tensor({0.0, -1.0, 1.0, 0.0}, {2, 2});
  const std::vector<double> values = eigvals(turn).to_host<double>();
  EXPECT_NEAR(values[0], 0, 1e-15);
  EXPECT_NEAR(std::abs(values[1]), 1, 1e-15);
  EXPECT_NEAR(values[1], -values[3], 1e-15);
  const Tensor companion = tensor({6.0, -11.0, 6.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, {3, 3});  // (x - 1)(x - 2)(x - 3)
  EXPECT_LT(apart(sort(select(eigvals(companion), -1, 0)).values, tensor({1.0, 2.0, 3.0})), 1e-12);
  const Tensor defective = tensor({2.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0}, {3, 3});  // one vector for three equal values
  const EigenFactors f = eig(defective);
  EXPECT_LT(apart(select(f.values, -1, 0), full({3}, 2.0, f64)), 1e-4);
  EXPECT_LT(eigen_residual(defective, f), 1e-4);
  const Tensor cycle = roll(identity(6), {1}, {0});  // roots of 1
  const Tensor roots = eigvals(cycle);
  EXPECT_LT(apart(sum(square(roots), -1), ones({6}, f64)), 1e-13);
}

TEST(Spectra, MatricesWithoutNumbersGiveNaN) {
  if (default_device().name().starts_with("cuda")) GTEST_SKIP() << "cuSOLVER may say that the iteration came to no end";
  const Tensor bad = tensor({1.0, 2.0, 2.0, std::nan("")}, {2, 2}), batch = stack({identity(2), bad});
  const auto nans = [](const Tensor& x) { return sum(cast(isnan(x), i64)).item<std::int64_t>(); };
  EXPECT_EQ(nans(eigvalsh(batch)), 2);
  EXPECT_EQ(nans(svdvals(batch)), 2);
  EXPECT_EQ(nans(eigvals(batch)), 4);
  EXPECT_EQ(nans(svd(batch).u), 4);
}

TEST(Spectra, DeterminantsAndTheirLogarithms) {
  EXPECT_NEAR(det(tensor({1.0, 2.0, 3.0, 4.0}, {2, 2})).item<double>(), -2, 1e-15);
  EXPECT_EQ(det(zeros({0, 0}, f64)).item<double>(), 1);
  EXPECT_EQ(det(ones({3, 3}, f64)).item<double>(), 0);
  const Tensor a = draw({4, 5, 5}), values = eigvals(a);
  const auto [sign, logarithm] = slogdet(a);
  EXPECT_LT(apart(sign * exp(logarithm), det(a)), 1e-12);
  EXPECT_LT(apart(det(matmul(a, a)), square(det(a))), 1e-9);
  const auto [none, infinite] = slogdet(ones({2, 2}, f64));
  EXPECT_EQ(none.item<double>(), 0);
  EXPECT_EQ(infinite.item<double>(), -INFINITY);
  EXPECT_NEAR(slogdet(1e200 * identity(10)).logarithm.item<double>(), 2000 * std::log(10.0), 1e-10);
  const Tensor i = iota({6, 6}, 0), j = iota({6, 6}, 1);
  EXPECT_NEAR(det(1.0 / cast(i + j + 1, f64)).item<double>() / 5.3672998868168e-18, 1, 1e-8) << "Hilbert's matrix of 6 rows";
}

TEST(Spectra, LeastSquares) {
  const Tensor a = draw({2, 9, 4}), b = draw({2, 9, 3}), x = lstsq(a, b);
  EXPECT_LT(most(matmul(transpose(a), matmul(a, x) - b)), 1e-12) << "the residual is orthogonal to the columns";
  const Tensor wide = draw({4, 9}), right = draw({4}), least = lstsq(wide, right);
  EXPECT_LT(apart(mv(wide, least), right), 1e-13);
  EXPECT_LT(apart(least, mv(pinv(wide), right)), 1e-12) << "the shortest one";
  EXPECT_HAS_MESSAGE(lstsq(draw({4, 3}), draw({5})), "lstsq: got shapes (4, 3) and (5,)");
}

TEST(Spectra, RefinementReachesF64) {
  const Tensor a = draw({60, 60}) + 8.0 * identity(60), b = draw({60, 10});
  for (const Refine refine : {Refine::Single, Refine::Half}) {
    const Tensor x = solve(a, b, {.refine = refine});
    EXPECT_LT(apart(matmul(a, x), b), 1e-13 * std::max(1.0, most(x)));
    const Tensor scaled = solve(1e-200 * a, 1e-200 * b, {.refine = refine});
    EXPECT_LT(apart(scaled, x), 1e-12 * std::max(1.0, most(x))) << "numbers that f32 does not hold";
    const Tensor empty = solve(draw({0, 0}), draw({0, 2}), {.refine = refine});
    EXPECT_EQ(empty.shape(), (Shape{0, 2}));
  }
  EXPECT_GT(apart(matmul(a, cast(solve(cast(a, f32), cast(b, f32)), f64)), b), 1e-7) << "what f32 alone gives";
  const Tensor single = cast(a, f32), right = cast(b, f32), x = solve(single, right, {.refine = Refine::Half});
  EXPECT_EQ(x.dtype(), f32);
  const Tensor exact = solve(cast(single, f64), cast(right, f64));
  EXPECT_LT(apart(cast(x, f64), exact), 0x1p-23 * cond(a).item<double>() * most(exact)) << "residuals in f32 leave so much (Higham, 12.2)";
  EXPECT_EQ(solve(single, right, {.refine = Refine::Single}).to_host(), solve(single, right).to_host()) << "nothing to refine";
}

TEST(Spectra, RefinementFallsBackWhereItDoesNotConverge) {
  const Tensor i = iota({12, 12}, 0), j = iota({12, 12}, 1), hilbert = 1.0 / cast(i + j + 1, f64), one = ones({12}, f64);
  const auto plain = solve(hilbert, one).to_host<double>();
  const Tensor good = draw({12, 12}) + 6.0 * identity(12);
  for (const Refine refine : {Refine::Single, Refine::Half}) {
    EXPECT_EQ(solve(hilbert, one, {.refine = refine}).to_host<double>(), plain) << "a condition of 1e16";
    const Tensor both = stack({good, hilbert}), batch = solve(both, expand(one, {2, 12}), {.refine = refine});
    // A card factors a batch by another routine than one matrix, whose bits differ at such a condition.
    EXPECT_EQ(select(batch, 0, 1).to_host<double>(), select(solve(both, expand(one, {2, 12})), 0, 1).to_host<double>());
    EXPECT_LT(apart(mv(good, select(batch, 0, 0)), one), 1e-13);
    EXPECT_HAS_MESSAGE(eval(solve(stack({good, zeros({12, 12}, f64)}), expand(one, {2, 12}), {.refine = refine})),
                       "solve: got a singular matrix, number 1 of the batch");
    auto compiled = jit([refine](const Tensor& a, const Tensor& b) { return solve(a, b, {.refine = refine}); });
    EXPECT_EQ(compiled(hilbert, one).to_host<double>(), plain);
    EXPECT_LT(apart(mv(good, compiled(good, one)), one), 1e-13);
  }
}

TEST(Spectra, ExponentialsAndPowers) {
  const Tensor turn = tensor({0.0, -1.0, 1.0, 0.0}, {2, 2});
  for (const double angle : {0.0, 1e-3, 0.5, 3.0, 40.0}) {
    const Tensor expected = tensor({std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)}, {2, 2});
    EXPECT_LT(apart(matrix_exp(angle * turn), expected), 1e-13 * (1 + angle)) << angle;
  }
  EXPECT_LT(apart(matrix_exp(stack({zeros({2, 2}, f64), std::log(2.0) * identity(2)})), stack({identity(2), 2.0 * identity(2)})), 1e-14);
  EXPECT_LT(apart(matrix_exp(tensor({0.0F, 1.0F, 0.0F, 0.0F}, {2, 2})), tensor({1.0, 1.0, 0.0, 1.0}, {2, 2})), 1e-6) << "nilpotent";
  const Tensor a = draw({3, 4, 4});
  EXPECT_LT(apart(matrix_power(a, 5), matmul(a, matmul(a, matmul(a, matmul(a, a))))), 1e-10);
  EXPECT_LT(apart(matrix_power(a, -1), inverse(a)), 1e-10);
  EXPECT_LT(apart(matrix_power(a, 0), expand(identity(4), {3, 4, 4})), 1e-15);
  EXPECT_EQ(apart(matrix_power(a, 1), a), 0);
}

TEST(Spectra, NormsConditionsAndKronecker) {
  const Tensor a = tensor({3.0, 0.0, 0.0, -4.0}, {2, 2});
  EXPECT_NEAR(matrix_norm(a).item<double>(), 5, 1e-15);
  EXPECT_NEAR(matrix_norm(a, MatrixNorm::Nuclear).item<double>(), 7, 1e-14);
  EXPECT_NEAR(matrix_norm(a, MatrixNorm::Two).item<double>(), 4, 1e-15);
  EXPECT_NEAR(matrix_norm(a, MatrixNorm::MinusTwo).item<double>(), 3, 1e-15);
  const Tensor b = tensor({1.0, -2.0, 3.0, 4.0}, {2, 2});
  EXPECT_EQ(matrix_norm(b, MatrixNorm::One).item<double>(), 6);
  EXPECT_EQ(matrix_norm(b, MatrixNorm::Infinity).item<double>(), 7);
  EXPECT_NEAR(cond(a).item<double>(), 4.0 / 3, 1e-14);
  EXPECT_NEAR(cond(b, MatrixNorm::One).item<double>(), 6 * matrix_norm(inverse(b), MatrixNorm::One).item<double>(), 1e-13);
  EXPECT_EQ(kron(a, tensor({1.0, 2.0}, {1, 2})).to_host<double>(), (std::vector<double>{3, 6, 0, 0, 0, 0, -4, -8}));
  EXPECT_EQ(trace(stack({a, b})).to_host<double>(), (std::vector<double>{-1, 5}));
  EXPECT_EQ(matrix_rank(stack({a, b, zeros({2, 2}, f64)})).to_host<std::int64_t>(), (std::vector<std::int64_t>{2, 2, 0}));
  EXPECT_HAS_MESSAGE(kron(a, draw({3, 2, 2})), "kron: got shapes (2, 2) and (3, 2, 2)");
}

// LAPACK computes values alone by another routine than values with vectors: they differ by a rounding.
TEST(Spectra, AnExtremeThatIsKnownBeforeItsGradient) {
  for (int seed = 0; seed < 20; ++seed) {
    const Tensor a = draw({2, 8, 3});
    eval(a);
    const Tensor y = sum(max(svdvals(a), -1) + matrix_norm(a, MatrixNorm::MinusTwo)), g = grad(y, a);
    eval(y);
    EXPECT_EQ(count_nonzero(isnan(g)).item<std::int64_t>(), 0) << seed;
  }
}

}  // namespace
}  // namespace tegula
