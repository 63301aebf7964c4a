// NCCL over a group of one GPU, whose results are known. Over the driver and the NCCL of the tests, too; tests/dist/own_engine_test.cpp has more ranks.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/core/error.h"
#include "tegula/runtime/collective.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace {

using runtime::Collective;
using runtime::CollectiveKind;

constexpr std::size_t kCount = 6, kBytes = kCount * sizeof(float);
const std::vector<float> kValues{1, 2, 3, 4, 5, 6};

class CudaNccl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
    engine = gpu->communicates();
    try {
      EXPECT_EQ(engine->engine().substr(0, 7), "NCCL 2.");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("nccl: got no library libnccl.so.2"), std::string::npos) << error.what();
      GTEST_SKIP() << error.what();
    }
    communicator = engine->join(engine->draw_id(), 0, 1);
    x = gpu->allocate(kBytes), y = gpu->allocate(kBytes);
    put(kValues);
  }
  void put(const std::vector<float>& values) { gpu->copy_in(x->data(), values.data(), kBytes); }
  std::vector<float> got() const {
    std::vector<float> values(kCount);
    y->read(0, values.data(), kBytes);
    return values;
  }
  void run(const runtime::Call& call) const { call.run(std::vector<void*>{x->data(), y->data()}, {}); }

  runtime::Device* gpu = nullptr;
  runtime::Communicates* engine = nullptr;
  std::unique_ptr<runtime::Communicator> communicator;
  Ref<Buffer> x, y;
};

TEST_F(CudaNccl, EveryCollectiveOfOneRankGivesBackWhatItGot) {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
                                    CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::AllToAll}) {
    const std::vector<float> nothing(kCount, -1);
    gpu->copy_in(y->data(), nothing.data(), kBytes);
    const Collective what{.kind = kind, .shape = {2, 3}};
    ASSERT_TRUE(communicator->has(what));
    run(*communicator->call(what));
    EXPECT_EQ(got(), kValues) << static_cast<int>(kind);
  }
  run(*communicator->call({.kind = CollectiveKind::AllReduce, .shape = {2, 3}, .reduction = runtime::Reduction::Mean}));
  EXPECT_EQ(got(), kValues);
  run(*communicator->call({.kind = CollectiveKind::Barrier, .dtype = DType::u8, .shape = {0}}));
  run(*communicator->call({.kind = CollectiveKind::AllReduce, .shape = {0, 3}}));
  gpu->synchronize();
  EXPECT_EQ(communicator->failure(), "");
}

TEST_F(CudaNccl, EveryDtypeButWhatIsTheHosts) {
  for (const DType dtype : kAllDTypes) {
    const Collective sum{
        .dtype = dtype, .shape = {3}, .reduction = dtype == DType::boolean ? runtime::Reduction::Max : runtime::Reduction::Sum};
    const bool known = dtype != DType::i16 && dtype != DType::u16 && !is_float8(dtype);
    EXPECT_EQ(communicator->has(sum), known) << name(dtype);
    EXPECT_EQ(communicator->has({.dtype = dtype, .shape = {3}, .reduction = runtime::Reduction::Max}), !is_float(dtype) && known);
    EXPECT_TRUE(communicator->has({.kind = CollectiveKind::AllGather, .dtype = dtype, .shape = {3}}));
    if (!communicator->has(sum)) continue;
    const std::vector<unsigned char> bytes(kBytes, 1), none(kBytes, 0);
    gpu->copy_in(x->data(), bytes.data(), kBytes);
    gpu->copy_in(y->data(), none.data(), kBytes);
    run(*communicator->call(sum));
    std::vector<unsigned char> out(3 * size_of(dtype));
    y->read(0, out.data(), out.size());
    EXPECT_EQ(out, std::vector<unsigned char>(out.size(), 1)) << name(dtype);
  }
}

TEST_F(CudaNccl, IsPartOfARecordingWhichAsksAheadOfEveryReplay) {
  const auto call = communicator->call({.kind = CollectiveKind::AllReduce, .shape = {6}});
  run(*call);
  EXPECT_EQ(got(), kValues);
  EXPECT_FALSE(engine->ahead_of_replays([] {})) << "nothing is recorded";
  int asked = 0;
  const auto recording = gpu->queue().record([&] {
    EXPECT_TRUE(engine->ahead_of_replays([&] {
      if (++asked == 3) throw Error({.op = "a test", .got = "the third replay"});
    }));
    run(*call);
  });
  ASSERT_TRUE(recording);
  EXPECT_EQ(asked, 0);
  for (const float first : {7.f, 8.f}) {
    put({first, 2, 3, 4, 5, 6});
    recording->replay();
    EXPECT_EQ(got(), (std::vector<float>{first, 2, 3, 4, 5, 6}));
  }
  put(kValues);
  EXPECT_THROW(recording->replay(), Error);
  EXPECT_EQ(got()[0], 8) << "it was not queued";
}

TEST_F(CudaNccl, WhatIsGivenUpDoesNothingAndTheNextWaitSaysWhy) {
  const auto call = communicator->call({.kind = CollectiveKind::AllReduce, .shape = {6}});
  run(*call);
  EXPECT_EQ(got(), kValues);
  EXPECT_EQ(engine->stalled(), 0);
  engine->fail(std::make_exception_ptr(Error({.op = "a test", .got = "a rank that has gone"})));
  communicator->abort();
  run(*call);
  EXPECT_THROW(gpu->synchronize(), Error);
  EXPECT_NO_THROW(gpu->synchronize());
}

TEST_F(CudaNccl, ALookAsksForConfirmation) {
  int asked = 0;
  engine->confirm_by([&] {
    if (++asked == 2) throw Error({.op = "a test", .got = "another rank"});
  });
  EXPECT_NO_THROW(gpu->synchronize());
  EXPECT_THROW(got(), Error);
  engine->confirm_by(nullptr);
  EXPECT_NO_THROW(gpu->synchronize());
  EXPECT_EQ(asked, 2);
}

TEST_F(CudaNccl, TheGpuHasAnIdentity) {
  EXPECT_EQ(engine->identity().substr(0, 4), "GPU-");
  EXPECT_EQ(engine->identity().size(), std::string("GPU-00000000-0000-0000-0000-000000000000").size());
}

}  // namespace
}  // namespace tegula
