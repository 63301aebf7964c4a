// Long sums of f32 keep their digits: within 3e-7 of the true one, on every machine and for every number of threads. Equal numbers are the hardest:
// every addition then errs to the same side.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "tegula/tegula.h"

namespace tegula {
namespace {

constexpr double kDigits = 3e-7;
constexpr std::int64_t kMany = 10'000'016;  // no multiple of a tile
// Added 64 times, one by one, it is 1e-6 off; the second is everybody's.
const float kNumbers[] = {0x1.f08fcp0f, 0.1f};

Tensor equal_numbers(float value, const Shape& shape) {
  Tensor x = full(shape, value) + zeros({1});
  eval(x);
  return x;
}
double last(const Tensor& x) { return select(x, 0, x.shape()[0] - 1).item<double>(); }

TEST(Digits, OfLongSumsOfEqualNumbersAreKept) {
  for (const float value : kNumbers) {
    const double v = value, n = kMany;
    const Tensor x = equal_numbers(value, {kMany});
    const std::map<std::string, double> got{
        {"sum", sum(x).item<double>() / (n * v)},
        {"mean", mean(x).item<double>() / v},
        {"mean square", mean(x * x).item<double>() / (v * v)},
        {"norm", norm(x).item<double>() / (v * std::sqrt(n))},
        {"norm 1", norm(x, 1).item<double>() / (v * n)},
        {"logsumexp", logsumexp(x).item<double>() / (v + std::log(n))},
        {"cumsum", last(cumsum(x, 0)) / (n * v)},
        {"columns", last(sum(reshape(x, {kMany / 16, 16}), 0)) / (n / 16 * v)},
        {"wide columns", last(sum(reshape(slice(x, 0, {0, 10'000'000}), {10'000, 1'000}), 0)) / 1e4 / v},
        {"strided", sum(slice(reshape(x, {kMany / 4, 4}), 1, {0, 3})).item<double>() / (n / 4 * 3 * v)},
        {"rows", last(sum(reshape(x, {2, kMany / 2}), 1)) / (n / 2 * v)}};
    for (const auto& [name, ratio] : got) EXPECT_NEAR(ratio, 1, kDigits) << name << " of " << value;
  }
}

TEST(Digits, OfLongProductsAreKept) {
  const float factor = 1 + std::numeric_limits<float>::epsilon();
  const double expected = std::pow(static_cast<double>(factor), static_cast<double>(kMany));
  EXPECT_NEAR(last(cumprod(equal_numbers(factor, {kMany}), 0)) / expected, 1, kDigits);
}

TEST(Digits, OfSpreadNumbersAreKept) {
  manual_seed(7);
  const Tensor x = uniform({kMany}), fine = cast(x, f64);
  const auto near = [](const Tensor& y, const Tensor& truth, const char* name) {
    EXPECT_NEAR(y.item<double>() / truth.item<double>(), 1, kDigits) << name;
  };
  near(sum(x), sum(fine), "sum");
  near(var(x), var(fine), "var");
  near(stddev(x), stddev(fine), "stddev");
  near(norm(x), norm(fine), "norm");
}

// Sums of tiles are carried apart from those of others: what overflows on the way does so where it would one after another.
TEST(Digits, ARunningSumOverflowsOnlyWhereItDoes) {
  std::vector<float> values(5000, 0.f);
  for (std::size_t i = 0; i < 2500; ++i) values[i] = 1e38f, values[i + 2500] = -1e38f;
  const std::vector<float> sums = cumsum(tensor(values, {5000}), 0).to_host();
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sums[2], 1e38f * 3);
  for (std::size_t i = 3; i < 4996; ++i) ASSERT_EQ(sums[i], inf) << i;
  EXPECT_NEAR(sums[4998] / 1e38f, 1, 1e-6);
  EXPECT_EQ(sums[4999], 0);
}

TEST(Digits, BitsDoNotDependOnRunsOrThreads) {
  manual_seed(8);
  const Tensor x = uniform({3'000'017});
  const auto all = [&] {
    std::vector<float> bits;
    const Tensor columns = sum(reshape(slice(x, 0, {0, 3'000'000}), {100'000, 30}), 0);
    for (const Tensor& y : {reshape(sum(x), {1}), reshape(norm(x), {1}), columns, cumsum(x, 0)})
      for (const float v : y.to_host()) bits.push_back(v);
    return bits;
  };
  const int before = num_threads();
  set_num_threads(1);
  const auto one = all();
  EXPECT_EQ(all(), one);
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(all(), one) << threads;
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace tegula
