// A function for inference only: its convolutions read weights in their own blocks, which are kept between runs, and compute the ops that follow them.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tegula/core/check.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_close;

std::string every_time(const std::string& plan) {
  const auto at = plan.find("every time:");
  return at == std::string::npos ? plan : plan.substr(at);
}

class PackedWeights : public testing::Test {
  void SetUp() override {
    if (default_device().number() != 0) GTEST_SKIP() << "weights are kept in blocks on the CPU";
  }
};

/// Two convolutions of a residual block, one of them of groups.
struct Block {
  std::int64_t channels, groups = 1;
  nn::Conv2d first{channels, channels, 3, {.padding = 1, .groups = groups}}, second{channels, channels, 1, {.bias = false}};
  Tensor operator()(Tensor x) const { return relu(x + second(relu6(first(x)))); }
};

TEST_F(PackedWeights, AreMadeOnceAndAgainWhereAWeightHasChanged) {
  Block block{32};
  auto answer = jit([&](Tensor x) { return block(x); });
  const Tensor x = drawn({2, 32, 9, 9});
  for (int i = 0; i < 3; ++i) expect_close(answer(x), block(x), 1e-4);
  EXPECT_EQ(answer.refreshes(), 1) << answer.print_plan();
  EXPECT_EQ(test::occurrences(answer.print_plan(), "call pack "), 2) << answer.print_plan();
  EXPECT_EQ(test::occurrences(every_time(answer.print_plan()), "call pack "), 0) << answer.print_plan();
  block.first.weight = normal({32, 32, 3, 3});
  expect_close(answer(x), block(x), 1e-4);
  EXPECT_EQ(answer.refreshes(), 2);
}

TEST_F(PackedWeights, WhatFollowsAConvolutionIsPutIntoIt) {
  Block block{32};
  auto answer = jit([&](Tensor x) { return permute(block(permute(x, {0, 3, 1, 2})), {0, 2, 3, 1}); });
  const Tensor x = drawn({1, 9, 9, 32});
  expect_close(answer(x), permute(block(permute(x, {0, 3, 1, 2})), {0, 2, 3, 1}), 1e-4);
  const std::string plan = every_time(answer.print_plan());
  EXPECT_EQ(test::occurrences(plan, "call convolution"), 2) << plan;
  EXPECT_EQ(test::occurrences(plan, "tile "), 0) << plan;
}

TEST_F(PackedWeights, ShapesOfAllKindsAndDtypesGiveWhatTheyGiveLazily) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const std::int64_t channels : {1, 3, 24, 33}) {
      for (const std::int64_t batch : {1, 3, 17}) {
        const Tensor x = drawn({batch, channels, 7, 10}, dtype), image = slice(x, 3, {1, 9});  // an operand with room
        Variable w{drawn({2 * channels, channels, 3, 2}, dtype, 0.2)}, deep{drawn({2 * channels, 1, 3, 3}, dtype)};
        Variable up{drawn({2 * channels, 4, 2, 2}, dtype, 0.2)}, bias{drawn({2 * channels}, dtype)};
        const auto net = [&](Tensor t) {
          Tensor y = clamp(conv2d(t, w.read(), bias.read(), {.stride = {2, 1}, .padding = 1}), -0.5, 0.75);
          y = relu(y + conv2d(y, deep.read(), {.padding = 1, .groups = 2 * channels}));
          return clamp_max(conv_transpose2d(clamp_min(y, 0.1), up.read(), {.stride = 2}), 0.5);
        };
        auto answer = jit(net);
        for (const Tensor& input : {x, image})
          expect_close(cast(answer(input), f32), cast(net(input), f32), dtype == f32 || dtype == f64 ? 1e-4 : 5e-2,
                       std::string(name(dtype)));
      }
    }
  }
}

TEST_F(PackedWeights, NothingAndPiecesOfJoins) {
  Block block{16};
  auto answer = jit([&](Tensor x) { return concat({block(x), x, block.second(x)}, 1); });
  for (const std::int64_t batch : {0, 1, 2}) {
    const Tensor x = drawn({batch, 16, 5, 4});
    expect_close(answer(x), concat({block(x), x, block.second(x)}, 1), 1e-4);
  }
}

TEST_F(PackedWeights, SignaturesShareThem) {
  Block block{32};
  auto answer = jit([&](Tensor x) { return block(x); });
  eval(answer(normal({1, 32, 8, 8})));
  const std::size_t one = answer.kept_bytes();
  eval(answer(normal({1, 32, 8, 8})), answer(normal({2, 32, 8, 8})));
  EXPECT_EQ(answer.kept_bytes(), one);
}

float largest(const Tensor& t) { return max(t).item<float>(); }

TEST_F(PackedWeights, NanStaysWhereSomethingTrainsOrLooksForIt) {
  Variable w{normal({16, 16, 3, 3})};
  Tensor x = normal({1, 16, 6, 6}) * std::numeric_limits<float>::quiet_NaN();
  eval(x);
  const auto net = [&](Tensor t) { return sum(relu(conv2d(t, w.read(), {.padding = 1}))); };
  auto step = jit([&](Tensor t) {
    const Tensor loss = net(t);
    w -= 0.1 * grad(loss, {w})[0];
    return loss;
  });
  auto gradient = jit([&](Tensor t) { return std::vector<Tensor>{net(t), grad(net(t), {w})[0]}; });
  EXPECT_TRUE(std::isnan(net(x).item<float>()));
  EXPECT_TRUE(std::isnan(gradient(x)[0].item<float>()));
  EXPECT_TRUE(std::isnan(step(x).item<float>()));
  w = normal({16, 16, 3, 3});
  auto answer = jit([&](Tensor t) { return relu(conv2d(t, w.read(), {.padding = 1})); });
  EXPECT_EQ(largest(answer(x)), 0) << "a library's own relu, in a function that only answers";
}

}  // namespace
}  // namespace tegula
