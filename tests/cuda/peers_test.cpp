// Two GPUs in one process: copies between them, in order with the work of each. On GPUs, or on the driver of the tests, which does everything as late as it may.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tegula/compile/run/placement.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

class CudaPeers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) < 2) GTEST_SKIP() << (why.empty() ? "one GPU" : why);
    gpus = {&device("cuda:0"), &device("cuda:1")};
    for (Device* gpu : gpus) gpu->trim_memory();  // the driver of the tests has little for both
  }
  static std::vector<int> counting(std::size_t count, int first) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  static std::vector<int> get(Device& of, const Ref<Buffer>& buffer) {
    std::vector<int> values(buffer->bytes() / sizeof(int));
    of.copy_out(values.data(), buffer->data(), buffer->bytes());
    return values;
  }
  static bool fetch(Device& to, const Ref<Buffer>& memory, Device& from, const Ref<Buffer>& source) {
    return to.copy_from(memory->data(), from, source->data(), source->bytes());
  }
  /// The number of copies between peers by the driver of the tests; nothing on a GPU.
  static std::optional<std::size_t> peer_copies() {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const auto function = reinterpret_cast<std::size_t (*)()>(driver ? dlsym(driver, "fake_peer_copies") : nullptr);
    return function ? std::optional(function()) : std::nullopt;
  }
  std::array<Device*, 2> gpus{};
};

TEST_F(CudaPeers, ACopyComesBehindWhatBothHaveQueuedAndAheadOfWhatTheyQueueThen) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{600'000}}) {
    for (int i = 0; i < 6; ++i) {
      Device &from = *gpus[static_cast<std::size_t>(i % 2)], &to = *gpus[static_cast<std::size_t>(1 - i % 2)];
      const std::vector<int> values = counting(count, 100 * i), later = counting(count, -7), earlier = counting(count, 1 << 20);
      Ref<Buffer> source = from.allocate(count * sizeof(int));
      const Ref<Buffer> memory = to.allocate(source->bytes());
      to.copy_in(memory->data(), earlier.data(), memory->bytes());
      from.copy_in(source->data(), values.data(), source->bytes());
      ASSERT_TRUE(fetch(to, memory, from, source));
      if (i < 4) {  // the memory has another use at once
        source = nullptr;
        source = from.allocate(count * sizeof(int));
      }
      from.copy_in(source->data(), later.data(), source->bytes());
      if (i >= 2) from.synchronize();
      EXPECT_EQ(get(to, memory), values) << count << " " << i;
      EXPECT_EQ(get(from, source), later) << count << " " << i;
    }
  }
}

TEST_F(CudaPeers, NothingIsCopiedWhileOneOfThemRecords) {
  const Ref<Buffer> a = gpus[0]->allocate(64), b = gpus[1]->allocate(64);
  for (Device* const recording : gpus) {
    bool copied = true;
    const auto recorded = recording->queue().record([&] { copied = fetch(*gpus[1], b, *gpus[0], a); });
    EXPECT_FALSE(copied);
  }
}

TEST_F(CudaPeers, TwoThreadsCopyInOppositeDirections) {
  const std::vector<int> values = counting(500, 3);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Ref<Buffer> source = gpus[t]->allocate(values.size() * sizeof(int)), memory = gpus[1 - t]->allocate(source->bytes());
        gpus[t]->copy_in(source->data(), values.data(), source->bytes());
        ASSERT_TRUE(fetch(*gpus[1 - t], memory, *gpus[t], source));
        ASSERT_EQ(get(*gpus[1 - t], memory), values);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(CudaPeers, AValueFollowsTheWorkWithoutTheHost) {
  HostArray array = HostArray::empty(f32, {3, 50});
  std::iota(array.values<float>().begin(), array.values<float>().end(), 1.0f);
  const Tensor x = from_array(array);
  const auto values = x.to_host();
  const auto before = peer_copies();
  EXPECT_TRUE(compile::move_to(*x.node(), *gpus[0]));
  EXPECT_EQ(x.device(), "cuda:0");
  if (before) { EXPECT_EQ(peer_copies(), before) << "from the host it is no peer copy"; }
  EXPECT_TRUE(compile::move_to(*x.node(), *gpus[1]));
  EXPECT_EQ(x.device(), "cuda:1");
  if (before) { EXPECT_EQ(peer_copies(), *before + 1); }
  EXPECT_FALSE(compile::move_to(*x.node(), *gpus[1]));
  EXPECT_EQ(x.to_host(), values);
}

// A value that is not row-major is put in order by the host.
TEST_F(CudaPeers, AValueOfADeviceThatIsNoGpuGoesByWayOfTheHost) {
  Tensor x = tensor({1.f, 2.f, 3.f});
  {
    const test::OnDevice here(test::QueuedDevice::create());
    x = x * 2.f;
    eval(x);
  }
  ASSERT_FALSE(runtime::has_device(x.node()->buffer()->device()));
  ASSERT_TRUE(compile::move_to(*x.node(), *gpus[1]));
  EXPECT_EQ(x.node()->buffer()->device(), gpus[1]->number());
  EXPECT_EQ(x.to_host(), (std::vector<float>{2, 4, 6}));
}

TEST_F(CudaPeers, AViewGoesByWayOfTheHost) {
  HostArray array = HostArray::empty(f32, {2, 3});
  std::iota(array.values<float>().begin(), array.values<float>().end(), 1.0f);
  const Tensor x = from_array(array);
  compile::move_to(*x.node(), *gpus[0]);
  const Ref<Node> turned = make<Node>(leaf_op(), std::span<const Ref<Node>>(), Shape{3, 2}, f32, x.node()->origin());
  turned->set_value(x.node()->buffer(), Layout{.shape = {3, 2}, .strides = {1, 3}, .offset = 0});
  const auto before = peer_copies();
  EXPECT_TRUE(compile::move_to(*turned, *gpus[1]));
  if (before) { EXPECT_EQ(peer_copies(), before); }
  EXPECT_EQ(Tensor(turned).to_host(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace tegula
