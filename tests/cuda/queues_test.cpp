// The queues of a device and events between them. On a GPU, or on the driver of the tests, which does everything as late as it may.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

using runtime::Event;
using runtime::Queue;
using runtime::Use;

constexpr std::size_t kCount = 400'000;  // more than is copied in one piece

class CudaQueues : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
    gpu->trim_memory();
    for (Ref<Buffer>* buffer : {&a, &b, &c}) *buffer = gpu->allocate(kCount * sizeof(int));
  }
  void TearDown() override {
    if (gpu) gpu->synchronize();
  }
  static std::vector<int> counting(int first) {
    std::vector<int> values(kCount);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  void put(Queue& queue, const Ref<Buffer>& to, int first) { queue.copy_in(to->data(), counting(first).data(), to->bytes()); }
  static void copy(Queue& queue, const Ref<Buffer>& to, const Ref<Buffer>& from) { queue.copy(to->data(), from->data(), to->bytes()); }
  static std::vector<int> get(Queue& queue, const Ref<Buffer>& from) {
    std::vector<int> values(kCount);
    queue.copy_out(values.data(), from->data(), from->bytes());
    return values;
  }
  Queue& queue(Use use) const { return gpu->queue(use); }
  Device* gpu = nullptr;
  Ref<Buffer> a, b, c;
};

TEST_F(CudaQueues, EachKnowsItsDeviceAndUse) {
  for (const Use use : {Use::Compute, Use::Copy, Use::Exchange}) {
    EXPECT_EQ(&queue(use), &gpu->queue(use));
    EXPECT_EQ(queue(use).use(), use);
    EXPECT_EQ(&queue(use).device(), gpu);
  }
  EXPECT_EQ(&gpu->queue(), &queue(Use::Compute));
}

TEST_F(CudaQueues, WhatWaitsForAnEventComesBehindIt) {
  const std::vector<Use> uses{Use::Compute, Use::Copy, Use::Exchange};
  for (int turn = 0; turn < 12; ++turn) {
    Queue &first = queue(uses[static_cast<std::size_t>(turn % 3)]),
          &second = queue(uses[static_cast<std::size_t>((turn + 1 + turn / 6) % 3)]);
    second.wait(first.mark());
    put(first, a, turn);
    copy(first, b, a);
    const Event there = first.mark();
    put(first, a, -1);  // behind the event
    second.wait(there);
    copy(second, c, b);
    ASSERT_EQ(get(second, c), counting(turn)) << turn;
    first.wait(second.mark());
  }
}

// Another event takes the first one's position in the queue while a wait for it is pending.
TEST_F(CudaQueues, AnEventThatIsGoneIsStillWaitedFor) {
  Queue &copies = queue(Use::Copy), &compute = queue(Use::Compute);
  put(copies, a, 7);
  compute.wait(copies.mark());
  copy(compute, b, a);
  for (int i = 0; i < 4; ++i) copies.wait(compute.mark()), compute.wait(copies.mark());
  put(copies, a, 8);
  EXPECT_EQ(get(compute, b), counting(7));
}

TEST_F(CudaQueues, TheHostSeesAndWaits) {
  EXPECT_TRUE(Event().reached());
  Event().wait();
  put(queue(Use::Exchange), a, 3);
  const Event there = queue(Use::Exchange).mark();
  there.wait();
  EXPECT_TRUE(there.reached());
  EXPECT_EQ(get(queue(Use::Exchange), a), counting(3));
}

TEST_F(CudaQueues, TheDeviceWaitsForAllOfThem) {
  put(queue(Use::Copy), a, 1);
  put(queue(Use::Exchange), b, 2);
  put(queue(Use::Compute), c, 3);
  const std::vector<Event> there{queue(Use::Copy).mark(), queue(Use::Exchange).mark(), queue(Use::Compute).mark()};
  gpu->synchronize();
  for (const Event& event : there) EXPECT_TRUE(event.reached());
}

TEST_F(CudaQueues, CallsGoWhereTheyArePut) {
  const auto bytes = kCount * sizeof(int);
  const auto call =
      gpu->make(runtime::HostTurn{.input_bytes = bytes, .output_bytes = bytes, .text = "one more", .queued = [](const Line&) {
                                    return [](const void* input, void* output) {
                                      const auto* const from = static_cast<const int*>(input);
                                      std::transform(from, from + kCount, static_cast<int*>(output), [](int value) { return value + 1; });
                                    };
                                  }});
  const std::array<void*, 2> buffers{a->data(), b->data()};
  for (const Use use : {Use::Exchange, Use::Copy, Use::Compute}) {
    put(queue(use), a, 10);
    queue(use).run(*call, buffers, {});
    put(queue(use), a, 0);
    EXPECT_EQ(get(queue(use), b), counting(11));
  }
}

TEST_F(CudaQueues, ARecordingTakesWhatGoesIntoAnyOfThem) {
  put(queue(Use::Compute), a, 5);
  gpu->synchronize();
  for (const Use use : {Use::Compute, Use::Copy}) {
    const auto recording = queue(use).record([&] {
      queue(Use::Exchange).wait(queue(Use::Compute).mark());
      copy(queue(Use::Exchange), b, a);
      queue(Use::Compute).wait(queue(Use::Exchange).mark());
      copy(queue(Use::Compute), c, b);
    });
    ASSERT_TRUE(recording);
    put(queue(use), b, 0), put(queue(use), c, 0);
    recording->replay();
    EXPECT_EQ(get(queue(use), c), counting(5));
    gpu->synchronize();
  }
}

TEST_F(CudaQueues, TheDeviceWaitsForReplaysInAnyOfThem) {
  put(queue(Use::Copy), a, 7), put(queue(Use::Copy), b, 0);
  const auto recording = queue(Use::Copy).record([&] { copy(queue(Use::Copy), b, a); });
  ASSERT_TRUE(recording);
  gpu->synchronize();
  recording->replay();
  const Event over = queue(Use::Copy).mark();
  gpu->synchronize();
  EXPECT_TRUE(over.reached());
  EXPECT_EQ(get(queue(Use::Compute), b), counting(7));
}

// A call that waits for the device itself, as one does that is made when it is first run.
TEST_F(CudaQueues, TheDeviceWaitsForWhatIsPutInBehindAWait) {
  struct Waits final : runtime::Call {
    Waits(Device& gpu, std::function<void()> work) : gpu(gpu), work(std::move(work)) {}
    void run(std::span<void* const>, const runtime::RunOptions&) const override {
      gpu.synchronize();
      work();
    }
    std::string describe() const override { return "a wait"; }
    Device& gpu;
    std::function<void()> work;
  };
  put(queue(Use::Exchange), a, 9);
  const auto turn = gpu->make(runtime::HostTurn{.input_bytes = 4, .output_bytes = 4, .text = "the first", .queued = [](const Line&) {
                                                  return [](const void* from, void* to) { std::memcpy(to, from, 4); };
                                                }});
  const std::array<void*, 2> buffers{a->data(), b->data()};
  queue(Use::Exchange).run(Waits(*gpu, [&] { turn->run(buffers, {}); }), {}, {});
  const Event over = queue(Use::Exchange).mark();
  gpu->synchronize();
  EXPECT_TRUE(over.reached());
  EXPECT_EQ(get(queue(Use::Compute), b)[0], 9);
}

// Its memory may have been another's for which the queue for computing has work left.
TEST_F(CudaQueues, WhatARecordingHoldsIsWrittenBehindWhatIsComputed) {
  std::vector<int> fives(kCount, 5);
  c = nullptr;
  Ref<Buffer> former = gpu->allocate(kCount * sizeof(int));
  put(queue(Use::Compute), former, 1);
  former = nullptr;
  const auto recording = queue(Use::Copy).record([&] { queue(Use::Copy).copy_in(a->data(), fives.data(), a->bytes()); });
  ASSERT_TRUE(recording);
  recording->replay();
  EXPECT_EQ(get(queue(Use::Copy), a), fives);
  queue(Use::Compute).synchronize();
  recording->replay();
  EXPECT_EQ(get(queue(Use::Copy), a), fives);
}

TEST_F(CudaQueues, ARecordingDoesNotWaitForWhatIsOutsideOfIt) {
  const Event outside = queue(Use::Copy).mark();
  EXPECT_FALSE(queue(Use::Compute).record([&] { queue(Use::Compute).wait(outside); }));
  put(queue(Use::Compute), a, 1);
  EXPECT_EQ(get(queue(Use::Compute), a), counting(1));
}

TEST_F(CudaQueues, OneDeviceWaitsForAnother) {
  if (cuda_count() < 2) GTEST_SKIP() << "one GPU";
  Device& other = cuda(1);
  const Ref<Buffer> there = other.allocate(kCount * sizeof(int));
  put(other.queue(Use::Copy), there, 4);
  const Event came = other.queue(Use::Copy).mark();
  queue(Use::Compute).wait(came);
  queue(Use::Compute).mark().wait();
  EXPECT_TRUE(came.reached());
  cpu().queue().wait(queue(Use::Exchange).mark());
}

}  // namespace
}  // namespace tegula
