// Values known from elsewhere: the C library in long double, PyTorch's documentation, and identities at the edges.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tests/ops/shape_values.h"

namespace tegula {
namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Equal up to `relative`; NaN equals NaN.
void expect_relative(const Tensor& y, const Values& expected, double relative = 0) {
  const Values got = y.to_host<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], relative * std::max(1.0, std::fabs(expected[i]))) << "element " << i;
    }
  }
}

/// dy/dx for every element, by vjp with ones.
Tensor derivative(const Tensor& y, const Tensor& x) {
  const Values ones(static_cast<std::size_t>(y.numel()), 1.0);
  return vjp({y}, {cast(tensor<double>(ones, y.shape()), y.dtype())}, {x})[0];
}

using Unary = Tensor (*)(Arg);
using LongDouble = long double (*)(long double);

TEST(ElementwiseValues, AgreeWithTheCLibrary) {
  struct Case {
    const char* name;
    Unary ours;
    LongDouble theirs;
    Values at;
  };
  const Values real{-2.7, -1, -0.3, -1e-9, 0, 1e-9, 0.25, 1, 2.5}, positive{1e-9, 0.1, 0.5, 1, 2, 10, 1e9},
      inside{-0.99, -0.5, -1e-7, 0, 0.3, 0.9};
  const Case cases[] = {
      {"exp", exp, std::exp, real},
      {"exp2", exp2, std::exp2, real},
      {"expm1", expm1, std::expm1, real},
      {"log", log, std::log, positive},
      {"log2", log2, std::log2, positive},
      {"log10", log10, std::log10, positive},
      {"log1p", log1p, std::log1p, inside},
      {"sqrt", sqrt, std::sqrt, positive},
      {"sin", sin, std::sin, real},
      {"cos", cos, std::cos, real},
      {"tan", tan, std::tan, real},
      {"asin", asin, std::asin, inside},
      {"acos", acos, std::acos, inside},
      {"atan", atan, std::atan, real},
      {"sinh", sinh, std::sinh, real},
      {"cosh", cosh, std::cosh, real},
      {"tanh", tanh, std::tanh, real},
      {"asinh", asinh, std::asinh, real},
      {"acosh", acosh, std::acosh, {1, 1.5, 10, 1e6}},
      {"atanh", atanh, std::atanh, inside},
      {"erf", erf, std::erf, real},
      {"erfc", erfc, std::erfc, real},
      {"lgamma", lgamma, std::lgamma, {-2.5, -0.5, 0.1, 1, 1.5, 2, 30}},
      {"floor", floor, std::floor, real},
      {"ceil", ceil, std::ceil, real},
      {"trunc", trunc, std::trunc, real},
      {"round", round, std::nearbyint, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.4}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Values expected;
    for (double x : one.at) expected.push_back(static_cast<double>(one.theirs(x)));
    expect_relative(one.ours(doubles(one.at)), expected, 4e-15);
  }
}

// Abramowitz and Stegun, tables 6.1 and 7.1; digamma(1) = -Euler's constant, digamma(1/2) = -Euler - 2 ln 2.
TEST(ElementwiseValues, SpecialFunctionsAgreeWithTables) {
  expect_relative(digamma(doubles({1, 0.5, 10})), {-0.57721566490153286, -1.9635100260214235, 2.2517525890667211}, 1e-14);
  expect_relative(erfinv(doubles({0, 0.5, 0.84270079294971487, -1, 1})), {0, 0.47693627620446987, 1, -kInf, kInf}, 1e-13);
  const Tensor x = doubles({1, 0.5, -0.5});
  expect_relative(derivative(digamma(x), x), {1.6449340668482264, 4.9348022005446793, 8.9348022005446793},
                  1e-11);  // pi²/6, pi²/2, pi²/2 + 4
  expect_relative(xlogy(doubles({0, 0, 2, 0}), doubles({0, 5, 3, kNaN})), {0, 0, 2 * std::log(3.0), kNaN}, 1e-15);
  expect_relative(hypot(doubles({3, 0, 1e300, kInf}), doubles({4, 0, 1e300, 2})), {5, 0, std::sqrt(2.0) * 1e300, kInf}, 1e-15);
}

// The examples in PyTorch's documentation of each function.
TEST(ElementwiseValues, AgreeWithPyTorchsDocumentation) {
  expect_relative(remainder(doubles({-3, -2, -1, 1, 2, 3}), 2), {1, 0, 1, 1, 0, 1});
  expect_relative(remainder(tensor<std::int32_t>({1, 2, 3, 4, 5}), -1.5), {-0.5, -1, 0, -0.5, -1});
  expect_relative(fmod(doubles({-3, -2, -1, 1, 2, 3}), 2), {-1, 0, -1, 1, 0, 1});
  expect_relative(floor_divide(doubles({4, 3}), doubles({2, 2})), {2, 1});
  expect_relative(floor_divide(doubles({4, 3}), 1.4), {2, 2});
  expect_relative(floor_divide(tensor<std::int32_t>({-7, 7, -7, 7, 5}), tensor<std::int32_t>({2, -2, -2, 2, 0})), {-4, -4, 3, 3, 0});
  expect_relative(remainder(tensor<std::int32_t>({-7, 7, -7, 7, 5}), tensor<std::int32_t>({2, -2, -2, 2, 0})), {1, -1, -1, 1, 0});
  expect_relative(fmod(tensor<std::int32_t>({-7, 7, -7, 7, 5}), tensor<std::int32_t>({2, -2, -2, 2, 0})), {-1, 1, -1, 1, 0});
  expect_relative(frac(doubles({1, 2.5, -3.2})), {0, 0.5, -0.2}, 1e-15);
  expect_relative(nan_to_num(doubles({kNaN, kInf, -kInf, 3.14})),
                  {0, std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(), 3.14});
  expect_relative(isclose(doubles({kInf, 4}), doubles({kInf, 4.5}), {.relative = 0.5}), {1, 1});
  expect_relative(isclose(doubles({1, 1, kNaN, 1}), doubles({kInf, 1 + 1e-10, kNaN, 2})), {0, 1, 0, 0});
  expect_relative(logical_xor(tensor<std::int8_t>({0, 1, 10, 0}), tensor<std::int8_t>({4, 0, 1, 0})), {1, 1, 0, 0});
  expect_relative(bitwise_not(tensor<std::int8_t>({-1, -2, 3})), {0, 1, -4});
  expect_relative(bitwise_xor(tensor<std::int8_t>({-1, -2, 3}), tensor<std::int8_t>({1, 0, 3})), {-2, -2, 0});
  expect_relative(left_shift(tensor<std::int8_t>({-1, -2, 3}), tensor<std::int8_t>({1, 0, 3})), {-2, -2, 24});
  expect_relative(right_shift(tensor<std::int8_t>({-2, -7, 31}), tensor<std::int8_t>({1, 0, 3})), {-1, -7, 3});
  expect_relative(pow(tensor<std::int32_t>({2, -2, 3, 1, -1, 5, 0}), tensor<std::int32_t>({10, 3, 0, -5, -3, -1, 0})),
                  {1024, -8, 1, 1, -1, 0, 1});
}

TEST(ElementwiseValues, EdgesOfTheRange) {
  const Tensor x = doubles({-kInf, -1000, 0, 1000, kInf, kNaN});
  expect_relative(sigmoid(x), {0, 0, 0.5, 1, 1, kNaN});
  expect_relative(tanh(x), {-1, -1, 0, 1, 1, kNaN});
  expect_relative(relu(x), {0, 0, 0, 1000, kInf, kNaN});
  expect_relative(softplus(x), {0, 0, std::log(2.0), 1000, kInf, kNaN}, 1e-15);
  expect_relative(log_sigmoid(x), {-kInf, -1000, -std::log(2.0), 0, 0, kNaN}, 1e-15);
  expect_relative(elu(x), {-1, -1, 0, 1000, kInf, kNaN});
  expect_relative(hardtanh(x), {-1, -1, 0, 1, 1, kNaN});
  expect_relative(minimum(x, 1), {-kInf, -1000, 0, 1, 1, kNaN});
  expect_relative(clamp(x, -2, 2), {-2, -2, 0, 2, 2, kNaN});
  expect_relative(isfinite(x), {0, 1, 1, 1, 0, 0});
  const Tensor big = doubles({-1000, 1000});
  expect_relative(silu(big), {0, 1000});
  expect_relative(gelu(big), {0, 1000});
  expect_relative(gelu(big, Approximate::Tanh), {0, 1000});
  expect_relative(mish(big), {0, 1000});
}

TEST(ElementwiseGradients, HaveNoNaNFarFromZero) {
  const Tensor x = doubles({-1000, 0, 1000});
  expect_relative(derivative(sigmoid(x), x), {0, 0.25, 0});
  expect_relative(derivative(tanh(x), x), {0, 1, 0});
  expect_relative(derivative(softplus(x), x), {0, 0.5, 1});
  expect_relative(derivative(silu(x), x), {0, 0.5, 1});
  expect_relative(derivative(mish(x), x), {0, 0.6, 1}, 1e-15);
  expect_relative(derivative(gelu(x), x), {0, 0.5, 1});
  expect_relative(derivative(gelu(x, Approximate::Tanh), x), {0, 0.5, 1});
  expect_relative(derivative(elu(x), x), {0, 1, 1});
  expect_relative(derivative(log_sigmoid(x), x), {1, 0.5, 0});
  for (DType half : {f16, bf16, f32}) {
    const Tensor small = cast(doubles({-1000, 0, 1000}), half);
    expect_relative(derivative(sigmoid(small), small), {0, 0.25, 0});
    expect_relative(derivative(softplus(small), small), {0, 0.5, 1});
  }
}

TEST(ElementwiseGradients, AtTheKinks) {
  const Tensor x = doubles({-1, 0, 2, 6});
  expect_relative(derivative(relu(x), x), {0, 0, 1, 1});
  expect_relative(derivative(relu6(x), x), {0, 0, 1, 0});
  expect_relative(derivative(clamp(x, 0, 2), x), {0, 1, 1, 0});
  expect_relative(derivative(abs(x), x), {-1, 0, 1, 1});
  expect_relative(derivative(minimum(x, doubles({0, 0, 0, 9})), x), {1, 0.5, 0, 1});
  expect_relative(derivative(maximum(x, doubles({0, 0, 0, 9})), x), {0, 0.5, 1, 0});
  expect_relative(derivative(leaky_relu(x, 0.1), x), {0.1, 0.1, 1, 1});
  const Tensor zero = doubles({0});
  expect_relative(derivative(sqrt(zero), zero), {kInf});
  expect_relative(derivative(pow(zero, 2), zero), {0});
  expect_relative(derivative(pow(zero, 2.5), zero), {0});
  expect_relative(derivative(pow(zero, 0), zero), {0});
  const Tensor exponent = doubles({2});
  expect_relative(derivative(pow(zero, exponent), exponent), {0});
}

TEST(ElementwiseGradients, WhatWhereLeavesOutGetsNone) {
  const Tensor x = doubles({-1, 4}), bad = doubles({kNaN, kInf}), mask = tensor<bool>({true, true});
  expect_relative(derivative(where(mask, x, bad), x), {1, 1});
  expect_relative(derivative(where(mask, x, bad), bad), {0, 0});
  expect_relative(vjp({where(mask, x, bad)}, {doubles({kInf, kNaN})}, {bad})[0], {0, 0});
  expect_relative(vjp({relu(x)}, {doubles({kInf, 1})}, {x})[0], {0, 1});
  expect_relative(vjp({hardtanh(x)}, {doubles({2, kNaN})}, {x})[0], {0, 0});
}

// The derivative of the branch is infinite or NaN at 0, and meets a zero there.
TEST(ElementwiseGradients, OfABranchThatWhereLeavesOutAreZero) {
  const Tensor x = doubles({0, 2});
  expect_relative(derivative(where(x > 0, log(x), 0), x), {0, 0.5});
  expect_relative(derivative(where(x > 0, sqrt(x), x), x), {1, 0.5 / std::sqrt(2.0)});
  expect_relative(derivative(where(x == 0, 1, 1 / x), x), {0, -0.25});
  expect_relative(derivative(where(x > 0, -log(3 * sqrt(x)), 0), x), {0, -0.25}, 1e-15);
  expect_relative(derivative(where(x < 9, where(x > 0, log(x), 0), x), x), {0, 0.5});
  expect_relative(derivative(where(x > 0, pow(x, x), 0), x), {0, 4 * (1 + std::log(2.0))}, 1e-15);
  expect_relative(derivative(derivative(where(x > 0, log(x), 0), x), x), {0, -0.25});
  const Tensor scale = doubles({3}), y = where(x > 0, log(x * scale), 0);  // (1) against (2)
  expect_relative(derivative(y, scale), {1.0 / 3}, 1e-15);
}

TEST(ElementwiseGradients, OfStepsAreZero) {
  const Tensor x = doubles({-1.5, 2.5});
  for (const auto& step : {floor, ceil, round, trunc, sign}) expect_relative(derivative(step(x), x), {0, 0});
  expect_relative(derivative(exp(floor(3 * x)), x), {0, 0});
  expect_relative(derivative(derivative(relu(x), x), x), {0, 0});
  EXPECT_THROW(derivative(cast(cast(x, i64), f64), x), Error);
  EXPECT_THROW(derivative(floor(graph::stop_gradient(x)), x), Error);
}

TEST(ElementwiseGradients, OfBroadcastInputsAreSummed) {
  const Tensor a = doubles({1, 2, 3}), b = tensor<double>({10., 20.}, {2, 1}), c = tensor<double>({5.}, Shape{});
  const Tensor y = a * b + c;
  expect_relative(derivative(y, a), {30, 30, 30});
  expect_relative(derivative(y, b), {6, 6});
  expect_relative(derivative(y, c), {6});
  EXPECT_EQ(derivative(y, b).shape(), (Shape{2, 1}));
}

// f'' by hand: sigmoid s(1-s)(1-2s), tanh -2t(1-t²), softplus s(1-s), gelu phi(x)(2-x²), silu s'(2 + x(1-2s)).
TEST(ElementwiseGradients, SecondDerivatives) {
  const Values at{-1.5, 0, 0.3, 2};
  const Tensor x = doubles(at);
  const auto second = [&](const Tensor& y) { return derivative(derivative(y, x), x); };
  Values s2, t2, p2, g2, u2, e2, q2;
  for (double v : at) {
    const double s = 1 / (1 + std::exp(-v)), t = std::tanh(v), phi = std::exp(-v * v / 2) / std::sqrt(2 * M_PI);
    s2.push_back(s * (1 - s) * (1 - 2 * s));
    t2.push_back(-2 * t * (1 - t * t));
    p2.push_back(s * (1 - s));
    g2.push_back(phi * (2 - v * v));
    u2.push_back(s * (1 - s) * (2 + v * (1 - 2 * s)));
    e2.push_back(std::exp(v));
    q2.push_back(12 * v * v);
  }
  expect_relative(second(sigmoid(x)), s2, 1e-14);
  expect_relative(second(tanh(x)), t2, 1e-14);
  expect_relative(second(softplus(x)), p2, 1e-14);
  expect_relative(second(gelu(x)), g2, 1e-14);
  expect_relative(second(silu(x)), u2, 1e-14);
  expect_relative(second(exp(x)), e2, 1e-14);
  expect_relative(second(pow(x, 4)), q2, 1e-13);
  expect_relative(derivative(second(exp(x)), x), e2, 1e-14);
}

TEST(ElementwiseValues, ClampByOneBound) {
  const Tensor x = doubles({-kInf, -2, 0.5, 3, kInf, kNaN});
  expect_relative(clamp(x, {.low = 0}), {0, 0, 0.5, 3, kInf, kNaN});
  expect_relative(clamp(x, {.high = 1.5}), {-kInf, -2, 0.5, 1.5, 1.5, kNaN});
  expect_relative(clamp(x, {.low = -1, .high = 1}), {-1, -1, 0.5, 1, 1, kNaN});
  const Tensor whole = clamp(tensor<std::int64_t>({-5, 0, 9007199254740993}), {.low = 0});
  EXPECT_EQ(whole.dtype(), i64);
  EXPECT_EQ(whole.to_host<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 9007199254740993}));
  EXPECT_THROW(clamp(x, ClampBounds{}), Error);
}

}  // namespace
}  // namespace tegula
