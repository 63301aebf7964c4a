// Training loops without jit that look at nothing, or too late: they compute step by step, and their memory stays.

#include <gtest/gtest.h>
#include <malloc.h>

#include <unistd.h>
#include <fstream>
#include <string>
#include <vector>

#include "tegula/core/warning.h"
#include "tegula/tegula.h"
#include "tests/support/sanitizers.h"

namespace tegula {
namespace {

struct Net {
  nn::Linear first{16, 32}, second{32, 4};
  Tensor operator()(Tensor x) { return second(relu(first(x))); }
};

struct Data {
  Tensor x = normal({64, 16}), y = randint(0, 4, {64});
};

/// MiB that this process has in memory.
double resident() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Values after so many steps of Adam, looked at every so many (0: never).
std::vector<float> trained(int steps, int every) {
  manual_seed(5);
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  for (int i = 0; i < steps; ++i) {
    const Tensor loss = cross_entropy(net(data.x), data.y);
    adam.step(grad(loss, parameters(net)));
    if (every > 0 && i % every == 0) loss.item();
  }
  std::vector<float> all;
  for (const Parameter& p : parameters(net))
    for (const float value : p.read().to_host()) all.push_back(value);
  return all;
}

TEST(PlainLoop, GivesTheSameBitsHoweverOftenItLooks) {
  const std::vector<float> each = trained(60, 1);
  EXPECT_EQ(trained(60, 0), each);
  EXPECT_EQ(trained(60, 7), each);
}

TEST(PlainLoop, ThatLooksAtNothingComputesStepByStep) {
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  for (int i = 0; i < 4; ++i) adam.step(grad(cross_entropy(net(data.x), data.y), parameters(net)));
  EXPECT_FALSE(adam.steps().read().node()->has_value()) << "the last step is pending";
  const Tensor before = adam.steps().read();
  adam.step(grad(cross_entropy(net(data.x), data.y), parameters(net)));
  EXPECT_TRUE(before.node()->has_value());
  EXPECT_EQ(adam.steps().item<std::int64_t>(), 5);
}

/// `loop(i)` for many steps: the second half takes no memory that the first half had not.
template <class Loop>
void expect_flat(const Loop& loop, int steps) {
  for (int i = 0; i < steps / 2; ++i) loop(i);
  const double before = resident();
  for (int i = steps / 2; i < steps; ++i) loop(i);
#ifdef TEGULA_SANITIZER
  static_cast<void>(before);
#else
  EXPECT_LT(resident() - before, 4) << "MiB more after " << steps << " steps than after half of them";
#endif
}

TEST(PlainLoop, ThatLooksAtNothingTakesNoMemory) {
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  expect_flat([&](int) { adam.step(grad(cross_entropy(net(data.x), data.y), parameters(net))); }, 2000);  // 220 KB a step before: 220 MiB
}

/// A budget that a few hundred steps fill, and the warnings said meanwhile.
class SmallBudget : public testing::Test {
 protected:
  void SetUp() override {
    before_ = history_budget();
    set_history_budget({.nodes = 20000, .bytes = before_.bytes, .replaced_bytes = std::size_t{1} << 20});
    set_warning_handler([this](const std::string& name, const std::string& text) { warnings.push_back(name + ": " + text); });
  }
  void TearDown() override {
    set_history_budget(before_);
    set_warning_handler(nullptr);
  }
  HistoryBudget before_;
  std::vector<std::string> warnings;
};

TEST_F(SmallBudget, ARunningSumOfLossesThatNobodyLooksAtTakesNoMoreThanTheBudget) {
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  Tensor total = 0.f;
  int line = 0;
  expect_flat(
      [&](int) {
        const Tensor loss = cross_entropy(net(data.x), data.y);
        adam.step(grad(loss, parameters(net)));
        total = total + loss, line = __LINE__;
      },
      2000);
  EXPECT_GT(total.item(), 0);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("plain_loops_test.cpp:" + std::to_string(line) + " keeps what it was computed from"), std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[0].find("total += loss.item()"), std::string::npos) << warnings[0];
}

TEST_F(SmallBudget, ARunningSumThatIsLookedAtNamesItsLine) {
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  Tensor total = 0.f;
  int line = 0;
  expect_flat(
      [&](int) {
        const Tensor loss = cross_entropy(net(data.x), data.y);
        total = total + loss, line = __LINE__;
        eval(total);
        adam.step(grad(loss, parameters(net)));
      },
      2000);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("plain_loops_test.cpp:" + std::to_string(line) + " keeps what it was computed from"), std::string::npos)
      << warnings[0];
}

TEST_F(SmallBudget, OldWeightsOfALargeNetAreBounded) {
  nn::Linear net(256, 256);
  optim::SGD sgd(parameters(net), {.lr = 1e-3});
  const Tensor x = normal({8, 256});
  Tensor total = 0.f;
  expect_flat(
      [&](int) {
        const Tensor loss = mean(square(net(x)));
        total = total + loss;
        eval(total);
        sgd.step(grad(loss, parameters(net)));
      },
      400);  // 256 KiB of weights a step
}

TEST_F(SmallBudget, LoopsThatKeepNothingAreNotWarnedOf) {
  Data data;
  Net net;
  optim::Adam adam(parameters(net));
  double total = 0;
  Tensor mean_loss = 0.f;
  expect_flat(
      [&](int i) {
        const Tensor loss = cross_entropy(net(data.x), data.y);
        adam.step(grad(loss, parameters(net)));
        if (i % 3 != 0) total += loss.item();  // reads every loss in some steps, or in each
        mean_loss = stop_gradient(mean_loss * 0.9f + loss * 0.1f);
      },
      1000);
  EXPECT_GT(total, 0);
  EXPECT_GT(mean_loss.item(), 0);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST(PlainLoop, ALossThatCannotBeComputedDoesNotStopTheSteps) {
  Variable w(tensor({1.f, 2.f}));
  optim::SGD sgd({{"w", w.cell()}}, {.lr = 0.1});
  const Tensor index = tensor({std::int64_t{7}});
  std::vector<Tensor> odd;
  for (int i = 0; i < 3; ++i) {
    odd.push_back(sum(take(w.read(), index, 0)));  // out of range, and never looked at
    sgd.step({grad(sum(square(w.read())), w)});
  }
  EXPECT_NEAR(w.read().to_host()[0], 0.8f * 0.8f * 0.8f, 1e-6f);
  EXPECT_THROW(odd[0].item(), Error);
}

}  // namespace
}  // namespace tegula
