// The host's turn in a GPU's queue. Over the driver of the tests, too.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace {

constexpr std::size_t kCount = 5, kBytes = kCount * sizeof(float);

using runtime::HostTurn;
using Work = std::function<void(const float*, float*)>;

class CudaHostTurn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
    x = gpu->allocate(kBytes), y = gpu->allocate(kBytes);
    put({1, 2, 3, 4, 5});
  }
  void put(const std::vector<float>& values) { gpu->copy_in(x->data(), values.data(), kBytes); }
  std::vector<float> got() const {
    std::vector<float> values(kCount);
    y->read(0, values.data(), kBytes);
    return values;
  }
  std::unique_ptr<runtime::Call> turn(Work work) {
    return gpu->make(runtime::HostTurn{.input_bytes = kBytes, .output_bytes = kBytes, .text = "a test", .queued = [work](const Line&) {
                                         return [work](const void* in, void* out) {
                                           work(static_cast<const float*>(in), static_cast<float*>(out));
                                         };
                                       }});
  }
  void run(const runtime::Call& call) const { call.run(std::vector<void*>{x->data(), y->data()}, {}); }

  runtime::Device* gpu = nullptr;
  Ref<Buffer> x, y;
};

void twice(const float* x, float* y) {
  for (std::size_t i = 0; i < kCount; ++i) y[i] = 2 * x[i];
}

TEST_F(CudaHostTurn, ReadsWhatIsThereByThenAndWritesForWhatComes) {
  const auto call = turn(twice);
  run(*call);
  put({0, 0, 0, 0, 0});
  EXPECT_EQ(got(), (std::vector<float>{2, 4, 6, 8, 10}));
  EXPECT_EQ(call->describe(), "a test");
}

TEST_F(CudaHostTurn, IsPartOfARecording) {
  int runs = 0;
  const auto call = turn([&](const float* from, float* to) { twice(from, to), ++runs; });
  const auto recording = gpu->queue().record([&] { run(*call); });
  ASSERT_TRUE(recording);
  EXPECT_EQ(runs, 0);
  recording->replay();
  EXPECT_EQ(got(), (std::vector<float>{2, 4, 6, 8, 10}));
  put({5, 4, 3, 2, 1});
  recording->replay();
  EXPECT_EQ(got(), (std::vector<float>{10, 8, 6, 4, 2}));
  EXPECT_EQ(runs, 2);
}

TEST_F(CudaHostTurn, SeesSeveralInputsAndOutputsOneBehindTheOther) {
  const std::vector<std::size_t> parts{kBytes, kBytes}, results{kBytes, 4, kBytes};
  const std::size_t second = HostTurn::place(parts, 1);
  EXPECT_EQ(second, 64u);
  EXPECT_EQ(HostTurn::place(results, 3), 192u);
  const auto call = gpu->make(HostTurn{.input_bytes = HostTurn::place(parts, 2),
                                       .output_bytes = HostTurn::place(results, 3),
                                       .inputs = parts,
                                       .outputs = results,
                                       .text = "several",
                                       .queued = [second](const Line&) {
                                         return [second](const void* in, void* out) {
                                           const auto* a = static_cast<const float*>(in);
                                           auto* c = static_cast<float*>(out);
                                           for (std::size_t i = 0; i < kCount; ++i)
                                             c[i] = 0, c[2 * second / 4 + i] = a[i] + a[second / 4 + i];
                                         };
                                       }});
  const Ref<Buffer> z = gpu->allocate(kBytes);
  call->run(std::vector<void*>{x->data(), x->data(), z->data(), nullptr, y->data()}, {});  // nobody reads the second result
  EXPECT_EQ(got(), (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST_F(CudaHostTurn, WhatItThrowsTheNextWaitThrowsOnce) {
  const auto call = turn([](const float*, float*) { throw Error({.op = "a turn", .got = "nothing"}); });
  run(*call), run(*call);
  try {
    gpu->synchronize();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) { EXPECT_EQ(error.report().op, "a turn"); }
  EXPECT_NO_THROW(gpu->synchronize());
}

}  // namespace
}  // namespace tegula
