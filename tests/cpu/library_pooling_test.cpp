#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/library.h"
#include "tests/support/library.h"

namespace tegula::host {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;
using test::activations;
using test::expect_pooling;
using test::Memory;
using test::random_pooling;

class PoolingTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, PoolingTest, testing::Values(f64, f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(PoolingTest, RandomWindowsAndLayoutsMatchTheNaiveLoops) {
  for (int round = 0; round < 200 && !HasFailure(); ++round) expect_pooling(runtime::cpu(), random_pooling(GetParam()), 1 + round % 2);
}

TEST_P(PoolingTest, NanCountsAsMaximumAndTheFirstOfEqualsIsTaken) {
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    Pooling d = random_pooling(GetParam());
    d.kind = PoolingKind::Max;
    d.wants_taps = !d.backward && test::pick(0, 1) == 1;
    expect_pooling(runtime::cpu(), d, 1 + round % 2, round % 3 * 0.1 + 0.001);
  }
}

TEST_P(PoolingTest, EmptyBatchesAndGlobalWindows) {
  for (const bool backward : {false, true}) {
    for (const auto kind : {PoolingKind::Max, PoolingKind::AverageWithPadding}) {
      expect_pooling(runtime::cpu(),
                     {.kind = kind,
                      .backward = backward,
                      .input = {GetParam(), activations({0, 3, 4, 4}, Memory::ChannelsFirst)},
                      .output = {GetParam(), activations({0, 3, 2, 2}, Memory::ChannelsFirst)},
                      .window = {2, 2},
                      .stride = {2, 2},
                      .dilation = {1, 1},
                      .pad_low = {0, 0},
                      .pad_high = {0, 0}},
                     2);
      expect_pooling(runtime::cpu(),
                     {.kind = kind,
                      .backward = backward,
                      .input = {GetParam(), activations({2, 70, 7, 7}, Memory::ChannelsLast)},
                      .output = {GetParam(), activations({2, 70, 1, 1}, Memory::ChannelsLast)},
                      .window = {7, 7},
                      .stride = {1, 1},
                      .dilation = {1, 1},
                      .pad_low = {0, 0},
                      .pad_high = {0, 0}},
                     2);
    }
  }
}

TEST(Pooling, WhatIsNotAFloatIsRefused) {
  Pooling d = random_pooling(f32);
  d = d.in(i32);
  EXPECT_THROW(make_pooling(d), Error);
}

}  // namespace
}  // namespace tegula::host
