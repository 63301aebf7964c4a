// Whole numbers beside tensors stay whole: no i64 goes through a double on its way into a graph, through a jit, or out of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"

namespace tegula {
namespace {

using Whole = std::vector<std::int64_t>;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;  // the first that a double does not hold

Whole values(const Tensor& x) { return x.to_host<std::int64_t>(); }

TEST(ExactNumbers, BesideTensors) {
  const Tensor x = tensor({std::int64_t{0}, kOdd, kMost, kLeast});
  EXPECT_EQ(values(x + (kOdd - 1)), (Whole{kOdd - 1, 2 * kOdd - 1, kLeast + kOdd - 2, kLeast + kOdd - 1}));
  EXPECT_EQ(values(zeros({1}, i64) + kMost), Whole{kMost});
  EXPECT_EQ(values(clamp(x, 0, kMost)), (Whole{0, kOdd, kMost, 0}));
  EXPECT_EQ(values(clamp_min(x, kOdd)), (Whole{kOdd, kOdd, kMost, kOdd}));
  EXPECT_EQ(values(cast(x == kOdd, i64)), (Whole{0, 1, 0, 0}));
  EXPECT_EQ(values(cast(x < kOdd, i64)), (Whole{1, 0, 0, 1}));
  EXPECT_EQ(values(where(x > 0, kOdd, x)), (Whole{0, kOdd, kOdd, kLeast}));
  EXPECT_EQ(values(masked_fill(x, x == 0, kMost - 1)), (Whole{kMost - 1, kOdd, kMost, kLeast}));
  EXPECT_EQ(values(pad(tensor({std::int64_t{1}}), {{1, 0}}, {.value = kOdd})), (Whole{kOdd, 1}));
}

TEST(ExactNumbers, AsTensors) {
  EXPECT_EQ(values(full({2}, kOdd)), (Whole{kOdd, kOdd}));
  EXPECT_EQ(values(full({1}, kMost, i64)), Whole{kMost});
  EXPECT_EQ(Tensor(kOdd).item<std::int64_t>(), kOdd);
  EXPECT_EQ(tensor({kLeast + 1}).item<std::int64_t>(), kLeast + 1);
  EXPECT_EQ(cast(kOdd, i64).item<std::int64_t>(), kOdd);
  EXPECT_EQ(cast(2.9, i64).item<std::int64_t>(), 2);
  EXPECT_EQ(cast(Tensor(kOdd), f64).item<double>(), 0x1p53);
  Variable v = full({1}, 0, i64);
  v = kOdd;
  EXPECT_EQ(values(v), Whole{kOdd});
}

TEST(ExactNumbers, OfATensorAreThoseOfItsDType) {
  for (const DType dtype : {f16, bf16, f32}) {
    const double held = full({}, 0.1, dtype).item<double>();
    EXPECT_NE(held, 0.1);
    EXPECT_EQ(cast(full({}, 0.1, dtype), f64).item<double>(), held) << name(dtype);
    EXPECT_EQ(cast(full({3}, 0.1, dtype), f64).to_host<double>(), std::vector<double>(3, held)) << name(dtype);
    EXPECT_EQ((full({}, 0.1, dtype) * ones({2}, f64)).to_host<double>(), std::vector<double>(2, held)) << name(dtype);
    EXPECT_EQ(cast(cast(full({}, 0.1, f64), dtype), f64).item<double>(), held) << name(dtype);
    const Tensor known = full({}, 0.1, dtype), product = known * 3.0;
    known.item<double>();
    EXPECT_EQ(cast(full({}, 0.1, dtype) * 3.0, f64).item<double>(), cast(known * 3.0, f64).item<double>()) << name(dtype);
    auto inside = jit([dtype](Tensor x) { return x * cast(cast(full({}, 0.1, f64), dtype) * 3.0, f64); });
    EXPECT_EQ(inside(ones({1}, f64)).item<double>(), product.item<double>()) << name(dtype);
  }
  EXPECT_EQ(cast(Tensor(0.1), f64).item<double>(), static_cast<double>(0.1f));
}

TEST(ExactNumbers, InRanges) {
  EXPECT_EQ(values(arange(kOdd, kOdd + 3)), (Whole{kOdd, kOdd + 1, kOdd + 2}));
  EXPECT_EQ(values(arange(kMost - 2, kMost)), (Whole{kMost - 2, kMost - 1}));
  EXPECT_EQ(values(arange(kMost, kLeast, kLeast)), (Whole{kMost, -1}));
  EXPECT_EQ(values(arange(5, -2, -3)), (Whole{5, 2, -1}));
  EXPECT_EQ(values(arange(3, 3)), Whole{});
  EXPECT_EQ(arange(0.0, 0x1p100, 0x1p97).numel(), 8);
  EXPECT_THROW(arange(0, 3, 0), Error);
  EXPECT_THROW(arange(3, 0), Error);
  EXPECT_THROW(arange(kLeast, kMost), Error);
}

TEST(ExactNumbers, ACastOfANumberWrapsAsThatOfATensorDoes) {
  for (const std::int64_t number : {std::int64_t{300}, std::int64_t{-1}, std::int64_t{5'000'000'001}, kMost}) {
    for (const DType dtype : {u8, i8, i16, i32, boolean})
      EXPECT_EQ(cast(Tensor(number), dtype).item<std::int64_t>(), cast(tensor({number}), dtype).item<std::int64_t>())
          << number << " as " << name(dtype);
  }
  for (const double number : {2.75, -2.75, 300.5, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    for (const DType dtype : {i8, i32, i64, boolean})
      EXPECT_EQ(cast(Tensor(number), dtype).item<std::int64_t>(), cast(tensor({static_cast<float>(number)}), dtype).item<std::int64_t>())
          << number << " as " << name(dtype);
  }
}

TEST(ExactNumbers, ThroughJit) {
  std::int64_t captured = kOdd;
  auto f = jit([&](Tensor x) { return std::vector<Tensor>{x + captured, where(x == captured, kMost, x), clamp(x, 0, kMost)}; });
  for (int call = 0; call < 3; ++call) {
    const auto y = f(tensor({std::int64_t{1}, kOdd}));
    EXPECT_EQ(values(y[0]), (Whole{kOdd + 1, 2 * kOdd}));
    EXPECT_EQ(values(y[1]), (Whole{1, kMost}));
    EXPECT_EQ(values(y[2]), (Whole{1, kOdd}));
  }
}

TEST(ExactNumbers, WhatI64DoesNotHoldIsRefused) {
  EXPECT_THROW(full({1}, 1e30, i64), Error);
  EXPECT_THROW(full({1}, std::numeric_limits<double>::quiet_NaN(), i32), Error);
  EXPECT_THROW(static_cast<void>(Tensor(std::numeric_limits<std::uint64_t>::max())), Error);
  EXPECT_EQ(Tensor(std::uint64_t{7}).item<std::int64_t>(), 7);
}

TEST(ExactNumbers, AFloatBeyondTheRangeIsTheEndThatIsNearer) {
  const char* const device = std::getenv("TEGULA_TEST_DEVICE");
  if (device && std::string_view(device).starts_with("emulated")) GTEST_SKIP() << "skipped: converts as C++ does, which leaves this open";
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> given{2.9, -2.9, 3e9, -3e9, 1e30, -1e30, infinity, -infinity, 0.5, -0.5, 7.0};
  for (const std::int64_t copies : {1, 7}) {  // whole vectors, and a remainder
    for (const DType from : {f64, f32}) {
      for (const DType to : {i32, i64}) {
        const double least = to == i32 ? -0x1p31 : -0x1p63, most = to == i32 ? 0x1p31 - 1 : 0x1p63;
        std::vector<float> x;
        Whole wanted;
        for (std::int64_t copy = 0; copy < copies; ++copy) {
          for (const double value : given) {
            x.push_back(static_cast<float>(value));
            const double whole = std::trunc(static_cast<double>(x.back()));
            wanted.push_back(whole >= most    ? (to == i32 ? std::int64_t{0x7fffffff} : kMost)
                             : whole <= least ? (to == i32 ? -std::int64_t{0x80000000} : kLeast)
                                              : static_cast<std::int64_t>(whole));
          }
        }
        EXPECT_EQ(values(cast(cast(tensor(x, {11 * copies}), from), to)), wanted) << name(from) << " to " << name(to) << ", " << copies;
      }
    }
  }
}

TEST(ExactNumbers, PowersWrapAtAnyExponent) {
  const Tensor bases = tensor({std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{5}});
  const auto power = [](std::int64_t base, std::int64_t exponent) {
    std::uint64_t product = 1;
    for (std::int64_t i = 0; i < exponent; ++i) product *= static_cast<std::uint64_t>(base);
    return static_cast<std::int64_t>(product);
  };
  for (const std::int64_t exponent : {0, 1, 5, 63, 64, 65, 70, 127, 1000}) {
    Whole wanted;
    for (const std::int64_t base : values(bases)) wanted.push_back(power(base, exponent));
    EXPECT_EQ(values(pow(bases, exponent)), wanted) << exponent;
    EXPECT_EQ(values(pow(bases, full({6}, exponent))), wanted) << exponent;
    Whole narrow;
    for (const std::int64_t value : wanted) narrow.push_back(static_cast<std::int32_t>(value));
    EXPECT_EQ(values(pow(cast(bases, i32), exponent)), narrow) << exponent;
  }
}

}  // namespace
}  // namespace tegula
