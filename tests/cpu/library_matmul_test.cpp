#include <gtest/gtest.h>

#include <limits>

#include "tegula/cpu/library.h"
#include "tests/cpu/library_support.h"

namespace tegula::cpu {
namespace {

using runtime::Activation;
using runtime::Matmul;
using test::pick;
using test::Tensor;

enum class Order { Rows, Columns };

/// A matrix with batch axes; `gap` elements lie unused behind each row (or column), `broadcast` gives batch strides of 0.
Layout matrix(const Shape& shape, Order order, std::int64_t gap = 0, bool broadcast = false) {
  const int rank = shape.rank();
  Layout layout{shape, Dims::filled(rank, 1)};
  const int inner = order == Order::Rows ? rank - 1 : rank - 2, outer = order == Order::Rows ? rank - 2 : rank - 1;
  layout.strides[outer] = std::max<std::int64_t>(1, shape[inner] + gap);
  std::int64_t step = layout.strides[outer] * std::max<std::int64_t>(1, shape[outer]);
  for (int axis = rank - 3; axis >= 0; --axis) {
    layout.strides[axis] = broadcast ? 0 : step;
    step *= shape[axis];
  }
  return layout;
}

double reference_activation(double x, Activation activation) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
    default: return std::tanh(x);
  }
}

void expect_matmul(const Matmul& d, int threads) {
  Tensor a(d.dtype, d.a), b(d.dtype, d.b), c(d.dtype, d.c), bias(d.dtype, Layout::dense({d.c.shape.back()}));
  a.randomize(), b.randomize(), bias.randomize();
  const auto call = make_matmul(d);
  std::vector<void*> buffers{a.data(), b.data()};
  if (d.bias) buffers.push_back(bias.data());
  buffers.push_back(c.data());
  ASSERT_TRUE(test::run_guarded(*call, buffers, threads)) << "wrote behind its scratch";
  EXPECT_TRUE(c.untouched_outside());
  const int rank = d.c.shape.rank();
  const std::int64_t depth = d.a.shape[rank - 1];
  double worst = 0;
  c.for_each([&](const Dims& index) {
    double sum = d.bias ? bias({index[rank - 1]}) : 0;
    Dims in_a = index, in_b = index;
    for (std::int64_t k = 0; k < depth; ++k) {
      in_a[rank - 1] = k, in_b[rank - 2] = k;
      sum += a(in_a) * b(in_b);
    }
    const double error = std::abs(c(index) - reference_activation(sum, d.activation));
    worst = std::isnan(error) ? error : std::max(worst, error);
  });
  EXPECT_LE(worst, test::tolerance(d.dtype, static_cast<double>(depth)))
      << call->describe() << ' ' << to_string(d.a.shape) << to_string(d.a.strides) << ' ' << to_string(d.b.shape) << to_string(d.b.strides)
      << ' ' << to_string(d.c.shape) << to_string(d.c.strides) << " bias " << d.bias << " activation " << static_cast<int>(d.activation);
}

class MatmulTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, MatmulTest, testing::Values(f64, f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(MatmulTest, RandomShapesInEveryOrientationMatchTheNaiveLoop) {
  for (int round = 0; round < 300; ++round) {
    const auto size = [&] { return round % 3 == 0 ? pick(1, 8) : pick(1, 70); };
    const std::int64_t m = size(), n = size(), k = size();
    const int batch_axes = pick(0, 2);
    Shape a, b, c;
    for (int i = 0; i < batch_axes; ++i) {
      const int extent = pick(1, 3);
      a.push_back(extent), b.push_back(extent), c.push_back(extent);
    }
    a.push_back(m), a.push_back(k), b.push_back(k), b.push_back(n), c.push_back(m), c.push_back(n);
    const auto order = [] { return pick(0, 1) ? Order::Rows : Order::Columns; };
    Matmul d{.dtype = GetParam(),
             .a = matrix(a, order(), pick(0, 1) * pick(1, 5), pick(0, 3) == 0),
             .b = matrix(b, order(), pick(0, 1) * pick(1, 5), pick(0, 3) == 0),
             .c = matrix(c, order(), pick(0, 1) * 3),
             .bias = pick(0, 1) == 1,
             .activation = static_cast<Activation>(pick(0, 5))};
    expect_matmul(d, 1 + round % 2);
    if (HasFailure()) return;
  }
}

TEST_P(MatmulTest, LargeProductsMatchOnOneAndTwoThreads) {
  for (const auto& [m, n, k] :
       {std::array{200, 150, 300}, std::array{13, 500, 700}, std::array{300, 37, 513}, std::array{1, 900, 1000}, std::array{2, 64, 3000}}) {
    for (int order = 0; order < 8; ++order) {
      const auto of = [&](int bit) { return order >> bit & 1 ? Order::Rows : Order::Columns; };
      Matmul d{.dtype = GetParam(), .a = matrix({m, k}, of(0)), .b = matrix({k, n}, of(1)), .c = matrix({m, n}, of(2)), .bias = true};
      expect_matmul(d, 1 + order % 2);
    }
  }
}

TEST_P(MatmulTest, AnEmptyInnerAxisGivesTheBiasAndEmptyResultsWriteNothing) {
  expect_matmul({.dtype = GetParam(),
                 .a = matrix({3, 0}, Order::Rows),
                 .b = matrix({0, 4}, Order::Rows),
                 .c = matrix({3, 4}, Order::Rows),
                 .bias = true},
                1);
  expect_matmul(
      {.dtype = GetParam(), .a = matrix({3, 0}, Order::Rows), .b = matrix({0, 4}, Order::Rows), .c = matrix({3, 4}, Order::Columns)}, 2);
  expect_matmul({.dtype = GetParam(),
                 .a = matrix({0, 5}, Order::Rows),
                 .b = matrix({5, 4}, Order::Rows),
                 .c = matrix({0, 4}, Order::Rows),
                 .bias = true},
                2);
  expect_matmul(
      {.dtype = GetParam(), .a = matrix({0, 2, 5}, Order::Rows), .b = matrix({0, 5, 4}, Order::Rows), .c = matrix({0, 2, 4}, Order::Rows)},
      1);
  expect_matmul({.dtype = GetParam(), .a = matrix({4, 5}, Order::Rows), .b = matrix({5, 0}, Order::Rows), .c = matrix({4, 0}, Order::Rows)},
                1);
}

TEST(Matmul, SameThreadCountGivesTheSameBits) {
  const Layout layout = matrix({256, 256}, Order::Rows);
  Tensor a(f32, layout), b(f32, layout), first(f32, layout), second(f32, layout);
  a.randomize(), b.randomize();
  const auto call = make_matmul({.dtype = f32, .a = layout, .b = layout, .c = layout});
  for (int threads : {1, 2}) {
    test::run_guarded(*call, {a.data(), b.data(), first.data()}, threads);
    for (int i = 0; i < 5; ++i) {
      test::run_guarded(*call, {a.data(), b.data(), second.data()}, threads);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), 256 * 256 * 4), 0);
    }
  }
}

TEST(Matmul, ActivationsKeepNanAndSurviveLargeValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (int activation = 1; activation <= 5; ++activation) {
    Matmul d{.dtype = f32,
             .a = matrix({1, 1}, Order::Rows),
             .b = matrix({1, 6}, Order::Rows),
             .c = matrix({1, 6}, Order::Rows),
             .activation = static_cast<Activation>(activation)};
    float one = 1, x[] = {nan, 1000, -1000, inf, -0.0f, 1e-20f}, y[6];
    ASSERT_TRUE(test::run_guarded(*make_matmul(d), {&one, x, y}, 1));
    EXPECT_TRUE(std::isnan(y[0])) << activation;
    for (int i = 1; i < 3; ++i) EXPECT_NEAR(y[i], reference_activation(x[i], d.activation), 1e-4) << activation;
    EXPECT_EQ(y[3], activation <= 3 ? inf : 1.0f) << activation;
    EXPECT_NEAR(y[5], reference_activation(x[5], d.activation), 1e-6) << activation;
  }
}

TEST(Matmul, WhatIsNotAFloatIsRefused) {
  const Layout layout = matrix({2, 2}, Order::Rows);
  EXPECT_THROW(make_matmul({.dtype = i32, .a = layout, .b = layout, .c = layout}), Error);
  EXPECT_THROW(make_matmul({.dtype = f32, .a = layout, .b = matrix({3, 2}, Order::Rows), .c = layout}), Error);
  EXPECT_THROW(make_matmul({.dtype = f32, .a = Layout{{2, 2}, {4, 2}}, .b = layout, .c = layout}), Error);
}

}  // namespace
}  // namespace tegula::cpu
