// Failed checks on a device that queues its work: no thread waits for them, and yet no Variable changes.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/compile/jit.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/embedding.h"
#include "tegula/runtime/registry.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

class OnQueue : public testing::Test {
 protected:
  OnQueue() : before_(default_device()) {
    if (!before_.traits().queues) set_default_device(queued());
  }
  static test::QueuedDevice& queued() {
    static test::QueuedDevice& device = test::QueuedDevice::create();
    return device;
  }
  ~OnQueue() override { set_default_device(before_); }

 private:
  runtime::Device& before_;
};

Tensor label(std::int64_t value) { return tensor({value}); }
Tensor on_host(float value) { return tensor({value}); }

TEST_F(OnQueue, AFailedCheckLeavesEveryVariableAlone) {
  Variable w(tensor({1.f, 2.f, 3.f, 4.f}, {1, 4})), count(Tensor(0.f)), power(tensor({2.f, 0.f, 0.f, 2.f}, {2, 2})), late(Tensor(1.f));
  auto step = jit([&](Tensor labels) {
    count = count + 1;           // before the check
    power = matmul(power, power.read() * 0.5f);  // by a library call
    const Tensor loss = cross_entropy(w, labels);
    w = w - grad(loss, w);       // in place, behind the check
    late = late + sum(w);        // reads what another update writes
    return loss;
  });
  const auto state = [&] {
    std::vector<float> all = w.read().to_host();
    for (const Variable* variable : {&count, &power, &late}) {
      const auto values = variable->read().to_host();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  for (int good = 0; good < 3; ++good) {  // as separate launches, and from a recording
    step(label(good)).item();
    const std::vector<float> before = state();
    EXPECT_EQ(before[4], static_cast<float>(good + 1));
    EXPECT_THROW(step(label(4)).item(), Error);
    EXPECT_EQ(state(), before);
  }
  EXPECT_NE(step.print_plan().find("guarded"), std::string::npos) << step.print_plan();
}

TEST_F(OnQueue, AnArgumentOfTheHostAndOneOfTheDeviceTakeTurns) {
  auto twice = jit([](Tensor x) { return x * 2.0; });
  const Tensor host = on_host(3.f), device = on_host(4.f) + 1.0;
  eval(device);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(twice(host).item(), 6);
    EXPECT_EQ(twice(host).item(), 6);
    EXPECT_EQ(twice(device).item(), 10);
  }
}

TEST_F(OnQueue, AResultThatSomebodyHoldsStays) {
  auto twice = jit([](Tensor x) { return x * 2.0; });
  std::vector<Tensor> held;
  for (int i = 0; i < 6; ++i) held.push_back(twice(on_host(static_cast<float>(i))));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(held[static_cast<std::size_t>(i)].item(), 2 * i);
}

TEST_F(OnQueue, KernelsAreRequestedAsTheyWillBeNeeded) {
  if (&default_device() != &queued()) GTEST_SKIP() << "needs the device of the tests";
  Variable w(normal({3, 8})), count(Tensor(0.f)), late(Tensor(1.f));
  auto step = jit([&](Tensor x, Tensor labels) {
    const Tensor loss = mean(cross_entropy(matmul(x, w), labels));
    late = late + sum(w);
    w = w - grad(loss, w) * 0.1f;
    count = count + 1;
    return loss;
  });
  const auto before = queued().counters;
  step(normal({2, 3}), tensor({std::int64_t{1}, std::int64_t{2}})).item();
  EXPECT_GE(queued().counters.foreseen, before.foreseen + 4) << step.print_plan();
  EXPECT_EQ(queued().counters.unforeseen, before.unforeseen) << step.print_plan();
}

TEST_F(OnQueue, StepsQueuedBehindAFailureDoNothing) {
  Variable table(tensor({1.f, 2.f, 3.f}, {3, 1})), count(Tensor(0.f));
  auto step = jit([&](Tensor index) {
    const Tensor loss = sum(embedding(index, table));
    table = table - grad(loss, table);
    count = count + 1;
    return loss;
  });
  step(label(0)).item();
  // The error is thrown when it is known: at the latest when a value is read.
  const auto fail = [&] {
    step(label(5));
    step(label(1));
    step(label(1)).item();
  };
  EXPECT_THROW(fail(), Error);
  EXPECT_EQ(table.read().to_host(), (std::vector<float>{0, 2, 3}));
  EXPECT_EQ(count.read().to_host(), (std::vector<float>{1}));
  EXPECT_EQ(step(label(-1)).item(), 3);
  EXPECT_EQ(table.read().to_host(), (std::vector<float>{0, 2, 2}));
}

TEST_F(OnQueue, RepeatedRunsAreFewRecordings) {
  if (&default_device() != &queued()) GTEST_SKIP() << "counts what the queue was asked for";
  if (checking(Check::Memory)) GTEST_SKIP() << "memory is filled between steps, which are queued one by one";
  Variable n(0.0f);
  auto step = jit([&](Tensor by) { n = n + by; });
  const Tensor by(1.0f);
  step(by), step(by);  // the second is recorded
  const auto before = queued().counters;
  step.repeat(100, by);
  EXPECT_EQ(queued().counters.recordings, before.recordings + 1);
  EXPECT_EQ(queued().counters.replays, before.replays + 1);
  step.repeat(30, by);  // shorter than the recording
  EXPECT_EQ(queued().counters.recordings, before.recordings + 1);
  EXPECT_EQ(queued().counters.replays, before.replays + 31);
  step.repeat(1100, by);  // 512 steps at once
  EXPECT_EQ(queued().counters.recordings, before.recordings + 2);
  EXPECT_EQ(queued().counters.replays, before.replays + 31 + 2 + 76);
  EXPECT_EQ(Tensor(n).item(), 1232);
}

}  // namespace
}  // namespace tegula
