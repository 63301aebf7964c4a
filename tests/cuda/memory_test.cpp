// Memory, copies and recordings of copies: on a GPU, or on the driver of the tests.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

class CudaMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
  }
  Ref<Buffer> put(const std::vector<int>& values) {
    Ref<Buffer> buffer = gpu->allocate(values.size() * sizeof(int));
    gpu->copy_in(buffer->data(), values.data(), buffer->bytes());
    return buffer;
  }
  static std::vector<int> get(const Buffer& buffer) {
    std::vector<int> values(buffer.bytes() / sizeof(int));
    buffer.read(0, values.data(), buffer.bytes());
    return values;
  }
  static std::vector<int> counting(std::size_t count, int first = 0) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  Device* gpu = nullptr;
};

TEST_F(CudaMemory, CopiesOfAllSizesArrive) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kMebi / 4 + 3, 5 * kMebi / 4 + 1}) {
    const std::vector<int> values = counting(count);
    const Ref<Buffer> buffer = put(values);
    EXPECT_EQ(buffer->device(), gpu->number());
    EXPECT_EQ(get(*buffer), values) << count;
    std::vector<int> back(count);
    gpu->copy_out(back.data(), buffer->data(), buffer->bytes());
    EXPECT_EQ(back, values) << count;
    const Ref<Buffer> second = gpu->allocate(buffer->bytes());
    gpu->copy(second->data(), buffer->data(), buffer->bytes());
    int last = 0;
    second->read((count - 1) * sizeof(int), &last, sizeof last);
    EXPECT_EQ(last, values.back());
  }
}

TEST_F(CudaMemory, HostMemoryMayChangeAfterCopyIn) {
  std::vector<Ref<Buffer>> buffers;
  std::vector<int> values(300'000);
  for (int i = 0; i < 20; ++i) {
    std::ranges::fill(values, i);
    buffers.push_back(put(values));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(*buffers[static_cast<std::size_t>(i)]), std::vector<int>(300'000, i));
}

TEST_F(CudaMemory, SteadyStateAsksNever) {
  const auto step = [&] {
    std::vector<Ref<Buffer>> buffers;
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4000}, kMebi, 2 * kMebi, 3 * kMebi, 11 * kMebi})
      buffers.push_back(gpu->allocate(bytes));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffers[i]->data()) % 512, 0u);
      for (std::size_t j = 0; j < i; ++j) ASSERT_NE(buffers[i]->data(), buffers[j]->data());
    }
  };
  const PoolCounters empty = gpu->memory();
  step();
  const PoolCounters before = gpu->memory();
  EXPECT_EQ(before.bytes_in_use, empty.bytes_in_use);
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(gpu->memory().system_allocations, before.system_allocations);
  EXPECT_EQ(gpu->memory().bytes_cached, before.bytes_cached);
}

TEST_F(CudaMemory, BlocksThatAreFreeTogetherBecomeOne) {
  gpu->trim_memory();
  std::vector<Ref<Buffer>> parts;
  for (int i = 0; i < 10; ++i) parts.push_back(gpu->allocate(2 * kMebi));  // one segment of 20 MiB
  const std::uint64_t asked = gpu->memory().system_allocations;
  std::swap(parts[3], parts[7]);
  parts.clear();
  const Ref<Buffer> whole = gpu->allocate(20 * kMebi);
  EXPECT_EQ(gpu->memory().system_allocations, asked);
}

TEST_F(CudaMemory, TrimGivesBack) {
  gpu->trim_memory();
  const std::size_t others = gpu->memory().bytes_cached;  // segments with buffers of other tests
  { const Ref<Buffer> buffer = gpu->allocate(30 * kMebi); }
  EXPECT_GE(gpu->memory().bytes_cached, 30 * kMebi);
  const Ref<Buffer> kept = put({1, 2, 3});
  gpu->trim_memory();
  EXPECT_LE(gpu->memory().bytes_cached, others + 22 * kMebi);  // blocks that share a segment with a buffer in use
  EXPECT_EQ(get(*kept), (std::vector{1, 2, 3}));
}

TEST_F(CudaMemory, OutOfMemoryNamesTheLargestAndLeavesEverythingUsable) {
  gpu->trim_memory();
  const Ref<Buffer> large = gpu->allocate(24 * kMebi);
  try {
    gpu->allocate(std::size_t{1} << 45);
    FAIL() << "32 TiB were given";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("allocate: got no memory on cuda:0 for 32.0 TiB")) << error.what();
    EXPECT_NE(std::string(error.what()).find("the largest tensors:\n    24.0 MiB"), std::string::npos) << error.what();
  }
  EXPECT_THROW(gpu->allocate(std::size_t{1} << 60), Error);
  EXPECT_EQ(get(*put({4, 5})), (std::vector{4, 5}));
}

TEST_F(CudaMemory, CacheIsGivenUpBeforeMemoryRunsOut) {
  if (!std::getenv("TEGULA_FAKE_DRIVER")) GTEST_SKIP() << "a real GPU would have to be filled";  // the driver of the tests has 64 MiB
  gpu->trim_memory();
  { const Ref<Buffer> a = gpu->allocate(40 * kMebi); }
  const std::uint64_t asked = gpu->memory().system_allocations;
  const Ref<Buffer> b = gpu->allocate(60 * kMebi);  // does not fit beside the cached 40
  EXPECT_EQ(gpu->memory().system_allocations, asked + 1);
}

/// The rest needs a GPU whose memory is soon full: the driver of the tests has 64 MiB and launches nothing.
class CudaMemoryFull : public CudaMemory {
 protected:
  void SetUp() override {
    CudaMemory::SetUp();
    if (const char* driver = std::getenv("TEGULA_FAKE_DRIVER"); !gpu || !driver || std::string(driver) != "sm_90") {
      GTEST_SKIP() << "not the driver with little memory";
    }
    gpu->trim_memory();
    set_default_device(*gpu);
  }
  void TearDown() override { set_default_device(cpu()); }
  static Tensor on_host(std::size_t mebi) { return from_array(HostArray::empty(f32, {static_cast<std::int64_t>(mebi * kMebi / 4)})); }
};

TEST_F(CudaMemoryFull, ErrorNamesTheOpAndTheLargestTensorsWithTheirLines) {
  const Tensor a = on_host(25), b = on_host(25);
  const int line = __LINE__ + 1;
  const Tensor c = tanh(a) * b;
  try {
    eval(c);
    FAIL() << "75 MiB in 64";
  } catch (const runtime::OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("no memory on cuda:0 for 25.0 MiB (multiply): "), std::string::npos) << text;
    EXPECT_NE(text.find("memory_test.cpp:" + std::to_string(line)), std::string::npos) << text;
    EXPECT_NE(text.find("\n    25.0 MiB  tensor  "), std::string::npos) << text;
    EXPECT_NE(text.find("of 64.0 MiB"), std::string::npos) << text;
  }
}

TEST_F(CudaMemoryFull, ErrorNamesWhatAPlanHoldsBetweenItsSteps) {
  const Tensor x = reshape(on_host(16), {1024, 4096});
  auto work = jit([](Tensor x) {
    const Sorted sorted = sort(cumsum(x, 0), 1);
    return cumsum(sorted.values * cast(cumsum(sorted.indices, 0), f32), 0);
  });
  const int line = __LINE__ - 3;
  try {
    work(x);
    FAIL() << "more than 64 MiB in 64";
  } catch (const runtime::OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("(values between "), std::string::npos) << text;
    EXPECT_NE(text.find("memory_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  }
}

TEST_F(CudaMemoryFull, ExecutablesKeptForLaterAreGivenUpFirst) {
  {
    const Tensor x = reshape(on_host(10), {1024, 2560});
    EXPECT_THROW(eval(cumsum(cumsum(x, 0), 1)), Error);  // nothing can be launched, but the compiled plan is kept, with its arena
  }
  EXPECT_GE(gpu->memory().bytes_in_use, 10 * kMebi);
  const Tensor large = on_host(58);
  EXPECT_THROW(eval(large + 1.0), runtime::OutOfMemory);  // the operand fits now, the result does not
  EXPECT_EQ(large.device(), "cuda:0");
}

TEST_F(CudaMemory, SharedMemoryIsSeenByBoth) {
  const Ref<Buffer> shared = gpu->allocate_shared(4 * sizeof(int));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(shared->data()) % 64, 0u);
  const std::vector<int> values{7, 8, 9, 10};
  std::memcpy(shared->data(), values.data(), shared->bytes());
  const Ref<Buffer> device = gpu->allocate(shared->bytes());
  gpu->copy(device->data(), shared->data(), shared->bytes());
  EXPECT_EQ(get(*device), values);
  gpu->copy_in(shared->data(), std::vector<int>{1, 2, 3, 4}.data(), shared->bytes());
  gpu->synchronize();
  EXPECT_EQ(static_cast<const int*>(shared->data())[3], 4);
  EXPECT_EQ(get(*shared), (std::vector{1, 2, 3, 4}));
}

TEST_F(CudaMemory, RecordingRepeatsAtTheSameAddresses) {
  const Ref<Buffer> from = put({1, 2, 3});
  const Ref<Buffer> to = put({0, 0, 0});
  const Ref<Buffer> constant = put({0, 0});
  const auto recording = gpu->queue().record([&] {
    const Ref<Buffer> between = gpu->allocate(from->bytes());  // belongs to the recording, though released here
    gpu->copy(between->data(), from->data(), from->bytes());
    gpu->copy(to->data(), between->data(), from->bytes());
    std::vector<int> host{5, 6};
    gpu->copy_in(constant->data(), host.data(), constant->bytes());
    host = {-1, -1};
  });
  ASSERT_TRUE(recording);
  EXPECT_EQ(get(*to), (std::vector{0, 0, 0}));  // recorded, not run
  EXPECT_EQ(get(*constant), (std::vector{0, 0}));
  const Ref<Buffer> other = put({9, 9, 9});  // does not get the memory of `between`
  recording->replay();
  EXPECT_EQ(get(*to), (std::vector{1, 2, 3}));
  EXPECT_EQ(get(*constant), (std::vector{5, 6}));
  gpu->copy_in(from->data(), std::vector<int>{4, 5, 6}.data(), from->bytes());
  recording->replay();
  EXPECT_EQ(get(*to), (std::vector{4, 5, 6}));
  EXPECT_EQ(get(*other), (std::vector{9, 9, 9}));
}

TEST_F(CudaMemory, RecordedStepsWaitForTheOnesTheyName) {
  const std::size_t count = 1 << 20;
  const Ref<Buffer> from = put(counting(count, 1)), left = put(counting(count)), right = put(counting(count)), both = put(counting(2));
  const auto copy = [&](const Ref<Buffer>& to, std::size_t at, const Ref<Buffer>& source, std::size_t elements) {
    return [=, this] {
      gpu->copy(static_cast<int*>(to->data()) + at, static_cast<int*>(source->data()) + count - elements, elements * sizeof(int));
    };
  };
  const std::vector<runtime::RecordedStep> steps{{copy(left, 0, from, count), {}},
                                                 {copy(right, 0, from, count), {}},
                                                 {[] {}, {0, 1}},  // nothing: passes its waits on
                                                 {copy(both, 0, left, 1), {2}},
                                                 {copy(both, 1, right, 1), {1}}};
  const auto recording = gpu->queue().record(std::span(steps));
  ASSERT_TRUE(recording);
  const std::vector<int> last(2, static_cast<int>(count));
  for (int i = 0; i < 3; ++i) {
    gpu->copy_in(both->data(), std::vector<int>{0, 0}.data(), both->bytes());
    recording->replay();
    EXPECT_EQ(get(*both), last);
  }
  const std::vector<runtime::RecordedStep> waiting{{copy(left, 0, from, count), {}}, {[&] { gpu->synchronize(); }, {0}}};
  EXPECT_FALSE(gpu->queue().record(std::span(waiting)));
  EXPECT_EQ(get(*both), last);
}

TEST_F(CudaMemory, WhatWaitsCannotBeRecorded) {
  const Ref<Buffer> from = put({1});
  const Ref<Buffer> to = put({0});
  const auto waits = [&] {
    gpu->copy(to->data(), from->data(), sizeof(int));
    gpu->synchronize();
  };
  EXPECT_FALSE(gpu->queue().record(waits));
  EXPECT_FALSE(gpu->queue().record([&] {
    gpu->copy(to->data(), from->data(), sizeof(int));
    get(*from);
  }));
  EXPECT_EQ(get(*to), std::vector{0});  // nothing was queued
  bool inner = true;
  EXPECT_TRUE(gpu->queue().record([&] { inner = static_cast<bool>(gpu->queue().record([] {})); }));
  EXPECT_FALSE(inner);
  waits();
  EXPECT_EQ(get(*to), std::vector{1});
}

TEST_F(CudaMemory, ExceptionsLeaveARecording) {
  const Ref<Buffer> from = put({1});
  const Ref<Buffer> to = put({0});
  EXPECT_THROW(gpu->queue().record([&] {
    gpu->copy(to->data(), from->data(), sizeof(int));
    throw Error({.op = "test"});
  }),
               Error);
  EXPECT_EQ(get(*to), std::vector{0});
  gpu->copy(to->data(), from->data(), sizeof(int));
  EXPECT_EQ(get(*to), std::vector{1});
}

TEST_F(CudaMemory, ThreadsKeepOutOfARecording) {
  const Ref<Buffer> from = put({1});
  const Ref<Buffer> to = put({0});
  const Ref<Buffer> recorded = put({0});
  std::thread other;
  const auto recording = gpu->queue().record([&] {
    other = std::thread([&] { gpu->copy(to->data(), from->data(), sizeof(int)); });
    std::this_thread::yield();
    gpu->copy(recorded->data(), from->data(), sizeof(int));
  });
  other.join();
  EXPECT_EQ(get(*to), std::vector{1});
  EXPECT_EQ(get(*recorded), std::vector{0});
  gpu->copy_in(to->data(), std::vector<int>{0}.data(), sizeof(int));
  recording->replay();
  EXPECT_EQ(get(*to), std::vector{0});
  EXPECT_EQ(get(*recorded), std::vector{1});
}

TEST_F(CudaMemory, BuffersOfStaticObjectsMayGoAfterMain) {
  static Ref<Buffer> device = put({1, 2, 3});
  static Ref<Buffer> shared = gpu->allocate_shared(16);
  static const std::unique_ptr<runtime::Recording> recording = gpu->queue().record([&] { gpu->copy(device->data(), shared->data(), 12); });
  EXPECT_TRUE(recording);
}

}  // namespace
}  // namespace tegula
