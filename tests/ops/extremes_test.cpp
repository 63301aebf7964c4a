// The largest and smallest numbers a call can be given, and leaves that cannot be: right, or refused.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/images/unfold.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tests/support/sanitizers.h"

namespace tegula {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(Extremes, Diagonals) {
  const Tensor x = ones({3}), m = ones({3, 4});
  for (const std::int64_t k : {kLeast, kMost, kHuge, -kHuge}) {
    EXPECT_THROW(diag(x, k), Error) << k;
    EXPECT_EQ(diag(m, k).numel(), 0) << k;
    EXPECT_EQ(diagonal(m, k).numel(), 0) << k;
  }
  EXPECT_EQ(sum(tril(m, kMost)).item(), 12);
  EXPECT_EQ(sum(triu(m, kMost)).item(), 0);
  EXPECT_EQ(sum(tril(m, kLeast)).item(), 0);
  EXPECT_EQ(sum(triu(m, kLeast)).item(), 12);
}

TEST(Extremes, PaddingAndCopies) {
  const Tensor x = ones({3});
  EXPECT_THROW(pad(x, {{kMost, 1}}), Error);
  EXPECT_THROW(pad(x, {{kMost, kMost}}), Error);
  EXPECT_THROW(pad(x, {{kLeast, kLeast}}), Error);
  EXPECT_THROW(pad(x, {{kHuge, -kHuge}}), Error);
  EXPECT_THROW(repeat(x, {kMost}), Error);
  EXPECT_THROW(repeat_interleave(x, kMost), Error);
  EXPECT_THROW(reshape(x, {kHuge, 4, -1}), Error);
  EXPECT_THROW(reshape(zeros({0}), {kHuge, 4}), Error);
  EXPECT_EQ(roll(x, kLeast, 0).numel(), 3);
}

TEST(Extremes, SlicesWithTheWidestSteps) {
  const Tensor x = arange(5);
  EXPECT_EQ(slice(x, 0, {.step = kMost}).to_host<int>(), std::vector<int>{0});
  EXPECT_EQ(slice(x, 0, {.step = -kMost}).to_host<int>(), std::vector<int>{4});
  EXPECT_EQ(slice(x, 0, {.step = kLeast}).to_host<int>(), std::vector<int>{4});
  EXPECT_EQ(slice(x, 0, {kLeast, kMost}).to_host<int>(), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Extremes, Windows) {
  const Tensor x = ones({1, 1, 8}), w = ones({1, 1, 3});
  EXPECT_THROW(conv1d(x, w, {.dilation = kMost}), Error);
  EXPECT_THROW(conv1d(x, w, {.padding = kMost}), Error);
  EXPECT_THROW(conv_transpose1d(x, w, {.stride = kMost}), Error);
  EXPECT_THROW(max_pool1d(x, 3, {.padding = kMost}), Error);
  EXPECT_THROW(avg_pool1d(x, kMost), Error);
  EXPECT_THROW(windows(x, {2}, {3}, {.dilation = {kMost}}), Error);
  // Sizes whose product is 0 modulo 2^64.
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const Tensor volume = ones({1, 1, 1, 1, 1});
  EXPECT_THROW(max_pool3d(volume, kLarge, {.padding = kLarge}), Error);
  EXPECT_THROW(avg_pool3d(volume, kLarge, {.padding = kLarge}), Error);
  EXPECT_THROW(fold(ones({1, 1, 1}), {1, 1, 1}, kLarge, {.padding = kLarge}), Error);
  EXPECT_THROW(fold(ones({1, 1, 1}), {1, 1, 1}, 1, {.padding = kLarge - 1}), Error);
  EXPECT_THROW(unfold(volume, kLarge, {.padding = kLarge, .axes = 3}), Error);
  EXPECT_EQ(conv1d(x, w, {.stride = (std::int64_t{1} << 31) - 1}).shape(), (Shape{1, 1, 1}));
}

TEST(Extremes, LeavesOfImpossibleShapes) {
  const std::vector<float> four(4, 1.f), six(6, 1.f);
  EXPECT_THROW(tensor(six, {-2, -3}), Error);
  EXPECT_THROW(tensor(four, {kHuge + 1, 4}), Error);
  EXPECT_THROW(tensor(std::vector<float>{}, {std::int64_t{1} << 32, std::int64_t{1} << 32}), Error);
  EXPECT_THROW(HostArray::empty(f32, {std::int64_t{1} << 32, std::int64_t{1} << 32, 4}), Error);
  EXPECT_THROW(HostArray::empty(f32, {-1}), Error);
  EXPECT_THROW(HostArray::from(std::span<const float>(six), {4}), Error);
  HostArray array = HostArray::empty(f32, {6});
  array.shape = {-2, -3};
  EXPECT_THROW(from_array(array), Error);
  EXPECT_THROW(from_array(HostArray{}), Error);
  EXPECT_THROW(HostArray{}.values<float>(), Error);
  EXPECT_EQ(tensor(std::vector<float>{}, {0, 3}).numel(), 0);
}

TEST(Extremes, HypotOfAnInfinityIsInfinite) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor y = hypot(tensor({nan, inf, -inf, 3.0, nan}), tensor({inf, nan, 1.0, -4.0, 1.0}));
  const std::vector<double> got = y.to_host<double>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], inf) << i;
  EXPECT_EQ(got[3], 5);
  EXPECT_TRUE(std::isnan(got[4]));
}

TEST(Extremes, NanPrintsWithoutASign) { EXPECT_EQ(tensor({-std::nan(""), std::nan(""), 1.0}).print(), "[nan, nan,   1]  f64(3,)"); }

#ifndef TEGULA_SANITIZER
// In a process of its own, whose address space is bounded: the pool's free memory is given back before a request fails.
TEST(Extremes, MemoryThatIsCachedIsNotMissed) {
  const auto attempt = [] {
    std::ifstream pages("/proc/self/statm");
    std::size_t used = 0;
    pages >> used;
    constexpr std::size_t kPiece = std::size_t{600} << 20;
    const rlim_t most = used * static_cast<std::size_t>(getpagesize()) + 2 * kPiece;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
    { const Ref<Buffer> first = allocate_host(kPiece); }
    try {
      const Ref<Buffer> second = allocate_host(2 * kPiece - (kPiece / 2));  // another size class
    } catch (const Error&) { std::_Exit(1); }
    std::_Exit(0);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "");
}

// An allocation with a name, and memory between the steps of a plan.
TEST(Extremes, FullMemoryNamesTheOpAndTheLine) {
  if (default_device().traits().queues) GTEST_SKIP() << "a child of this process has no GPU, nor is its memory the host's";
  const auto attempt = [] {
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
    const Tensor x = expand(ones({1}), {std::int64_t{1} << 31});
    const std::uint_least32_t line = Line::current().line() + 1;
    const Tensor y = x * 2, z = cumsum(y, 0) + cumsum(sort(y, 0).values, 0);
    for (const auto& [tensor, op] : {std::pair{y, "(multiply)"}, std::pair{z, "8.0 GiB sort"}}) {
      try {
        tensor.to_host();
        std::_Exit(3);
      } catch (const runtime::OutOfMemory& error) {
        const std::string text = error.what();
        if (text.find(op) == std::string::npos || text.find("extremes_test.cpp:" + std::to_string(line)) == std::string::npos) {
          std::fputs(text.c_str(), stderr);
          std::_Exit(1);
        }
      }
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "");
}
#endif

TEST(Extremes, PlacesAreComparedWithNumbersOfAnySize) {
  const Tensor at = arange(3), high = arange(kMost - 3, kMost), row = reshape(at, {1, 3}) * ones({2, 1}, i64);
  const auto count = [](const Tensor& mask, const Tensor& x) { return sum(where(mask, x * 0 + 1, 0)).item<int>(); };
  for (const Tensor& x : {at, row}) {
    const int all = static_cast<int>(x.numel());
    EXPECT_EQ(count(x <= kMost, x), all);
    EXPECT_EQ(count(x < kMost, x), all);
    EXPECT_EQ(count(x > kLeast, x), all);
    EXPECT_EQ(count(-x >= kLeast, x), all);
    EXPECT_EQ(count(-x <= kMost, x), all);
    EXPECT_EQ(count(x >= kMost, x), 0);
    EXPECT_EQ(count(x < kLeast, x), 0);
  }
  EXPECT_EQ(count(high > -5, high), 3);
  EXPECT_EQ(count(high < -5, high), 0);
  EXPECT_EQ(count(high >= kMost - 2, high), 2);
}

}  // namespace
}  // namespace tegula
