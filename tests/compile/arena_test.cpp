// Memory between steps is lent for a run: all plans of a device together hold the memory of the largest, threads do not disturb each other, recordings
// follow the memory, and kept memory is given back when memory runs out.

#include "tegula/compile/run/arena.h"
#include "tegula/core/check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string>
#include <thread>

#include "tegula/compile/jit.h"
#include "tegula/compile/run/cache.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using compile::arena_memory;

/// A cumulative sum ends a group, so that two values of x's size lie in the arena.
Tensor two_passes(const Tensor& x) { return cumsum(cumsum(x * 2, 0) + 1, 0) * 0.5; }

std::vector<float> expected_of(std::int64_t n) {
  std::vector<float> out;
  double inner = 0, outer = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    inner += 2.0 * static_cast<double>(i % 7);
    outer += inner + 1;
    out.push_back(static_cast<float>(outer * 0.5));
  }
  return out;
}

Tensor sevens(std::int64_t n) {
  HostArray array = HostArray::empty(f32, {n});
  for (std::int64_t i = 0; i < n; ++i) array.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7);
  return from_array(array);
}

void expect_right(const Tensor& y, std::int64_t n) {
  const std::vector<float> got = y.to_host(), expected = expected_of(n);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i])) << i;
}

TEST(Arena, SignaturesHoldTogetherWhatTheLargestNeeds) {
  compile::forget_executables();
  auto f = jit(two_passes);
  expect_right(f(sevens(5000)), 5000);
  const std::size_t one = arena_memory();
  EXPECT_GE(one, 2 * 5000 * sizeof(float));
  for (std::int64_t n = 4999; n > 4980; --n) expect_right(f(sevens(n)), n);
  EXPECT_EQ(f.executables(), 20);
  EXPECT_EQ(arena_memory(), one);
}

TEST(Arena, GoesWithTheLastPlanThatNeedsSoMuch) {
  compile::forget_executables();
  const std::size_t before = arena_memory();
  {
    auto f = jit(two_passes);
    expect_right(f(sevens(1 << 20)), 1 << 20);
    EXPECT_GE(arena_memory(), before + (std::size_t{8} << 20));
  }
  EXPECT_LE(arena_memory(), before);
}

TEST(Arena, ThreadsRunTheirFunctionsSideBySide) {
  const auto work = [](std::int64_t n) {
    auto f = jit(two_passes);
    const Tensor x = sevens(n), y = sevens(n + 10);
    for (int i = 0; i < 500; ++i) {
      expect_right(f(x), n);
      expect_right(f(y), n + 10);
    }
  };
  std::thread other(work, 300), third(work, 2000);
  work(100);
  other.join(), third.join();
}

TEST(Arena, WhatOneRunHasNoOtherGets) {
  compile::ArenaUse large(runtime::cpu(), 1 << 20, "large"), small(runtime::cpu(), 1 << 10, "small");
  const compile::ArenaUse::Lease first = large.lease(), second = small.lease();
  EXPECT_TRUE(second.data() + (1 << 10) <= first.data() || first.data() + (1 << 20) <= second.data());
}

TEST(Arena, LoopsWithinPlansHaveTheirOwn) {
  auto f = jit([](Tensor x) {
    const Tensor y = two_passes(x);
    const auto body = [](const std::vector<Tensor>& carry, const std::vector<Tensor>&) {
      return Scanned{{cumsum(cumsum(carry[0], 0) * 0.001, 0)}, {}};
    };
    const Tensor carried = scan(body, {y}, {}, {.length = 3}).carry[0];
    return two_passes(x) + 0.0 * carried;
  });
  for (const std::int64_t n : {500, 100, 900, 500}) expect_right(f(sevens(n)), n);
}

TEST(Arena, RecordingsFollowItWhenItMoves) {
  if (checking(Check::Memory)) GTEST_SKIP() << "with TEGULA_CHECK=memory nothing is recorded";
  auto& device = test::QueuedDevice::create();
  const test::OnDevice here(device);
  auto small = jit(two_passes), large = jit(two_passes);
  const Tensor few = sevens(100), many = sevens(3000);
  for (int i = 0; i < 4; ++i) expect_right(small(few), 100);
  EXPECT_GT(device.counters.replays, 0);
  for (int i = 0; i < 4; ++i) expect_right(large(many), 3000);  // the arena grows
  const int recordings = device.counters.recordings, replays = device.counters.replays;
  for (int i = 0; i < 6; ++i) {
    expect_right(small(few), 100);
    expect_right(large(many), 3000);
  }
  EXPECT_EQ(device.counters.recordings, recordings + 1);  // the small one's, once
  EXPECT_GE(device.counters.replays, replays + 10);
}

TEST(Arena, ThreadsQueueWholeRuns) {
  auto& device = test::QueuedDevice::create();
  const test::OnDevice here(device);
  compile::ArenaUse few(device, 100, "few"), many(device, 5000, "many");
  std::atomic<bool> lent = false;
  std::thread other;
  {
    const auto lease = few.lease();
    other = std::thread([&] {
      const auto second = many.lease();
      lent = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(lent);
  }
  other.join();
  EXPECT_TRUE(lent);
}

TEST(Arena, ThreadsShareOneQueue) {
  auto& device = test::QueuedDevice::create();
  const test::OnDevice here(device);
  const auto work = [](std::int64_t n) {
    auto f = jit(two_passes);
    const Tensor x = sevens(n), y = sevens(n + 10);
    for (int i = 0; i < 100; ++i) {
      expect_right(f(x), n);
      expect_right(f(y), n + 10);
    }
  };
  std::thread other(work, 300);
  work(100);
  other.join();
}

/// Has so much memory and no more.
class SmallDevice final : public test::QueuedDevice {
 public:
  static SmallDevice& create() { return *new SmallDevice; }
  Ref<Buffer> allocate(std::size_t bytes, const runtime::Purpose& purpose = {}) override {
    const std::scoped_lock lock(mutex_);
    std::erase_if(given_, [](const Ref<Buffer>& buffer) { return buffer->use_count() == 1; });
    std::size_t used = bytes;
    for (const auto& buffer : given_) used += buffer->bytes();
    if (used > limit)
      throw runtime::OutOfMemory({.op = "allocate", .got = "no memory for " + std::string(purpose.what), .where = purpose.where});
    given_.push_back(QueuedDevice::allocate(bytes, purpose));
    return given_.back();
  }
  std::size_t limit = std::size_t{1} << 30;

 private:
  std::mutex mutex_;
  std::vector<Ref<Buffer>> given_;
};

TEST(Arena, WhatIsOnlyKeptIsGivenUpWhenMemoryRunsOut) {
  auto& device = SmallDevice::create();
  const test::OnDevice here(device);
  auto f = jit([](Tensor x) { return x * 2.0 + 1.0; }, {.signatures = 100});
  const auto call = [&](std::int64_t n) { return f(sevens(n)).to_host(); };
  device.limit = 3 << 20;
  // Argument and result of each: 0.8 MB. All fifty would be 40 MB.
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 100'000; n < 100'050; ++n) {
      const std::vector<float> y = call(n);
      ASSERT_EQ(y[13], 13.0F);
      ASSERT_EQ(y.back(), static_cast<float>((n - 1) % 7 * 2 + 1));
    }
  }
  EXPECT_EQ(f.executables(), 50);
  // A held value is not given up.
  const Tensor held = f(sevens(200'000));
  for (std::int64_t n = 100'000; n < 100'010; ++n) call(n);
  EXPECT_EQ(held.to_host()[5], 11.0F);
  EXPECT_EQ(held.to_host().size(), 200'000u);
}

TEST(Arena, ThatFindsNoMemoryIsAnErrorThatNamesOpAndLine) {
  auto& device = SmallDevice::create();
  const test::OnDevice here(device);
  device.limit = 3 << 20;
  auto f = jit(two_passes);
  const Tensor few = sevens(1000);
  expect_right(f(few), 1000);
  try {
    f(sevens(600'000));
    FAIL() << "2.4 MB for each of four values";
  } catch (const runtime::OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("arena_test.cpp"), std::string::npos) << error.what();
  }
  for (int i = 0; i < 4; ++i) expect_right(f(few), 1000);
}

}  // namespace
}  // namespace tegula
