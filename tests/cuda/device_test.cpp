// Kernels on a GPU: compiled, launched, recorded, failing. Skipped without one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

using runtime::Argument;
using runtime::ArgumentSet;

constexpr std::int64_t kTile = 1024;

std::int64_t tiles_of(std::int64_t count) { return (count + kTile - 1) / kTile; }

/// y = a * x + y over `count` elements, a number of any kind in each kind of parameter.
tile::Program saxpy() {
  tile::Builder b("saxpy");
  const tile::Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), a = b.scalar("a", f32), count = b.scalar("count", i64);
  const tile::Value i = b.program_id(0) * kTile + b.arange(0, kTile);
  const tile::Value inside = i < count;
  b.store(y + i, fma(broadcast(a, {kTile}), b.load(x + i, inside), b.load(y + i, inside)), inside);
  return b.finish();
}

/// out[row] = sum of a row of 3 * kTile / 4 elements; fails with (3, row) where the sum is negative.
tile::Program checked_row_sum() {
  constexpr std::int64_t columns = 768;
  tile::Builder b("row_sum");
  const tile::Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true);
  const tile::Value r = b.program_id(0);
  const tile::Value sum = reshape(reduce(b.load(x + (r * columns + b.arange(0, columns))), 0, tile::Reduction::Sum), Shape{});
  b.check(sum >= 0.0, r, 3);
  b.store(out + r, sum);
  return b.finish();
}

Argument at(const Ref<Buffer>& buffer, std::size_t element = 0) { return {.pointer = static_cast<float*>(buffer->data()) + element}; }
Argument integer(std::int64_t value) { return {.integer = value}; }
Argument real(double value) { return {.real = value}; }

class CudaKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TEGULA_FAKE_DRIVER")) GTEST_SKIP() << "the driver of the tests runs no kernels";
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
  }
  Ref<Buffer> put(const std::vector<float>& values) {
    Ref<Buffer> buffer = gpu->allocate(values.size() * sizeof(float));
    gpu->copy_in(buffer->data(), values.data(), buffer->bytes());
    return buffer;
  }
  static std::vector<float> get(const Buffer& buffer) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    buffer.read(0, values.data(), buffer.bytes());
    return values;
  }
  static std::vector<float> counting(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0.f);
    return values;
  }
  static std::vector<float> scaled(std::vector<float> values, float a, float b) {
    for (float& value : values) value = a * value + b;
    return values;
  }
  Device* gpu = nullptr;
};

TEST_F(CudaKernel, RunsOnOneSetOfArguments) {
  const auto kernel = gpu->compile(saxpy());
  EXPECT_NE(kernel->listing().find("__global__"), std::string::npos);
  for (const std::int64_t count : {1, 1000, 1024, 1 << 20, 999'999}) {
    const Ref<Buffer> x = put(counting(count)), y = put(std::vector<float>(static_cast<std::size_t>(count), 1));
    const std::array arguments{at(x), at(y), real(2), integer(count)};
    const ArgumentSet set{arguments.data(), {tiles_of(count), 1, 1}};
    kernel->launch({&set, 1}, {});
    EXPECT_EQ(get(*y), scaled(counting(count), 2, 1)) << count;
  }
}

TEST_F(CudaKernel, VariantsFollowTheAlignment) {
  const auto kernel = gpu->compile(saxpy());
  const std::int64_t count = 5000;
  const Ref<Buffer> x = put(counting(count + 3)), y = put(std::vector<float>(static_cast<std::size_t>(count + 3), 1));
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::array arguments{at(x, shift), at(y, shift), real(1), integer(count)};
    const ArgumentSet set{arguments.data(), {tiles_of(count), 1, 1}};
    kernel->launch({&set, 1}, {});
  }
  const std::vector<float> result = get(*y);
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], 1 + 2 * 1);
  EXPECT_EQ(result[10], 1 + 4 * 10);
  EXPECT_EQ(result[5002], 1 + 1 * 5002);
}

TEST_F(CudaKernel, ManySetsShareALaunch) {
  const auto kernel = gpu->compile(saxpy());
  const std::vector<std::int64_t> counts{5000, 0, 1, 1024, 70'000, 0, 3};
  std::vector<Ref<Buffer>> xs, ys;
  std::vector<std::array<Argument, 4>> arguments;
  std::vector<ArgumentSet> sets;
  arguments.reserve(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    xs.push_back(put(counting(counts[i])));
    ys.push_back(put(std::vector<float>(static_cast<std::size_t>(counts[i]), 1)));
    arguments.push_back({at(xs[i]), at(ys[i]), real(static_cast<double>(i)), integer(counts[i])});
    sets.push_back({arguments[i].data(), {tiles_of(counts[i]), 1, 1}});
  }
  kernel->launch(sets, {});
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(get(*ys[i]), scaled(counting(counts[i]), static_cast<float>(i), 1)) << i;
  // Nothing to do at all.
  kernel->launch({sets.data() + 1, 1}, {});
  gpu->synchronize();
}

TEST_F(CudaKernel, PreparesAPlanTogether) {
  const auto a = gpu->compile(saxpy()), b = gpu->compile(checked_row_sum());
  const Ref<Buffer> x = put(counting(768)), y = put(counting(768));
  const std::array first{at(x), at(y), real(1), integer(768)};
  const std::array second{at(y), at(x)};
  const ArgumentSet one{first.data(), {1, 1, 1}}, two{second.data(), {1, 1, 1}};
  const std::array<runtime::PlannedLaunch, 3> launches{{{a.get(), {&one, 1}}, {b.get(), {&two, 1}}, {a.get(), {&one, 1}}}};
  gpu->prepare(launches);
  a->launch({&one, 1}, {});
  const Ref<Buffer> failure = gpu->allocate_shared(sizeof(runtime::Failure));
  *static_cast<runtime::Failure*>(failure->data()) = {};
  b->launch({&two, 1}, {.failure = static_cast<runtime::Failure*>(failure->data())});
  EXPECT_EQ(get(*x)[0], 767 * 768);  // twice the sum of 0 … 767
}

TEST_F(CudaKernel, RecordedLaunchesRepeat) {
  const auto kernel = gpu->compile(saxpy());
  const std::int64_t count = 3000;
  const Ref<Buffer> x = put(counting(count)), y = put(std::vector<float>(static_cast<std::size_t>(count), 0)),
                    z = put(std::vector<float>(static_cast<std::size_t>(count), 0));
  const auto recording = gpu->queue().record([&] {  // also compiles within the recording
    const std::array to_y{at(x), at(y), real(1), integer(count)};
    const std::array to_z{at(x), at(z), real(2), integer(count)};
    const std::array<ArgumentSet, 2> sets{{{to_y.data(), {tiles_of(count), 1, 1}}, {to_z.data(), {tiles_of(count), 1, 1}}}};
    kernel->launch({sets.data(), 1}, {});
    kernel->launch(sets, {});
  });
  ASSERT_TRUE(recording);
  EXPECT_EQ(get(*y), std::vector<float>(static_cast<std::size_t>(count), 0));
  const PoolCounters before = gpu->memory();
  for (int i = 0; i < 5; ++i) recording->replay();
  EXPECT_EQ(gpu->memory().system_allocations, before.system_allocations);
  EXPECT_EQ(get(*y), scaled(counting(count), 10, 0));
  EXPECT_EQ(get(*z), scaled(counting(count), 10, 0));
}

TEST_F(CudaKernel, FailedChecksAreReported) {
  const auto kernel = gpu->compile(checked_row_sum());
  std::vector<float> values(std::size_t{768} * 300, 1);
  const Ref<Buffer> out = gpu->allocate(300 * sizeof(float));
  const Ref<Buffer> shared = gpu->allocate_shared(sizeof(runtime::Failure));
  auto& failure = *static_cast<runtime::Failure*>(shared->data());
  for (const int broken : {-1, 217}) {
    if (broken >= 0) values[static_cast<std::size_t>(broken) * 768 + 5] = -1e6f;
    const Ref<Buffer> x = put(values);
    failure = {};
    const std::array arguments{at(x), at(out)};
    const ArgumentSet set{arguments.data(), {300, 1, 1}};
    kernel->launch({&set, 1}, {.failure = &failure});
    gpu->synchronize();
    EXPECT_EQ(failure.id, broken < 0 ? -1 : 3);
    EXPECT_EQ(failure.value, std::max(broken, 0));
    EXPECT_EQ(get(*out)[3], 768);
  }
}

TEST_F(CudaKernel, GuardedLaunchesDoNothingAfterAFailedCheck) {
  const auto check = gpu->compile(checked_row_sum()), write = gpu->compile(saxpy());
  const Ref<Buffer> out = gpu->allocate(4), failures = gpu->allocate(2 * sizeof(runtime::Failure));
  const Ref<Buffer> shared = gpu->allocate_shared(sizeof(runtime::Failure));
  auto& report = *static_cast<runtime::Failure*>(shared->data());
  auto* const failure = static_cast<runtime::Failure*>(failures->data());
  const Ref<Buffer> ones = put(std::vector<float>(768, 1)), y = put(std::vector<float>(768, 0));
  for (const bool broken : {false, true}) {
    report = {};
    const std::array<runtime::Failure, 2> none{{{.report = &report}, {}}};
    gpu->copy_in(failures->data(), none.data(), sizeof none);
    std::vector<float> values(768, 1);
    if (broken) values[5] = -1e6f;
    const Ref<Buffer> x = put(values);
    const std::array checked{at(x), at(out)};
    const std::array written{at(ones), at(y), real(1), integer(768)};
    const ArgumentSet one{checked.data(), {1, 1, 1}}, two{written.data(), {tiles_of(768), 1, 1}};
    check->launch({&one, 1}, {.failure = failure});
    write->launch({&two, 1}, {.guards = {failure, 2}});
    gpu->synchronize();
    EXPECT_EQ(report.id, broken ? 3 : -1);
    EXPECT_EQ(get(*y), std::vector<float>(768, 1));  // by the first round
  }
}

/// Everything after a wild write throws, nothing crashes, not even the end of the process.
TEST(CudaLost, EveryCallThrows) {
  std::string why;
  if (cuda_count(&why) == 0) GTEST_SKIP() << why;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose_the_device = [] {
    Device& gpu = cuda();
    static Ref<Buffer> buffer = gpu.allocate(1 << 20);
    static const auto recording = gpu.queue().record([&] { gpu.copy(buffer->data(), static_cast<std::byte*>(buffer->data()) + 512, 4); });
    static std::unique_ptr<runtime::Kernel> kernel;
    if (std::getenv("TEGULA_FAKE_DRIVER")) {
      gpu.copy(buffer->data(), nullptr, 4);  // the driver of the tests reports this as a wild access
    } else {
      kernel = gpu.compile(saxpy());
      const std::array arguments{Argument{.pointer = reinterpret_cast<void*>(std::uintptr_t{1} << 46)}, at(buffer), real(1), integer(100)};
      const ArgumentSet set{arguments.data(), {1, 1, 1}};
      kernel->launch({&set, 1}, {});
    }
    int thrown = 0;
    const auto expect_error = [&](auto&& call) {
      try {
        call();
      } catch (const Error& error) { thrown += std::string(error.what()).find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos; }
    };
    float value = 0;
    expect_error([&] { gpu.synchronize(); });
    expect_error([&] { gpu.synchronize(); });
    expect_error([&] { gpu.copy_in(buffer->data(), &value, sizeof value); });
    expect_error([&] { gpu.copy_out(&value, buffer->data(), sizeof value); });
    expect_error([&] { buffer->read(0, &value, sizeof value); });
    expect_error([&] { recording->replay(); });
    expect_error([&] { gpu.allocate(std::size_t{40} << 20); });
    std::exit(thrown == 7 ? 0 : 1);
  };
  EXPECT_EXIT(lose_the_device(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tegula
