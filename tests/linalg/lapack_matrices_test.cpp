// The matrices of LAPACK's own tests (dlatms and the drivers dchkge, dchkpo, dchkqr, ddrvsg, ddrvbd; "LAPACK Working Note 41"), with their residuals: each is a few units
// at most, whatever the condition and the scale.

#include <functional>

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::draw;
using test::identity;
using test::most;

double epsilon(DType dtype) { return dtype == f64 ? 0x1p-53 : 0x1p-24; }
/// Near the square root of the least and the greatest number, as dlatms scales its matrices.
double underflow(DType dtype) { return dtype == f64 ? 1e-140 : 1e-16; }
double overflow(DType dtype) { return dtype == f64 ? 1e140 : 1e16; }

Tensor orthogonal(std::int64_t n) { return qr(draw({n, n})).q; }

/// dlatms's distributions of singular values (its `mode`), of a condition.
Tensor values_of(int mode, std::int64_t n, double condition) {
  const Tensor i = cast(arange(n), f64), one = ones({n}, f64);
  const double last = static_cast<double>(std::max<std::int64_t>(n - 1, 1));
  switch (mode) {
    case 1: return where(i == 0.0, one, one / condition);  // one great, the others small
    case 2: return where(i == static_cast<double>(n - 1), one / condition, one);  // one small
    case 3: return exp(-i / last * std::log(condition));  // by powers
    case 4: return 1.0 - i / last * (1.0 - 1.0 / condition);  // by equal steps
    default: return exp(-sort(uniform({n}, 0, 1, {.dtype = f64})).values * std::log(condition));  // logarithms at random
  }
}

struct Kind {
  std::string name;
  Tensor a;  // (m, n), f64
  bool singular = false;
};

/// The eleven kinds of dchkge: diagonal, triangular, dense of three conditions, columns of zeros, and scaled; and every mode of the worst condition.
std::vector<Kind> kinds(std::int64_t m, std::int64_t n, DType dtype) {
  const std::int64_t k = std::min(m, n);
  const auto with = [&](const Tensor& values) {
    return matmul(slice(orthogonal(m), 1, {0, k}) * unsqueeze(values, 0), transpose(slice(orthogonal(n), 1, {0, k})));
  };
  const Tensor dense = with(values_of(3, k, 2));
  const double worst = 0.1 / epsilon(dtype);
  Tensor diagonal_one = zeros({m, n}, f64);
  if (k > 0) diagonal_one = pad(diag(values_of(4, k, 2)), {{0, m - k}, {0, n - k}});
  std::vector<Kind> all{{"diagonal", diagonal_one},
                        {"upper", triu(dense)},
                        {"lower", tril(dense)},
                        {"condition 2", dense},
                        {"first column 0", n > 0 ? concat({zeros({m, 1}, f64), slice(dense, 1, {1, n})}, 1) : dense, true},
                        {"last column 0", n > 0 ? concat({slice(dense, 1, {0, n - 1}), zeros({m, 1}, f64)}, 1) : dense, true},
                        {"last half 0", concat({slice(dense, 1, {0, n - n / 2}), zeros({m, n / 2}, f64)}, 1), n > 1},
                        {"condition sqrt(0.1 / eps)", with(values_of(3, k, std::sqrt(worst)))},
                        {"near underflow", dense * underflow(dtype)},
                        {"near overflow", dense * overflow(dtype)},
                        {"zero", zeros({m, n}, f64), true}};
  for (int mode = 1; mode <= 5; ++mode)
    all.push_back({"mode " + std::to_string(mode) + ", condition 0.1 / eps", with(values_of(mode, k, worst))});
  for (Kind& one : all) one.a = cast(one.a, dtype);
  return all;
}

Tensor wide(const Tensor& x) { return cast(x, f64); }
/// Without overflow of its squares.
double norm1(const Tensor& x) { return x.numel() == 0 ? 0 : max(sum(abs(wide(x)), 0)).item<double>(); }
/// |x - y| / (n |a| eps), as dget01 and the others have it; 0 where both are 0.
double residual(const Tensor& x, const Tensor& y, const Tensor& a, DType dtype) {
  const double off = norm1(wide(x) - wide(y)),
               size = norm1(a) * static_cast<double>(std::max<std::int64_t>(a.size(0), a.size(1))) * epsilon(dtype);
  return off == 0 ? 0 : off / size;
}
double orthonormal(const Tensor& q, DType dtype) {
  return residual(matmul(transpose(wide(q)), wide(q)), identity(q.size(1)), identity(std::max(q.size(0), q.size(1))), dtype);
}

constexpr double kLimit = 30;  // the threshold of LAPACK's own input files

void for_each(const std::function<void(const Kind&, DType, const std::string&)>& check, std::int64_t largest = 170) {
  manual_seed(1989);
  for (const DType dtype : {f64, f32})
    for (const auto& [m, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {2, 2}, {3, 3}, {5, 5}, {10, 10}, {50, 50}, {170, 170}, {10, 5}, {50, 16}, {5, 10}, {16, 50}}) {
      if (m > largest) continue;
      for (const Kind& one : kinds(m, n, dtype))
        check(one, dtype, one.name + " " + to_string(one.a.shape()) + " " + std::string(name(dtype)));
    }
}

TEST(LapackMatrices, Factors) {
  for_each([](const Kind& one, DType dtype, const std::string& what) {
    const auto [p, l, u] = lu(one.a);
    EXPECT_LE(residual(matmul(wide(p), matmul(wide(l), wide(u))), one.a, one.a, dtype), kLimit) << "lu " << what;
    EXPECT_LE(most(l), 1) << what;
    const auto [q, r] = qr(one.a);
    EXPECT_LE(residual(matmul(wide(q), wide(r)), one.a, one.a, dtype), kLimit) << "qr " << what;
    EXPECT_LE(orthonormal(q, dtype), kLimit) << "q " << what;
  });
}

TEST(LapackMatrices, SingularValues) {
  for_each([](const Kind& one, DType dtype, const std::string& what) {
    const auto [u, s, v] = svd(one.a);
    EXPECT_LE(residual(matmul(wide(u) * unsqueeze(wide(s), 0), transpose(wide(v))), one.a, one.a, dtype), kLimit) << "svd " << what;
    EXPECT_LE(orthonormal(u, dtype), kLimit) << "u " << what;
    EXPECT_LE(orthonormal(v, dtype), kLimit) << "v " << what;
    const std::vector<double> values = wide(s).to_host<double>();
    EXPECT_TRUE(std::ranges::is_sorted(values, std::greater<>())) << what;
    EXPECT_TRUE(values.empty() || values.back() >= 0) << what;
    EXPECT_LE(residual(unsqueeze(wide(svdvals(one.a)), 1), unsqueeze(wide(s), 1), one.a, dtype), kLimit) << "values alone " << what;
  });
}

TEST(LapackMatrices, Systems) {
  for_each(
      [](const Kind& one, DType dtype, const std::string& what) {
        if (one.singular || one.a.size(0) != one.a.size(1)) return;
        const std::int64_t n = one.a.size(0);
        const Tensor b = cast(matmul(wide(one.a), draw({n, 2})), dtype), x = solve(one.a, b);
        const Tensor off = wide(b) - matmul(wide(one.a), wide(x));  // dget02: |b - a x| / (|a| |x| eps)
        const double size = norm1(one.a) * norm1(x) * epsilon(dtype);
        EXPECT_LE(norm1(off) / size, kLimit * static_cast<double>(n)) << what;
        // dget03, by the reciprocal condition: |i - a a⁻¹| / (n |a| |a⁻¹| eps).
        const Tensor inverted = inverse(one.a), product = matmul(wide(one.a), wide(inverted));
        const double scale = static_cast<double>(n) * norm1(one.a) * norm1(inverted) * epsilon(dtype);
        EXPECT_LE(norm1(product - identity(n)) / scale, kLimit) << "inverse " << what;
      },
      50);  // inverses of larger random triangles have no numbers in f32
}

TEST(LapackMatrices, SymmetricOnes) {
  manual_seed(2);
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {1, 2, 3, 5, 10, 50, 170})
      for (const double scale : {1.0, underflow(dtype), overflow(dtype)})
        for (int mode = 1; mode <= 5; ++mode)
          for (const bool definite : {true, false}) {
            const double condition = definite ? 1 / std::sqrt(epsilon(dtype)) : 0.1 / epsilon(dtype);
            const Tensor q = orthogonal(n), signs = definite ? ones({n}, f64) : cos(cast(arange(n), f64) * M_PI);
            const Tensor full = matmul(q * unsqueeze(values_of(mode, n, condition) * signs * scale, 0), transpose(q));
            const Tensor a = cast((full + transpose(full)) * 0.5, dtype);
            const std::string what = "mode " + std::to_string(mode) + " of " + std::to_string(n) + " " + std::string(name(dtype)) + " by " +
                                     std::to_string(std::log10(scale));
            const auto [values, vectors] = eigh(a);
            EXPECT_LE(residual(matmul(wide(vectors) * unsqueeze(wide(values), 0), transpose(wide(vectors))), a, a, dtype), kLimit) << what;
            EXPECT_LE(orthonormal(vectors, dtype), kLimit) << what;
            EXPECT_LE(residual(unsqueeze(wide(eigvalsh(a)), 1), unsqueeze(wide(values), 1), a, dtype), kLimit) << "values alone " << what;
            if (!definite) continue;
            const Tensor l = cholesky(a);
            EXPECT_LE(residual(matmul(wide(l), transpose(wide(l))), a, a, dtype), kLimit) << "cholesky " << what;
          }
}

TEST(LapackMatrices, GeneralOnes) {
  for_each([](const Kind& one, DType dtype, const std::string& what) {
    if (one.a.size(0) != one.a.size(1)) return;
    const auto [values, vectors] = eig(one.a);
    const Tensor re = wide(real_part(values)), im = wide(imaginary_part(values)), vr = wide(real_part(vectors)),
                 vi = wide(imaginary_part(vectors));
    const Tensor a = wide(one.a);
    EXPECT_LE(residual(matmul(a, vr), vr * unsqueeze(re, 0) - vi * unsqueeze(im, 0), one.a, dtype), kLimit) << what;
    EXPECT_LE(residual(matmul(a, vi), vr * unsqueeze(im, 0) + vi * unsqueeze(re, 0), one.a, dtype), kLimit) << what;
    EXPECT_LE(most(sum(square(vr) + square(vi), 0) - 1.0), 50 * epsilon(dtype)) << what;
  });
}

}  // namespace
}  // namespace tegula
