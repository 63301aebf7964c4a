#include "tegula/ops/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/dropout.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/embedding.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m;
  for (double v : x) m.mean += v / static_cast<double>(x.size());
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(x.size());
  return m;
}

constexpr std::int64_t kMany = 1 << 18;
const double kSigma = 5 / std::sqrt(static_cast<double>(kMany));  // five standard errors of a mean of unit variance

INSTANTIATE_DECLARED_CASES(Random, random_cases());

TEST(Random, BitsAreThePhiloxStream) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1234567}, ~std::uint64_t{0}}) {
    Generator g(seed);
    const auto first = random_bits({3, 5}, &g).to_host<std::int32_t>();
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(static_cast<std::uint32_t>(first[i]), philox_word(seed, i));
    const auto second = random_bits({4}, &g).to_host<std::int32_t>();
    for (std::size_t i = 0; i < second.size(); ++i) EXPECT_EQ(static_cast<std::uint32_t>(second[i]), philox_word(seed, 16 + i));
  }
}

TEST(Random, UniformsHave24Or53Bits) {
  Generator g(5);
  const auto narrow = uniform({1000}, 0, 1, {.generator = &g}).to_host<float>();
  for (std::size_t i = 0; i < narrow.size(); ++i) EXPECT_EQ(narrow[i], static_cast<float>(philox_word(5, i) >> 8) * 0x1p-24f);
  Generator h(5);
  const auto wide = uniform({1000}, 0, 1, {.dtype = f64, .generator = &h}).to_host<double>();
  for (std::size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(wide[i],
              (static_cast<double>(philox_word(5, 2 * i) >> 5) * 0x1p26 + static_cast<double>(philox_word(5, 2 * i + 1) >> 6)) * 0x1p-53);
  }
  for (const DType dtype : {f64, f32}) {
    Generator again(6);
    const auto x = uniform({kMany}, -1, 3, {.dtype = dtype, .generator = &again}).to_host<double>();
    const auto m = moments(x);
    EXPECT_NEAR(m.mean, 1, 4 * kSigma / std::sqrt(12.0));
    EXPECT_NEAR(m.variance, 16.0 / 12, 0.02);
    EXPECT_GE(*std::min_element(x.begin(), x.end()), -1);
    EXPECT_LE(*std::max_element(x.begin(), x.end()), 3);
  }
}

TEST(Random, NormalsAreBoxMullerOfTheStream) {
  Generator g(7);
  const auto x = normal({1000}, 0, 1, {.generator = &g}).to_host<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = (static_cast<double>(philox_word(7, 2 * i)) + 0.5) * 0x1p-32,
                 v = static_cast<double>(philox_word(7, 2 * i + 1) >> 8) * 0x1p-24;
    const double expected = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    EXPECT_NEAR(x[i], expected, 2e-6) << i;
  }
  for (const DType dtype : {f64, f32}) {
    Generator h(8);
    const auto values = normal({kMany}, 2, 3, {.dtype = dtype, .generator = &h}).to_host<double>();
    const auto m = moments(values);
    EXPECT_NEAR(m.mean, 2, 3 * kSigma);
    EXPECT_NEAR(m.variance, 9, 0.2);
    const auto beyond = std::count_if(values.begin(), values.end(), [](double v) { return std::fabs(v - 2) > 6; });
    EXPECT_NEAR(static_cast<double>(beyond) / kMany, 0.0455, 0.003);
  }
}

TEST(Random, OtherDistributions) {
  Generator g(9);
  const RandomOptions options{.generator = &g};
  const auto truncated = truncated_normal({kMany}, 0, 1, -1, 2, options).to_host<double>();
  EXPECT_GE(*std::min_element(truncated.begin(), truncated.end()), -1);
  EXPECT_LE(*std::max_element(truncated.begin(), truncated.end()), 2);
  EXPECT_NEAR(moments(truncated).mean, 0.2296, 0.01);  // (phi(-1) - phi(2)) / (Phi(2) - Phi(-1))
  const auto waits = exponential({kMany}, 2, options).to_host<double>();
  EXPECT_NEAR(moments(waits).mean, 0.5, kSigma);
  EXPECT_GE(*std::min_element(waits.begin(), waits.end()), 0);
  const auto coins = bernoulli(0.3, {kMany}, &g);
  EXPECT_EQ(coins.dtype(), boolean);
  EXPECT_NEAR(moments(coins.to_host<double>()).mean, 0.3, kSigma);
  const auto biased = bernoulli(tensor({0.f, 1.f, 0.f, 1.f}), &g).to_host<int>();
  EXPECT_EQ(biased, (std::vector<int>{0, 1, 0, 1}));
}

TEST(Random, RandintCoversItsRangeEvenly) {
  Generator g(10);
  const auto x = randint(-2, 5, {70000}, &g);
  EXPECT_EQ(x.dtype(), i64);
  std::vector<int> counts(7, 0);
  for (auto v : x.to_host<std::int64_t>()) {
    ASSERT_GE(v, -2);
    ASSERT_LT(v, 5);
    ++counts[static_cast<std::size_t>(v + 2)];
  }
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  Generator g(11);
  auto p = permutation(1000, &g).to_host<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(p.begin(), p.end()));
  std::sort(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i], static_cast<std::int64_t>(i));
  std::vector<float> rows(20);
  std::iota(rows.begin(), rows.end(), 0.f);
  const auto mixed = shuffle(tensor(rows, {10, 2}), &g).to_host();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(mixed[2 * i] + 1, mixed[2 * i + 1]);
}

TEST(Random, TheSameSeedGivesTheSameNumbersAndEveryDrawIsNew) {
  manual_seed(42);
  const auto a = uniform({8}).to_host(), b = uniform({8}).to_host();
  manual_seed(42);
  EXPECT_EQ(uniform({8}).to_host(), a);
  EXPECT_NE(a, b);
  manual_seed(43);
  EXPECT_NE(uniform({8}).to_host(), a);
}

TEST(Random, DrawsOfAJitAdvanceTheGenerator) {
  Generator g(12), h(12);
  auto draw = jit([&] { return normal({16}, 0, 1, {.generator = &g}); });
  for (int i = 0; i < 4; ++i) { EXPECT_EQ(draw().to_host(), normal({16}, 0, 1, {.generator = &h}).to_host()) << "call " << i; }
  EXPECT_EQ(draw.executables(), 1);
}

TEST(Random, AThreadMayMeetItsGeneratorFirstInsideAJit) {
  std::vector<float> first, second;
  std::thread([&] {
    auto draw = jit([] { return uniform({4}); });
    first = draw().to_host();
    second = draw().to_host();
  }).join();
  EXPECT_EQ(first.size(), 4u);
  EXPECT_NE(first, second);
}

TEST(Random, ACopiedGeneratorGoesItsOwnWay) {
  Generator g(13);
  uniform({3}, 0, 1, {.generator = &g}).to_host();
  Generator copy = g;
  const auto a = uniform({5}, 0, 1, {.generator = &g}).to_host();
  EXPECT_EQ(uniform({5}, 0, 1, {.generator = &copy}).to_host(), a);
}

TEST(Random, ErrorsSayWhatIsWrong) {
  EXPECT_NE(message_of([] { randint(3, 3, {2}); }).find("low < high"), std::string::npos);
  EXPECT_NE(message_of([] { uniform({2}, 0, 1, {.dtype = i32}); }).find("dtype i32, expected a float type"), std::string::npos);
  EXPECT_NE(message_of([] { dropout(tensor({1.f}), 1.5); }).find("expected a probability"), std::string::npos);
}

INSTANTIATE_DECLARED_CASES(Dropout, dropout_cases());

TEST(Dropout, KeepsTheMeanAndItsZerosInTheGradient) {
  Generator g(14);
  const Tensor x = tensor(std::vector<float>(kMany, 1.f), {kMany});
  const Tensor y = dropout(x, 0.25, &g);
  const Tensor dx = grad(sum(y), x);
  const auto values = y.to_host(), gradient = dx.to_host();
  std::int64_t zeros = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(values[i] == 0 || values[i] == 1 / 0.75f);
    ASSERT_EQ(values[i], gradient[i]);
    zeros += values[i] == 0;
  }
  EXPECT_NEAR(static_cast<double>(zeros) / kMany, 0.25, kSigma);
  EXPECT_EQ(dropout(x, 0).node()->op().name(), "identity");
  EXPECT_EQ(sum(dropout(x, 1)).item(), 0);
}

TEST(Dropout, AlphaKeepsMeanAndVariance) {
  Generator g(15);
  const auto m = moments(alpha_dropout(normal({kMany}, 0, 1, {.generator = &g}), 0.3, &g).to_host<double>());
  EXPECT_NEAR(m.mean, 0, 2 * kSigma);
  EXPECT_NEAR(m.variance, 1, 0.03);
}

INSTANTIATE_DECLARED_CASES(Embedding, embedding_cases());

TEST(Embedding, ThePaddingRowHasTwoNames) {
  Variable w = ones({4, 3});
  for (const std::int64_t padding : {3, -1}) {
    const Tensor y = embedding(tensor({-1, 0, 3}), w, padding);
    EXPECT_EQ(grad(sum(y), w).to_host<int>(), (std::vector<int>{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  }
  EXPECT_THROW(embedding(tensor({0}), w, 4), Error);
}

TEST(Embedding, ThePaddingRowGetsNoGradient) {
  const Tensor weight = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2}), at = tensor(std::vector<std::int64_t>{2, 0, 2, 1}, {2, 2});
  const Tensor y = embedding(at, weight, 2);
  EXPECT_EQ(y.to_host(), (std::vector<float>{5, 6, 1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(grad(sum(y), weight).to_host(), (std::vector<float>{1, 1, 1, 1, 0, 0}));
  EXPECT_THROW(embedding(tensor({std::int64_t{3}}), weight).to_host(), Error);
}

TEST(RandomLike, HasTheShapeAndTheFloatDtypeOfItsModel) {
  const Tensor model = zeros({300, 40}, f64), whole = zeros({2, 3}, i64);
  for (const Tensor& like : {randn_like(model), rand_like(model)}) {
    EXPECT_EQ(like.shape(), (Shape{300, 40}));
    EXPECT_EQ(like.dtype(), f64);
  }
  EXPECT_EQ(randn_like(whole).dtype(), f32);
  EXPECT_NEAR(mean(randn_like(model)).item<double>(), 0, 0.05);
  EXPECT_NEAR(stddev(randn_like(model)).item<double>(), 1, 0.05);
  EXPECT_NEAR(mean(rand_like(model)).item<double>(), 0.5, 0.02);
  Generator a(7), b(7);
  EXPECT_EQ(randn_like(model, &a).to_host<double>(), normal({300, 40}, 0, 1, {.dtype = f64, .generator = &b}).to_host<double>());
}

}  // namespace
}  // namespace tegula
