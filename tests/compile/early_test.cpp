// Plans whose launches begin while the previous one runs, and the memory that they may read before its end.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// A device that keeps the programs it was asked for.
struct Kept {
  std::vector<tile::Program> programs;
  test::QueuedDevice& device = test::QueuedDevice::create();
  Kept() {
    device.make_kernel = [this](const tile::Program& program) {
      programs.push_back(program);
      return runtime::cpu().compile(program);
    };
  }
  ~Kept() {
    device.make_kernel = [](const tile::Program& program) { return runtime::cpu().compile(program); };
  }

  int early() const {
    return static_cast<int>(std::ranges::count_if(programs, [](const tile::Program& program) { return program.early; }));
  }
  int unwritten() const {
    int count = 0;
    for (const tile::Program& program : programs)
      for (const tile::Parameter& parameter : program.parameters) count += parameter.unwritten;
    return count;
  }
};

TEST(Early, AChainOfShortLaunchesBeginsEarlyAndReadsItsWeightsFirst) {
  manual_seed(1);
  Kept kept;
  const test::OnDevice here(kept.device);
  const Variable a(normal({128, 160})), b(normal({160, 144})), c(normal({144, 128}));
  eval(a), eval(b), eval(c);
  auto step = jit([&](Tensor x) { return matmul(tanh(matmul(tanh(matmul(x, a)), b)), c); });
  const Tensor x = normal({1, 128});
  eval(x);
  kept.programs.clear();
  step(x), step(x);
  ASSERT_FALSE(kept.programs.empty());
  EXPECT_EQ(kept.early(), static_cast<int>(kept.programs.size()));
  EXPECT_EQ(kept.unwritten(), 3);
}

TEST(Early, WhatThePlanWritesIsNotReadBeforeTheWait) {
  manual_seed(2);
  Kept kept;
  const test::OnDevice here(kept.device);
  std::vector<Variable> weights;
  for (int i = 0; i < 6; ++i) weights.emplace_back(normal({128 + 8 * i, 136 + 8 * i}));
  for (const Variable& w : weights) eval(w);
  auto step = jit([&](Tensor x) {
    for (const Variable& w : weights) x = tanh(matmul(x, w));
    weights.back() = weights.back() * 0.5;
    return x;
  });
  const Tensor x = normal({1, 128});
  eval(x);
  kept.programs.clear();
  step(x), step(x);
  ASSERT_GT(kept.early(), 0);
  EXPECT_EQ(kept.unwritten(), 5);  // all but the last
}

TEST(Early, BranchesSideBySideDoNot) {
  manual_seed(3);
  Kept kept;
  const test::OnDevice here(kept.device);
  std::vector<Variable> weights;
  for (int i = 0; i < 6; ++i) weights.emplace_back(normal({128, 128 + 8 * i}));
  for (const Variable& w : weights) eval(w);
  auto step = jit([&](Tensor x) {
    std::vector<Tensor> y;
    for (const Variable& w : weights) y.push_back(tanh(matmul(x, w)));
    return y;
  });
  const Tensor x = normal({1, 128});
  eval(x);
  kept.programs.clear();
  step(x), step(x);
  ASSERT_FALSE(kept.programs.empty());
  EXPECT_EQ(kept.early(), 0);
}

}  // namespace
}  // namespace tegula
