// Factors by tiles, an instance for each matrix, which devices with thousands of instances have for many small ones: here on the CPU.

#include "tegula/ops/linalg/small_matrices.h"

#include <limits>

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using runtime::Routine;
using test::apart;
using test::draw;
using test::identity;
using test::most;

Tensor wide(const Tensor& x) { return cast(x, f64); }

struct Parts {
  Tensor first, second, third, state;
};

/// q (b, m, k) and r (b, k, n).
Parts qr_of(const Tensor& a, bool full = false) {
  const std::int64_t b = a.size(0), m = a.size(1), n = a.size(2), k = full ? m : std::min(m, n);
  const std::vector<Result> results{{{b, k, m}, a.dtype()}, {{b, n, k}, a.dtype()}};
  const auto parts = ops::by_tiles({.routine = Routine::QR, .full = full}, transpose(a), results, Line::current());
  return {transpose(parts[0]), transpose(parts[1]), {}, {}};
}
/// u (b, m, n), values (b, n), v (b, n, n).
Parts svd_of(const Tensor& a) {
  const std::int64_t b = a.size(0), m = a.size(1), n = a.size(2);
  const std::vector<Result> results{{{b, n, m}, a.dtype()}, {{b, n}, a.dtype()}, {{b, n, n}, a.dtype()}, {{b}, i32}};
  const auto parts = ops::by_tiles({.routine = Routine::SVD}, transpose(a), results, Line::current());
  return {transpose(parts[0]), parts[1], parts[2], parts[3]};
}

double orthonormal(const Tensor& q) {
  const Tensor product = matmul(transpose(wide(q)), wide(q));
  return apart(product, expand(identity(q.size(-1)), product.shape()));
}
double limit(DType dtype, std::int64_t n) { return (dtype == f64 ? 0x1p-52 : 0x1p-23) * 20 * static_cast<double>(n); }

/// Three random ones, and one of each kind that is hard.
Tensor matrices(std::int64_t m, std::int64_t n, DType dtype) {
  const Tensor x = draw({8, m, n}), one = select(x, 0, 0);
  const double big = dtype == f64 ? 1e120 : 1e15;
  const Tensor column = expand(slice(one, 1, {0, 1}), {m, n}), rows = cast(reshape(arange(m), {m, 1}) < m / 2, f64);
  return cast(concat({slice(x, 0, {0, 3}), unsqueeze(zeros({m, n}, f64), 0), unsqueeze(column, 0), unsqueeze(one * rows, 0),
                      unsqueeze(one * big, 0), unsqueeze(one / big, 0), unsqueeze(expand(eye(m, n, f64), {m, n}), 0)},
                     0),
              dtype);
}
/// Each matrix divided by its greatest size.
Tensor scaled(const Tensor& x, const Tensor& a) {
  const Tensor size = max(abs(wide(a)), {-1, -2}, Keep::Yes);
  return wide(x) / where(size > 0.0, size, ones_like(size));
}

TEST(SmallMatrices, QRIsOrthonormalAndTriangular) {
  for (const DType dtype : {f32, f64})
    for (const auto& [m, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {2, 2}, {5, 5}, {16, 16}, {33, 33}, {64, 64}, {9, 4}, {64, 3}, {4, 9}, {3, 64}, {1, 7}, {7, 1}})
      for (const bool full : {false, true}) {
        const Tensor a = matrices(m, n, dtype);
        const auto [q, r, none, state] = qr_of(a, full);
        const std::string what = std::to_string(m) + "x" + std::to_string(n) + " " + std::string(name(dtype)) + (full ? " full" : "");
        EXPECT_LT(orthonormal(q), limit(dtype, m + n)) << what;
        EXPECT_LT(apart(matmul(wide(q), scaled(r, a)), scaled(a, a)), limit(dtype, m + n)) << what;
        EXPECT_EQ(most(tril(r, -1)), 0) << what;
      }
}

TEST(SmallMatrices, SVDIsOrthonormalAndDescends) {
  for (const DType dtype : {f32, f64})
    for (const auto& [m, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {2, 2}, {3, 3}, {5, 5}, {16, 16}, {33, 33}, {64, 64}, {9, 4}, {64, 3}, {7, 1}}) {
      const Tensor a = matrices(m, n, dtype);
      const auto [u, s, v, state] = svd_of(a);
      const std::string what = std::to_string(m) + "x" + std::to_string(n) + " " + std::string(name(dtype));
      EXPECT_EQ(most(state), 0) << what;
      EXPECT_LT(orthonormal(u), limit(dtype, m + n)) << what;
      EXPECT_LT(orthonormal(v), limit(dtype, m + n)) << what;
      EXPECT_LT(apart(matmul(wide(u) * scaled(unsqueeze(s, -2), a), transpose(wide(v))), scaled(a, a)), limit(dtype, m + n)) << what;
      EXPECT_LT(apart(scaled(unsqueeze(s, -2), a), scaled(unsqueeze(svdvals(wide(a)), -2), a)), limit(dtype, m + n)) << what;
      EXPECT_EQ(most(sort(s, -1, Order::Descending).values - s), 0) << what;
    }
}

TEST(SmallMatrices, ANaNStaysInItsMatrix) {
  Tensor a = draw({3, 4, 4}, f32);
  a = where(reshape(arange(3), {3, 1, 1}) == 1, a * std::numeric_limits<float>::quiet_NaN(), a);
  const auto [u, s, v, state] = svd_of(a);
  EXPECT_EQ(count_nonzero(isnan(s)).item<std::int64_t>(), 4);
  EXPECT_EQ(count_nonzero(isnan(select(s, 0, 1))).item<std::int64_t>(), 4);
  EXPECT_EQ(count_nonzero(isnan(select(u, 0, 2))).item<std::int64_t>(), 0);
}

TEST(SmallMatrices, AreWhatDevicesOfManyInstancesRun) {
  for (const DType dtype : {f32, f64}) {
    const Tensor a = draw({20, 33, 17}, dtype);
    const auto [q, r] = qr(a);
    EXPECT_LT(apart(matmul(q, r), a), limit(dtype, 50));
    const auto [u, s, v] = svd(a);
    EXPECT_LT(apart(matmul(u * unsqueeze(s, -2), transpose(v)), a), limit(dtype, 50));
    const auto [wide_u, wide_s, wide_v] = svd(transpose(a));
    EXPECT_LT(apart(matmul(wide_u * unsqueeze(wide_s, -2), transpose(wide_v)), transpose(a)), limit(dtype, 50));
    auto values = jit([](const Tensor& x) { return svdvals(x); });
    EXPECT_LT(apart(values(a), s), limit(dtype, 50));
    EXPECT_EQ(contains(values.print_plan(), "small_svd"), default_device().traits().many_instances);
  }
  const Tensor a = draw({16, 5, 5});
  check_gradients([](const std::vector<Tensor>& in) { return sum(sin(svdvals(in[0])), -1) + sum(cos(qr(in[0]).r), {-1, -2}); }, {a});
}

}  // namespace
}  // namespace tegula
