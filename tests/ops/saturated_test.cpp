// Values and gradients at the ends of floats' range: saturated probabilities, targets of 0, bounds that are NaN, squares that overflow, draws at
// the end of their interval. Plain and in jit.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tegula/tegula.h"

namespace tegula {
namespace {

using Values = std::vector<float>;
using Function = std::function<Tensor(std::vector<Tensor>)>;
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

/// f(x) plain and in jit is `expected`, to a part in 1e-5; NaN is NaN.
void expect_values(const Function& f, const std::vector<Tensor>& x, const Values& expected, const char* what = "") {
  auto compiled = jit([&](std::vector<Tensor> in) { return f(std::move(in)); });
  const Values plain = f(x).to_host(), traced = compiled(x).to_host();
  ASSERT_EQ(plain.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const float got : {plain[i], traced[i]}) {
      if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(got)) << what << " " << i << " " << got;
      else if (std::isinf(expected[i]) || expected[i] == 0) EXPECT_EQ(got, expected[i]) << what << " " << i;
      else EXPECT_NEAR(got / expected[i], 1, 1e-5) << what << " " << i << " " << got << ", expected " << expected[i];
    }
  }
}

Function gradient_of(const Function& loss, int input = 0) {
  return [=](std::vector<Tensor> x) { return grad(loss(x), x[static_cast<std::size_t>(input)]); };
}

TEST(Saturated, BinaryCrossEntropyOfCertainPredictionsHasAFiniteGradient) {
  const Function loss = [](std::vector<Tensor> x) { return binary_cross_entropy(sigmoid(x[0]), x[1], {.reduction = LossReduction::Sum}); };
  expect_values(gradient_of(loss), {tensor({200.f, -200.f, 0.f}), tensor({1.f, 0.f, 1.f})}, {0, 0, -0.5f});
}

// PyTorch's, measured with 2.11: (p - t) / max(p (1 - p), 1e-12).
TEST(Saturated, BinaryCrossEntropyAtZeroAndOneIsPyTorchs) {
  const Function loss = [](std::vector<Tensor> x) { return binary_cross_entropy(x[0], x[1], {.reduction = LossReduction::Sum}); };
  const Tensor p = tensor({0.f, 1.f, 0.f, 1.f, 0.25f}), t = tensor({0.f, 1.f, 1.f, 0.f, 1.f});
  expect_values([](std::vector<Tensor> x) { return binary_cross_entropy(x[0], x[1], {.reduction = LossReduction::None}); }, {p, t},
                {0, 0, 100, 100, 1.3862944f});
  expect_values(gradient_of(loss), {p, t}, {0, 0, -1e12f, 1e12f, -4});
  expect_values(gradient_of(loss, 1), {p, t}, {100, -100, 100, -100, 1.0986123f});
}

TEST(Saturated, KlDivIsZeroWhereTheTargetIs) {
  const Function plain = [](std::vector<Tensor> x) { return kl_div(x[0], x[1], {.reduction = LossReduction::Sum}); };
  const Tensor input = tensor({-1.f, -kInf}), target = tensor({1.f, 0.f});
  expect_values(plain, {input, target}, {1});
  expect_values(gradient_of(plain), {input, target}, {-1, 0});
  const Function logs = [](std::vector<Tensor> x) { return kl_div(x[0], x[1], {.reduction = LossReduction::Sum, .log_target = true}); };
  const Tensor log_target = tensor({0.f, -kInf});
  expect_values(logs, {input, log_target}, {1});
  expect_values(gradient_of(logs), {input, log_target}, {-1, 0});
  expect_values(gradient_of(logs, 1), {input, log_target}, {2, 0});
}

TEST(Saturated, CrossEntropyOfProbabilitiesMayHideAClass) {
  const Function loss = [](std::vector<Tensor> x) { return cross_entropy(x[0], x[1]); };
  const Tensor logits = tensor({0.f, 0.f, -kInf}, {1, 3}), target = tensor({0.25f, 0.75f, 0.f}, {1, 3});
  expect_values(loss, {logits, target}, {0.6931472f});
  expect_values(gradient_of(loss), {logits, target}, {0.25f, -0.25f, 0});
}

TEST(Saturated, NormsOfTinyAndHugeNumbersAreRight) {
  for (const double scale : {1e-38, 1e-30, 1e-20, 1.0, 1e20, 1e30, 1e38}) {
    const auto s = static_cast<float>(scale);
    const Tensor x = tensor({0.6f * s, 0.f, -0.8f * s});
    const Function plain = [](std::vector<Tensor> in) { return norm(in[0]); };
    expect_values(plain, {x}, {s}, "norm");
    expect_values(gradient_of(plain), {x}, {0.6f, 0, -0.8f}, "gradient of norm");
    expect_values([](std::vector<Tensor> in) { return norm(in[0], 3); }, {x}, {s * 0.8995896f}, "norm 3");
    expect_values([](std::vector<Tensor> in) { return stddev(in[0]); }, {x}, {s * 0.7023769f}, "stddev");
    expect_values([](std::vector<Tensor> in) { return l2_normalize(in[0], 0, 0); }, {x}, {0.6f, 0, -0.8f}, "l2_normalize");
    expect_values([](std::vector<Tensor> in) { return cosine_similarity(in[0], in[0] * 2, 0, 0); }, {x / 4}, {1}, "cosine_similarity");
  }
}

TEST(Saturated, ClippingByTheNormIsRightAtEveryScale) {
  for (const double scale : {1e-30, 1e-10, 1.0, 1e19, 1e30}) {
    const std::vector<Tensor> gradients{full({64}, scale), full({8, 8}, -scale)};
    const auto [clipped, total] = optim::clip_grad_norm(gradients, scale / 4);
    EXPECT_NEAR(total.item<double>() / (scale * std::sqrt(128.0)), 1, 1e-6) << scale;
    EXPECT_NEAR(clipped[0].to_host()[5] / (scale / 4 / std::sqrt(128.0)), 1, 1e-5) << scale;
    EXPECT_NEAR(clipped[1].to_host()[5] / (-scale / 4 / std::sqrt(128.0)), 1, 1e-5) << scale;
    EXPECT_EQ(optim::clip_grad_norm(gradients, 1e38).gradients[0].to_host()[5], static_cast<float>(scale));
    EXPECT_EQ(optim::clip_grad_norm(gradients, 0).gradients[0].to_host()[5], 0);
  }
  EXPECT_EQ(optim::clip_grad_norm({zeros({3})}, 0).gradients[0].to_host(), (Values{0, 0, 0}));
  EXPECT_TRUE(std::isnan(optim::clip_grad_norm({tensor({1.f, kNan})}, 1).gradients[0].to_host()[0]));
}

TEST(Saturated, NormalisationOfHugeNumbersIsThatOfTheirMultiples) {
  const std::vector<float> small{1, -1, 2, 0, 3, -2, 0.5f, 1.5f};
  const Tensor weight = tensor({2.f, 0.5f}), wanted = tensor({0.3f, -0.2f, 0.1f, 0.7f, -0.5f, 0.4f, 0.2f, -0.1f}, {2, 2, 2});
  const NormOptions options{.eps = 1e-12};
  const std::vector<std::pair<const char*, std::function<Tensor(Tensor)>>> norms{
      {"layer_norm", [=](Tensor x) { return layer_norm(x, {2, 2}, options); }},
      {"rms_norm", [=](Tensor x) { return rms_norm(x, {2, 2}, options); }},
      {"group_norm", [=](Tensor x) { return group_norm(x, 1, {.weight = weight, .eps = 1e-12}); }},
      {"instance_norm", [=](Tensor x) { return instance_norm(x, options); }},
      {"batch_norm", [=](Tensor x) { return batch_norm_training(x, {.weight = weight, .eps = 1e-12}).y; }}};
  for (const auto& [name, normalise] : norms) {
    const auto whole = [&](std::vector<Tensor> in) { return reshape(normalise(in[0]), {8}); };
    const auto slope = [&](std::vector<Tensor> in) { return reshape(grad(sum(normalise(in[0]) * wanted), in[0]), {8}); };
    const Tensor one = tensor(small, {2, 2, 2});
    const Values expected = whole({one}).to_host(), slopes = slope({one}).to_host(), huge_slopes = slope({one * 1e30}).to_host();
    expect_values(whole, {one * 1e30}, expected, name);
    for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_NEAR(huge_slopes[i] * 1e30f, slopes[i], 1e-6) << name << " " << i;
  }
}

TEST(Saturated, QuantilesBesideAnInfinityAreInfinite) {
  const auto at = [](double q) { return [q](std::vector<Tensor> x) { return quantile(x[0], q); }; };
  const Tensor up = tensor({0.f, kInf}), down = tensor({-kInf, 0.f}), below = tensor({-kInf, -1.f});
  for (const double q : {0.25, 0.5, 0.75}) {
    expect_values(at(q), {up}, {kInf});
    expect_values(at(q), {down}, {-kInf});
    expect_values(at(q), {below}, {-kInf});
  }
  expect_values(at(0), {up}, {0});
  expect_values(at(0.5), {tensor({-kInf, 0.f, kInf, kInf})}, {kInf});
  expect_values(at(0.5), {tensor({-3e38f, 3e38f})}, {0});
  expect_values(at(0.75), {tensor({-3e38f, 3e38f})}, {1.5e38f});
  const Tensor from = tensor({-3e38f, -kInf, 1.f, 2.f}), to = tensor({3e38f, -1.f, kInf, 4.f});
  expect_values([](std::vector<Tensor> x) { return lerp(x[0], x[1], 0.75); }, {from, to}, {1.5e38f, -kInf, kInf, 3.5f});
}

TEST(Saturated, AClampHasTheRuleOfMaximumAndMinimumForNan) {
  const Tensor x = tensor({0.f, kNan, 1.f}), bound = tensor({kNan, 0.f, 0.5f});
  expect_values([](std::vector<Tensor> in) { return clamp(in[0], in[1], 5.f); }, {x, bound}, {kNan, kNan, 1});
  expect_values([](std::vector<Tensor> in) { return clamp(in[0], -5.f, in[1]); }, {x, bound}, {kNan, kNan, 0.5f});
  expect_values([](std::vector<Tensor> in) { return clamp_min(in[0], in[1]); }, {x, bound}, {kNan, kNan, 1});
  expect_values([](std::vector<Tensor> in) { return clamp_max(in[0], in[1]); }, {x, bound}, {kNan, kNan, 0.5f});
  expect_values([](std::vector<Tensor> in) { return maximum(in[0], in[1]); }, {x, bound}, {kNan, kNan, 1});
  // The gradient goes where the value comes from; x has all of it at a tie.
  const Tensor a = tensor({-2.f, -1.f, 0.f, 2.f, 3.f}), low = full({5}, -1.f), high = full({5}, 2.f);
  const auto part = [](int input) { return gradient_of([](std::vector<Tensor> in) { return sum(clamp(in[0], in[1], in[2])); }, input); };
  expect_values(part(0), {a, low, high}, {0, 1, 1, 1, 0});
  expect_values(part(1), {a, low, high}, {1, 0, 0, 0, 0});
  expect_values(part(2), {a, low, high}, {0, 0, 0, 0, 1});
}

TEST(Saturated, TruncatedNormalNumbersComeFromTheirDistribution) {
  for (const int seed : {33, 39}) {  // each has a uniform number of 0 among its first million
    manual_seed(static_cast<std::uint64_t>(seed));
    const float greatest = max(abs(truncated_normal({1000000}, 0, 0.02))).item();
    EXPECT_LT(greatest, 0.12) << seed;
    EXPECT_GT(greatest, 0.08) << seed;
  }
  // Far out in a tail, where erf has few different values in f32.
  manual_seed(1);
  const Tensor tail = truncated_normal({100000}, 0, 1, 5, 8);
  EXPECT_NEAR(mean(tail).item(), 5.1865, 2e-3);  // phi(5) / (1 - Phi(5))
  EXPECT_GE(min(tail).item(), 5);
  const Values sorted = sort(tail, 0).values.to_host();
  std::size_t distinct = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) distinct += sorted[i] != sorted[i - 1];
  EXPECT_GT(distinct, 90000U);
}

TEST(Saturated, UniformNumbersMayHaveAnyFiniteRange) {
  manual_seed(0);
  const Tensor wide = uniform({10000}, -3e38, 3e38);
  EXPECT_TRUE(all(abs(wide) <= 3.01e38).item<bool>());
  EXPECT_GT(max(wide).item<double>(), 2.9e38);
  EXPECT_LT(min(wide).item<double>(), -2.9e38);
  const Tensor half = uniform({10000}, -6e4, 6e4, {.dtype = f16});
  EXPECT_TRUE(all(abs(half) <= 6e4).item<bool>());
}

TEST(Saturated, ExponentialNumbersHaveNoSign) {
  for (const DType dtype : {f32, f16}) {
    manual_seed(33);
    const Values x = exponential({1000000}, 2, {.dtype = dtype}).to_host();
    for (const float v : x) ASSERT_FALSE(std::signbit(v));
  }
}

TEST(Saturated, AVectorOfAnotherDtypeIsCastToThatOfTheOutput) {
  const Tensor x = tensor({1.f, 2.f});
  for (const DType dtype : {f64, bf16, i32}) {
    const Tensor slope = vjp({sin(x)}, {ones({2}, dtype)}, {x})[0];
    EXPECT_EQ(slope.dtype(), f32);
    EXPECT_FLOAT_EQ(slope.to_host()[0], std::cos(1.f)) << name(dtype);
  }
}

}  // namespace
}  // namespace tegula
