#include "tegula/ops/rows/normalization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

std::vector<double> random_values(std::size_t n, int seed, double low = -2, double high = 3) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> values(n);
  for (auto& x : values) x = draw(engine);
  return values;
}

INSTANTIATE_DECLARED_CASES(Softmax, softmax_cases());

TEST(Softmax, AgreesWithTheDefinition) {
  const auto x = random_values(4 * 9, 1);
  std::vector<double> y(x.size()), logs(x.size());
  for (std::size_t r = 0; r < 4; ++r) {
    double total = 0;
    for (std::size_t i = 0; i < 9; ++i) total += std::exp(x[r * 9 + i]);
    for (std::size_t i = 0; i < 9; ++i) y[r * 9 + i] = std::exp(x[r * 9 + i]) / total, logs[r * 9 + i] = std::log(y[r * 9 + i]);
  }
  expect_near(softmax(tensor(x, {4, 9})), y, 1e-15);
  expect_near(log_softmax(tensor(x, {4, 9})), logs, 1e-14);
  expect_near(softmax(tensor(x, {4, 9}), 0), softmax(tensor(x, {4, 9}), -2).to_host<double>(), 0);
}

TEST(Softmax, NeitherLargeInputsNorMinusInfinityHurt) {
  const float inf = std::numeric_limits<float>::infinity();
  expect_near(softmax(tensor({1000.f, 1000.f, -1000.f})), {0.5, 0.5, 0}, 0);
  expect_near(softmax(tensor({-inf, 0.f, 0.f})), {0, 0.5, 0.5}, 0);
  const Tensor x = tensor({-inf, 1.f, 2.f});
  for (double g : grad(sum(softmax(x) * tensor({1.f, 2.f, 3.f})), x).to_host<double>()) EXPECT_TRUE(std::isfinite(g));
  for (double v : softmax(tensor({-inf, -inf})).to_host<double>()) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(log_softmax(tensor({0.f, -1e30f})).to_host<double>()[0], 0);
}

INSTANTIATE_DECLARED_CASES(Normalization, normalization_cases());

// (x - mean) / sqrt(var + eps) over groups of consecutive elements.
std::vector<double> standardized(const std::vector<double>& x, std::size_t group, double eps) {
  std::vector<double> y(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += group) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < group; ++i) mean += x[begin + i] / static_cast<double>(group);
    for (std::size_t i = 0; i < group; ++i) variance += std::pow(x[begin + i] - mean, 2) / static_cast<double>(group);
    for (std::size_t i = 0; i < group; ++i) y[begin + i] = (x[begin + i] - mean) / std::sqrt(variance + eps);
  }
  return y;
}

TEST(Normalization, LayerGroupAndInstanceAgreeWithTheDefinition) {
  const auto x = random_values(2 * 4 * 6, 2);
  expect_near(layer_norm(tensor(x, {8, 6}), {6}), standardized(x, 6, 1e-5), 1e-13);
  expect_near(layer_norm(tensor(x, {2, 4, 6}), {4, 6}, {.eps = 0.1}), standardized(x, 24, 0.1), 1e-13);
  expect_near(group_norm(tensor(x, {2, 4, 6}), 2), standardized(x, 12, 1e-5), 1e-13);
  expect_near(instance_norm(tensor(x, {2, 4, 6})), standardized(x, 6, 1e-5), 1e-13);
}

TEST(Normalization, BatchNormGivesWhatPyTorchAverages) {
  const auto x = random_values(5 * 2, 3);
  const auto result = batch_norm_training(tensor(x, {5, 2}));
  for (std::size_t c = 0; c < 2; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t n = 0; n < 5; ++n) mean += x[n * 2 + c] / 5;
    for (std::size_t n = 0; n < 5; ++n) squares += std::pow(x[n * 2 + c] - mean, 2);
    EXPECT_NEAR(result.mean.to_host<double>()[c], mean, 1e-14);
    EXPECT_NEAR(result.variance.to_host<double>()[c], squares / 4, 1e-14);
    for (std::size_t n = 0; n < 5; ++n)
      EXPECT_NEAR(result.y.to_host<double>()[n * 2 + c], (x[n * 2 + c] - mean) / std::sqrt(squares / 5 + 1e-5), 1e-13);
  }
  const Tensor evaluated = batch_norm(tensor(x, {5, 2}), tensor({0.5, -1.0}), tensor({4.0, 0.25}), {.eps = 0});
  EXPECT_NEAR(evaluated.to_host<double>()[1], (x[1] + 1) / 0.5, 1e-13);
}

// Mean, variance, the normalised values and the running statistics: no other step reads the pictures.
TEST(Normalization, BatchNormInTrainingIsOneStepOverItsPictures) {
  auto run = jit([](Tensor x, Tensor weight, Tensor bias) {
    const BatchNormResult all = batch_norm_training(x, {.weight = weight, .bias = bias});
    return std::vector<Tensor>{all.y, all.mean, all.variance};
  });
  run(cast(tensor(random_values(4 * 8 * 16 * 16, 3), {4, 8, 16, 16}), f32), ones({8}), ones({8}));
  std::istringstream plan(run.print_plan());
  int steps = 0, readers = 0;
  for (std::string line; std::getline(plan, line);) {
    steps += line.find("tile ") != std::string::npos;
    readers += line.find("=leaf#0") != std::string::npos;
  }
  EXPECT_EQ(readers, 1) << run.print_plan();
  EXPECT_EQ(steps, 1) << run.print_plan();
}

TEST(Normalization, TheVarianceDoesNotCancel) {
  std::vector<float> x;
  for (int i = 0; i < 64; ++i) x.push_back(10000.f + static_cast<float>(i % 2));
  const auto y = layer_norm(tensor(x, {64}), {64}).to_host<double>();
  EXPECT_NEAR(y[0], -1, 1e-3);
  EXPECT_NEAR(y[1], 1, 1e-3);
}

TEST(Normalization, SecondGradientsOfEqualValuesAreZero) {
  const Shape shape{2, 4, 3};
  const Tensor weight = cast(tensor(random_values(24, 9), shape), f32);
  const auto expect_zero = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& norm, double value) {
    const Tensor x = full(shape, value);
    const auto slope = [&](const Tensor& y) { return grad(sum(y * weight), {x})[0]; };
    const Tensor second = slope(slope(norm(x)));
    for (const float number : second.to_host()) EXPECT_EQ(number, 0.f) << name << " of " << value;
    for (const float third : slope(second).to_host()) EXPECT_TRUE(std::isfinite(third)) << name << " of " << value;
  };
  for (const double value : {0.0, 3.0}) {
    expect_zero("layer_norm", [](const Tensor& x) { return layer_norm(x, {3}); }, value);
    expect_zero("group_norm", [](const Tensor& x) { return group_norm(x, 2); }, value);
    expect_zero("batch_norm", [](const Tensor& x) { return batch_norm_training(x).y; }, value);
  }
  expect_zero("rms_norm", [](const Tensor& x) { return rms_norm(x, {3}); }, 0);
}

TEST(Normalization, HalvesAreComputedInSingle) {
  const auto x = random_values(512, 4, 100, 130);
  const Tensor half = cast(tensor(x, {512}), f16);
  const auto expected = standardized(half.to_host<double>(), 512, 1e-5);
  expect_near(layer_norm(half, {512}), expected, 2e-3);
}

TEST(Normalization, LocalResponseIsAlexNets) {
  const std::vector<double> x{1, 2, 3, 4};  // four channels, one pixel
  std::vector<double> expected;
  for (int c = 0; c < 4; ++c) {
    double sum = 0;
    for (int j = std::max(0, c - 1); j <= std::min(3, c + 1); ++j) sum += x[static_cast<std::size_t>(j)] * x[static_cast<std::size_t>(j)];
    expected.push_back(x[static_cast<std::size_t>(c)] / std::pow(2 + 0.3 / 3 * sum, 0.75));
  }
  expect_near(local_response_norm(tensor(x, {1, 4, 1}), {.size = 3, .alpha = 0.3, .beta = 0.75, .k = 2}), expected, 1e-14);
}

// Squares of f32 end at 1e38: values and gradients of small and large numbers are those of f64, where no scale is needed.
TEST(Normalization, NumbersOfAnySizeKeepTheirDigits) {
  using Norm = std::function<Tensor(const Tensor&, double)>;
  const std::map<std::string, Norm> norms{
      {"layer_norm", [](const Tensor& x, double eps) { return layer_norm(x, {x.size(-1)}, {.eps = eps}); }},
      {"rms_norm", [](const Tensor& x, double eps) { return rms_norm(x, {x.size(-1)}, {.eps = eps}); }},
      {"group_norm", [](const Tensor& x, double eps) { return group_norm(x, 2, {.eps = eps}); }},
      {"instance_norm", [](const Tensor& x, double eps) { return instance_norm(x, {.eps = eps}); }},
      {"batch_norm", [](const Tensor& x, double eps) { return batch_norm_training(x, {.eps = eps}).y; }}};
  const std::vector<double> values = random_values(3 * 4 * 20, 9), weights = random_values(values.size(), 10);
  const auto expect_digits = [](const Tensor& got, const Tensor& truth, const std::string& what) {
    const std::vector<double> x = got.to_host<double>(), expected = truth.to_host<double>();
    double largest = 0;
    for (const double each : expected) largest = std::max(largest, std::fabs(each));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i] / largest, expected[i] / largest, 3e-6) << what << ", element " << i;
  };
  for (const auto& [name, norm] : norms) {
    for (const double size : {1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e20, 1e30}) {
      for (const double eps : {1e-12, 1e-5}) {
        const Tensor x = cast(tensor(values, {3, 4, 20}) * size, f32), fine = cast(x, f64), w = tensor(weights, {3, 4, 20});
        const Tensor y = norm(x, eps), truth = norm(fine, eps);
        const std::string what = name + " of " + std::to_string(size) + " with eps " + std::to_string(eps);
        expect_digits(y, truth, what);
        expect_digits(grad(sum(y * cast(w, f32)), x), grad(sum(truth * w), fine), what + ", gradient");
      }
    }
  }
}

TEST(Normalization, LongRowsOfLargeNumbersKeepTheirDigits) {
  const std::int64_t n = 20'000;
  const Tensor x = cast(tensor(random_values(static_cast<std::size_t>(n), 9), {1, n}) * 1e30, f32), fine = cast(x, f64);
  expect_near(cast(layer_norm(x, {n}), f64), layer_norm(fine, {n}), 1e-5);
  expect_near(cast(rms_norm(x, {n}), f64), rms_norm(fine, {n}), 1e-5);
}

TEST(Normalization, ErrorsSayWhatDoesNotFit) {
  const Tensor x = tensor(random_values(24, 5), {2, 3, 4});
  EXPECT_NE(message_of([&] { layer_norm(x, {3}); }).find("layer_norm: got shape (2, 3, 4), expected one that ends in (3,)"),
            std::string::npos);
  EXPECT_NE(message_of([&] { layer_norm(x, {4}, {.weight = x}); }).find("a weight of shape (2, 3, 4), expected shape (4,)"),
            std::string::npos);
  EXPECT_NE(message_of([&] { group_norm(x, 2); }).find("divides the 3 channels"), std::string::npos);
  EXPECT_NE(message_of([&] { batch_norm_training(tensor({1.0, 2.0}, {1, 2})); }).find("more than one value for each channel"),
            std::string::npos);
  EXPECT_NE(message_of([&] { batch_norm(x, x, x); }).find("a variance of shape"), std::string::npos);
  EXPECT_NE(message_of([&] { softmax(x, 3); }).find("softmax"), std::string::npos);
  EXPECT_NE(message_of([&] { softmax(tensor({1, 2})); }).find("dtype i32, expected a float type"), std::string::npos);
}

}  // namespace
}  // namespace tegula
