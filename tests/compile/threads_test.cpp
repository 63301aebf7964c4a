// Promises of docs/threads.md: one function, one tensor, one Variable used by several threads at once.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// Runs work(thread) on so many threads, which begin together.
template <class F>
void on_threads(int count, F&& work) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      work(thread);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Tensor value(const Tensor& tensor) {
  eval(tensor);
  return tensor;
}

TEST(JitThreads, CallsFromSeveralThreadsWaitForTheFirst) {
  for (int round = 0; round < 5; ++round) {
    Variable w(value(zeros({100})));
    auto f = jit([&](Tensor x) {
      for (int i = 0; i < 30; ++i) w += x * 0.5f;
      return w.read();
    });
    std::atomic<int> errors = 0;
    on_threads(4, [&](int) {
      for (int call = 0; call < 5; ++call) {
        try {
          f(ones({100}));
        } catch (const Error&) { ++errors; }
      }
    });
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(sum(w).item(), 100 * 30 * 0.5f * 20);
  }
}

TEST(JitThreads, AFunctionThatCallsItselfIsAnError) {
  std::function<Tensor(Tensor)> again;
  auto f = jit([&](Tensor x) { return again(x * 2.f); });
  again = [&](Tensor x) { return f(x); };
  for (int call = 0; call < 2; ++call) {
    const std::string text = message_of([&] { f(ones({2})); });
    EXPECT_NE(text.find("jit: got a call of the function from inside itself"), std::string::npos) << text;
    EXPECT_NE(text.find("threads_test.cpp:"), std::string::npos) << text;
  }
  // Through another function, too.
  auto g = jit([&](Tensor x) { return f(x + 1.f); });
  EXPECT_NE(message_of([&] { g(ones({2})); }).find("inside itself"), std::string::npos);
  // The error ends the trace, not the function.
  again = [](Tensor x) { return x; };
  EXPECT_EQ(sum(f(ones({2}))).item(), 4);
  EXPECT_EQ(sum(g(ones({2}))).item(), 8);
}

TEST(JitThreads, AFunctionMayBePartOfAnother) {
  auto twice = jit([](Tensor x) { return x * 2.f; });
  auto f = jit([&](Tensor x) { return twice(twice(x)); });
  for (int call = 0; call < 3; ++call) EXPECT_EQ(sum(f(ones({3}))).item(), 12);
}

TEST(GraphThreads, APendingTensorIsEvaluatedByWhoeverAsks) {
  for (int round = 0; round < 50; ++round) {
    Tensor x = value(arange(0, 1000) * 0.001f), y = tanh(x * 2.f + 1.f), z = sum(y * y, 0), w = reshape(y, {10, 100});
    std::vector<float> seen(4);
    std::vector<HostArray> rows(4);
    on_threads(4, [&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      if (thread % 2 == 0) rows[i] = w.to_array();
      seen[i] = static_cast<float>(z.item());
      rows[i] = w.to_array();
    });
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(seen[i], seen[0]);
      for (std::size_t k = 0; k < 1000; ++k) ASSERT_EQ(rows[i].values<float>()[k], rows[0].values<float>()[k]);
    }
  }
}

TEST(GraphThreads, FreshWeightsAreReadByAll) {
  for (int round = 0; round < 20; ++round) {
    Variable w(normal({30, 20})), b(w.read() * 2.f);
    std::vector<double> largest(4);  // a sum may be added in another order in another plan
    on_threads(4, [&](int thread) { largest[static_cast<std::size_t>(thread)] = max(b.read() - w.read()).item(); });
    for (const double one : largest) EXPECT_EQ(one, largest[0]);
  }
}

TEST(GraphThreads, GradientsOfOneLossAreTakenByAll) {
  for (int round = 0; round < 20; ++round) {
    Variable w(value(ones({20})));
    Tensor x = value(arange(0, 20) * 0.1f), loss = sum(tanh(w * x) * x);
    std::vector<double> sums(4);
    on_threads(4, [&](int thread) {
      if (thread % 2 == 0) loss.item();
      sums[static_cast<std::size_t>(thread)] = sum(grad(loss, w)).item();
    });
    for (const double s : sums) EXPECT_NEAR(s, sums[0], 1e-5);
  }
}

constexpr int kLeastSteps = 2000, kMostSteps = 5'000'000, kLeastReads = 300;  // both threads have to come to it

// All elements of w are equal before and after each step: a reader that sees two numbers has looked into one.
TEST(VariableThreads, AReaderSeesWholeSteps) {
  Variable w(value(zeros({5000})));
  auto step = jit([&](Tensor x) { w += x; });
  std::atomic<bool> over = false;
  std::atomic<int> torn = 0, backwards = 0, reads = 0;
  std::thread reader([&] {
    double last = 0;
    while (!over) {
      const Tensor now = w.read();
      const Tensor ends = concat({reshape(min(now), {1}), reshape(max(now), {1})}, 0);
      const HostArray both = ends.to_array();
      const float low = both.values<float>()[0], high = both.values<float>()[1];
      torn += low != high;
      backwards += low < last;
      last = low;
      const HostArray all = now.to_array();
      for (const float element : all.values<float>()) torn += element != low;
      ++reads;
    }
  });
  Tensor one = value(ones({5000}));
  int steps = 0;
  for (; steps < kLeastSteps || (reads < kLeastReads && steps < kMostSteps); ++steps) step(one);
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(backwards, 0);
  EXPECT_EQ(max(w).item(), steps);
}

TEST(VariableThreads, AFunctionThatReadsSeesWholeStepsOfAnotherThatTrains) {
  Variable w(value(zeros({5000})));
  auto spread = jit([&](Tensor x) { return max(w + x) - min(w + x); });
  auto step = jit([&](Tensor x) { w += x; });
  Tensor one = value(ones({5000}));
  spread(one), spread(one), spread(one);  // it runs before anybody trains
  std::atomic<int> torn = 0, reads = 0;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    for (; !over; ++reads) torn += spread(one).item() != 0;
  });
  for (int steps = 0; steps < kLeastSteps || (reads < kLeastReads && steps < kMostSteps); ++steps) step(one);
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0);
}

TEST(VariableThreads, TwoFunctionsTrainOneVariable) {
  Variable w(value(zeros({1000})));
  auto up = jit([&](Tensor x) { w += x; });
  auto down = jit([&](Tensor x) { w -= x; });
  Tensor one = value(ones({1000}));
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 300; ++i) thread % 2 == 0 ? up(one) : down(one);
  });
  EXPECT_EQ(max(abs(w)).item(), 0);
}

TEST(VariableThreads, AnAssignmentWaitsForTheStep) {
  Variable w(value(zeros({1000}))), rate(value(tensor({0.f})));
  auto step = jit([&](Tensor x) { w = w * 0.f + x * rate; });
  Tensor one = value(ones({1000}));
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 1; !over; ++i) rate = value(tensor({static_cast<float>(i % 7)}));
  });
  for (int i = 0; i < 1000; ++i) step(one);
  over = true;
  writer.join();
  EXPECT_EQ(max(w).item(), min(w).item());
}

TEST(Fork, AChildComputes) {
  if (default_device().number() != 0) GTEST_SKIP() << "a driver of a GPU does not outlive a fork";
  const int before = num_threads();
  set_num_threads(2);
  Tensor a = value(normal({300, 300})), x = value(normal({8, 16, 20, 20})), k = value(normal({32, 16, 3, 3}));
  const auto answer = [&] { return sum(matmul(a, a)).item() + sum(conv2d(x, k)).item() + sum(exp(x)).item(); };
  const double expected = answer();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(answer() == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  set_num_threads(before);
}

TEST(Threads, PlansAreMadeForTheirNumber) {
  if (default_device().traits().queues) GTEST_SKIP() << "this device's plans do not know threads";
  const int before = num_threads();
  Variable w(value(normal({256, 256})));
  auto f = jit([&](Tensor x) { return matmul(x, w); });
  Tensor x = value(normal({256, 256}));
  set_num_threads(1);
  const double one = sum(f(x)).item();
  const std::string alone = f.print_plan();
  set_num_threads(3);
  const double three = sum(f(x)).item();
  EXPECT_NE(f.print_plan().find(", 3 threads"), std::string::npos) << f.print_plan();
  EXPECT_EQ(alone.find(" threads"), std::string::npos) << alone;
  EXPECT_NEAR(one, three, 1e-2);
  EXPECT_EQ(f.executables(), 2);
  set_num_threads(before);
}

TEST(Threads, EachMayHaveADeviceOfItsOwn) {
  Device& before = default_device();
  const HostArray values = uniform({5, 3}).to_array();
  const auto weighted = [](const Tensor& x) { return sum(exp(x) * x, {1}); };
  const std::vector<float> expected = weighted(from_array(values)).to_host<float>();
  auto f = jit(weighted);
  std::vector<std::vector<float>> lazily(3), compiled(3);
  std::vector<std::string> names(3);
  on_threads(3, [&](int thread) {
    Device& mine = thread == 0 ? before : test::QueuedDevice::create();
    const DeviceScope scope(mine);
    const auto t = static_cast<std::size_t>(thread);
    const Tensor x = from_array(values), y = weighted(x);
    lazily[t] = y.to_host<float>();
    for (int i = 0; i < 3; ++i) compiled[t] = f(x).to_host<float>();
    names[t] = y.device();
    EXPECT_EQ(&default_device(), &mine);
  });
  EXPECT_EQ(&default_device(), &before);
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(names[t], t == 0 ? before.name() : "queued");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(lazily[t][i], expected[i], 1e-5);
      EXPECT_NEAR(compiled[t][i], expected[i], 1e-5);
    }
  }
}

}  // namespace
}  // namespace tegula
