// What docs/design.md, "Threads", promises: one function, one tensor, one Variable used by several threads at once.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "tegula/tegula.h"

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

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) { return error.what(); }
  return "";
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

}  // namespace
}  // namespace tegula
