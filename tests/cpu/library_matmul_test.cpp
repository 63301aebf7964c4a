#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/library.h"
#include "tests/support/library.h"

namespace tegula::host {
namespace {

using runtime::Matmul;
using test::expect_matmul;
using test::matrix;
using test::Tensor;
using Order = test::MatrixOrder;

class MatmulTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, MatmulTest, testing::Values(f64, f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(MatmulTest, RandomShapesInEveryOrientationMatchTheNaiveLoop) {
  for (int round = 0; round < 300 && !HasFailure(); ++round)
    expect_matmul(runtime::cpu(), test::random_matmul(GetParam(), 70), 1 + round % 2);
}

TEST_P(MatmulTest, LargeProductsMatchOnOneAndTwoThreads) {
  for (const auto& [m, n, k] :
       {std::array{200, 150, 300}, std::array{13, 500, 700}, std::array{300, 37, 513}, std::array{1, 900, 1000}, std::array{2, 64, 3000}}) {
    for (int order = 0; order < 8; ++order) {
      const auto of = [&](int bit) { return order >> bit & 1 ? Order::Rows : Order::Columns; };
      Matmul d{.a = {GetParam(), matrix({m, k}, of(0))},
               .b = {GetParam(), matrix({k, n}, of(1))},
               .c = {GetParam(), matrix({m, n}, of(2))},
               .epilogue = test::with_bias(true)};
      expect_matmul(runtime::cpu(), d, 1 + order % 2);
    }
  }
}

// A weight that stays is packed for a product of one row, which then reads it element by element.
TEST(Matmul, OneRowByAPackedWeightMatches) {
  int packed = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    Matmul d = test::random_matmul(f32, round % 3 ? 70 : 400);
    if (round % 4) {
      const std::int64_t n = test::pick(1, round % 7 ? 90 : 1300), k = test::pick(1, round % 5 ? 60 : 900);
      const auto order = [&] { return test::pick(0, 1) ? Order::Rows : Order::Columns; };
      d.a.layout = matrix({1, k}, order()), d.b.layout = matrix({k, n}, order(), test::pick(0, 1) * 3),
      d.c.layout = matrix({1, n}, Order::Rows);
    }
    Matmul asked = d;
    asked.b.blocks.any = true;
    const auto ways = runtime::cpu().candidates(asked);
    ASSERT_FALSE(ways.empty());
    const auto& best = std::get<Matmul>(ways.front().description);
    if (best.b.blocks) ++packed;
    expect_matmul(runtime::cpu(), best, 1 + round % 3);
  }
  EXPECT_GT(packed, 150);
}

TEST(Matmul, ABInOtherBlocksIsRefused) {
  Matmul d = Matmul::of(f32, matrix({1, 64}, Order::Rows), matrix({64, 96}, Order::Rows), matrix({1, 96}, Order::Rows));
  d.b.blocks = {.shape = {64, 96}, .strides = {3, 192}, .axes = {1}, .sizes = {3}};
  EXPECT_THROW(runtime::cpu().make(d), Error);
}

TEST_P(MatmulTest, AnEmptyInnerAxisGivesTheBiasAndEmptyResultsWriteNothing) {
  expect_matmul(runtime::cpu(),
                {.a = {GetParam(), matrix({3, 0}, Order::Rows)},
                 .b = {GetParam(), matrix({0, 4}, Order::Rows)},
                 .c = {GetParam(), matrix({3, 4}, Order::Rows)},
                 .epilogue = test::with_bias(true)},
                1);
  expect_matmul(runtime::cpu(),
                {.a = {GetParam(), matrix({3, 0}, Order::Rows)},
                 .b = {GetParam(), matrix({0, 4}, Order::Rows)},
                 .c = {GetParam(), matrix({3, 4}, Order::Columns)}},
                2);
  expect_matmul(runtime::cpu(),
                {.a = {GetParam(), matrix({0, 5}, Order::Rows)},
                 .b = {GetParam(), matrix({5, 4}, Order::Rows)},
                 .c = {GetParam(), matrix({0, 4}, Order::Rows)},
                 .epilogue = test::with_bias(true)},
                2);
  expect_matmul(runtime::cpu(),
                {.a = {GetParam(), matrix({0, 2, 5}, Order::Rows)},
                 .b = {GetParam(), matrix({0, 5, 4}, Order::Rows)},
                 .c = {GetParam(), matrix({0, 2, 4}, Order::Rows)}},
                1);
  expect_matmul(runtime::cpu(),
                {.a = {GetParam(), matrix({4, 5}, Order::Rows)},
                 .b = {GetParam(), matrix({5, 0}, Order::Rows)},
                 .c = {GetParam(), matrix({4, 0}, Order::Rows)}},
                1);
}

TEST(Matmul, SameThreadCountGivesTheSameBits) {
  const Layout layout = matrix({256, 256}, Order::Rows);
  Tensor a(f32, layout), b(f32, layout), first(f32, layout), second(f32, layout);
  a.randomize(), b.randomize();
  const auto call = make_matmul({.a = {f32, layout}, .b = {f32, layout}, .c = {f32, layout}});
  for (int threads : {1, 2}) {
    test::run_guarded(runtime::cpu(), *call, {&a, &b, &first}, threads);
    for (int i = 0; i < 5; ++i) {
      test::run_guarded(runtime::cpu(), *call, {&a, &b, &second}, threads);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), 256 * 256 * 4), 0);
    }
  }
}

TEST(Matmul, ActivationsKeepNanAndSurviveLargeValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<runtime::Expression> activations = test::activations_of(f32);
  for (std::size_t activation = 1; activation <= 5; ++activation) {
    Matmul d{.a = {f32, matrix({1, 1}, Order::Rows)},
             .b = {f32, matrix({1, 6}, Order::Rows)},
             .c = {f32, matrix({1, 6}, Order::Rows)},
             .epilogue = activations[activation]};
    float one = 1, x[] = {nan, 1000, -1000, inf, -0.0f, 1e-20f}, y[6];
    std::array<void*, 3> buffers{&one, x, y};
    const auto call = make_matmul(d);
    const auto scratch = allocate_host(call->scratch_bytes());
    call->run(buffers, {.scratch = scratch->data()});
    EXPECT_TRUE(std::isnan(y[0])) << activation;
    for (int i = 1; i < 3; ++i) EXPECT_NEAR(y[i], test::evaluate(d.epilogue, x[i]), 1e-4) << activation;
    EXPECT_EQ(y[3], activation <= 3 ? inf : 1.0f) << activation;
    EXPECT_NEAR(y[5], test::evaluate(d.epilogue, x[5]), 1e-6) << activation;
  }
}

TEST(Matmul, WhatIsNotAFloatIsRefused) {
  const Layout layout = matrix({2, 2}, Order::Rows);
  EXPECT_THROW(make_matmul({.a = {i32, layout}, .b = {i32, layout}, .c = {i32, layout}}), Error);
  EXPECT_THROW(make_matmul({.a = {f32, layout}, .b = {f32, matrix({3, 2}, Order::Rows)}, .c = {f32, layout}}), Error);
  EXPECT_THROW(make_matmul({.a = {f32, Layout{{2, 2}, {4, 2}}}, .b = {f32, layout}, .c = {f32, layout}}), Error);
}

}  // namespace
}  // namespace tegula::host
