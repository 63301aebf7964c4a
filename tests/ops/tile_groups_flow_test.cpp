// More of the groups of Triton's own tests of its language (python/test/unit/language: test_core, test_random, test_block_pointer, test_tensor_descriptor):
// arithmetic of two types, products with what comes behind them, masked loads, blocks at the edge, loops and branches, random numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tegula/tegula.h"
#include "tests/support/tile_whole.h"
#include "tests/support/values.h"

namespace flow {
using namespace tegula::tile;
using Tiles = std::vector<Tile>;
enum class Behind { Nothing, TransposedLeft, PlusMatrix, PlusRows, PlusColumns, Softmax, Chain };

Tile product(const Tile& a, const Tile& b, const Tile& c, Behind behind, std::int64_t rows, std::int64_t columns) {
  switch (behind) {
    case Behind::TransposedLeft: return dot(trans(a), b);
    case Behind::PlusMatrix: return dot(a, b, c);
    case Behind::PlusRows: return dot(a, b) + reshape(c, {rows, 1});
    case Behind::PlusColumns: return dot(a, b) + reshape(c, {1, columns});
    case Behind::Softmax: return softmax(dot(a, b), 1);
    case Behind::Chain: return dot(cast_to(dot(a, b), c.dtype()), c);
    default: return dot(a, b);
  }
}

// A variable that a loop carries, counters beyond 32 bits.
const auto counted = jit("counted", [](Out<std::int64_t> sums, Int low, Int high, Int step) {
  Tile total = 0;
  for (auto i : range(low, high, step)) total += i;
  store(sums, total);
});
const auto nested = jit("nested", [](Out<std::int64_t> y, Int count) {
  Tile total = 0;
  for (auto i : range(count)) {
    for (auto j : range(i)) {
      if_(j % 2 == 0, [&] { total += j; }, [&] { total += 10 * i; });
    }
    total += 1000;
  }
  store(y, total);
});
// Triton's test_while: i from `first` to `bound`, but not beyond `cut`.
const auto counting = jit("counting", [](Out<std::int64_t> y, Int first, Int bound, Int cut) {
  Tile i = first + 0, last = first + 0;
  while_([&] { return i < bound; },
         [&] {
           i += 1;
           last = where(i <= cut, i, last);
         },
         100);
  store(y, i);
  store(y + 1, last);
});
const auto masked = jit("masked", [](Ptr<Any> x, Out<Any> y, Int n, Int other, Const<int> BLOCK) {
  auto i = arange(0, BLOCK);
  store(y + i, load(x + i, i < n, other));
});
// The second half of the block lies outside of the tensor.
template <Padding kPadding>
const auto half_outside = jit("half_outside", [](Ptr<Any> x, Out<Any> y, Int n, Const<int> BLOCK) {
  auto block = make_tensor_descriptor(x, {n}, {1}, {BLOCK}, kPadding).load({n - BLOCK / 2});
  store(y + arange(0, BLOCK), block);
});
const auto swizzled = jit("swizzled", [](Out<std::int64_t> y, Int I, Int J, Int G) {
  for (auto i : range(I)) {
    for (auto j : range(J)) {
      auto [a, b] = swizzle2d(i, j, I, J, G);
      store(y + a * J + b, i * J + j);
    }
  }
});
const auto drawn = jit("drawn", [](Out<float> uniform, Out<float> normal, Int seed, Const<int> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(uniform + i, rand(seed, i));
  store(normal + i, randn(seed, i));
});

}  // namespace flow

namespace tegula {
namespace {

using flow::Behind, flow::Tiles, tile::OutShape, whole::host, whole::to, whole::whole_numbers;

/// Triton's: floats before integers, then the wider, of two as wide the unsigned one; bf16 stays by itself alone.
DType common(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) {
    const DType real = is_float(a) ? a : b;
    return real == bf16 ? f32 : real;
  }
  if (is_float(a) && (a == bf16 || b == bf16)) return a == f64 || b == f64 ? f64 : f32;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return is_unsigned(a) ? a : b;
}

TEST(TileGroups, ArithmeticAndComparisonsOfAnyTwoTypes) {
  constexpr DType dtypes[] = {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};
  for (const DType a : dtypes) {
    for (const DType b : dtypes) {
      SCOPED_TRACE(std::string(name(a)) + " with " + std::string(name(b)));
      const DType both = common(a, b);
      const Tensor x = whole_numbers({128}, a, -60, 60), y = whole_numbers({128}, b, -60, 60, 5), p = cast(x, both), q = cast(y, both);
      for (const bool at_once : {false, true}) {
        const auto r = whole::run(
            {x, y}, {to({128}, both), to({128}, both), to({128}, both), to({128}, boolean)},
            [](const Tiles& in) { return Tiles{in[0] + in[1], in[0] - in[1], in[0] * in[1], in[0] < in[1]}; }, at_once);
        ASSERT_EQ(host(r[0]), host(p + q));
        ASSERT_EQ(host(r[1]), host(p - q));
        ASSERT_EQ(host(r[2]), host(p * q));
        ASSERT_EQ(host(r[3]), host(p < q));
      }
    }
  }
}

/// Tiles that are large enough need not fit into a card's 227 KiB of shared memory. The CPU takes all of them.
void expect_shared_memory(const Error& error, bool large, std::string_view what) {
  EXPECT_TRUE(&default_device() != &cpu() && large) << what << ": " << error.what();
  EXPECT_NE(std::string(error.what()).find("bytes of shared memory"), std::string::npos) << what << ": " << error.what();
}

/// By dtypes, which take minutes each on a card: every product is a kernel of its own.
class TileGroupsOf : public testing::TestWithParam<DType> {};

TEST_P(TileGroupsOf, ProductsOfEveryShapeWithWhatComesBehindThem) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {Sizes{16, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 128, 64}, {64, 128, 128}, {32, 128, 64}, {128, 64, 32}, {16, 32, 8}}) {
    const DType dtype = GetParam();
    const DType sums = dtype == f64 ? f64 : is_float(dtype) ? f32 : i32;
    for (const Behind behind : {Behind::Nothing, Behind::TransposedLeft, Behind::PlusMatrix, Behind::PlusRows, Behind::PlusColumns,
                                Behind::Softmax, Behind::Chain}) {
      if (behind == Behind::Softmax && !is_float(dtype)) continue;
      if (behind == Behind::Chain && dtype != f32 && dtype != f64) continue;  // the first product would be rounded
      const bool turned = behind == Behind::TransposedLeft;
      const Tensor a = whole_numbers(turned ? Shape{k, m} : Shape{m, k}, dtype, -2, 2), b = whole_numbers({k, n}, dtype, -2, 2, 3);
      const Shape other = behind == Behind::PlusRows      ? Shape{m}
                          : behind == Behind::PlusColumns ? Shape{n}
                          : behind == Behind::Chain       ? Shape{n, n}
                                                          : Shape{m, n};
      const Tensor c = whole_numbers(other, behind == Behind::Chain ? dtype : sums, -3, 3, 7);
      const Tensor plain = matmul(turned ? transpose(cast(a, f64)) : cast(a, f64), cast(b, f64)), more = cast(c, f64);
      Tensor want = plain;
      if (behind == Behind::PlusMatrix || behind == Behind::PlusColumns) want = plain + more;
      if (behind == Behind::PlusRows) want = plain + reshape(more, {m, 1});
      if (behind == Behind::Softmax) want = softmax(plain, 1);
      if (behind == Behind::Chain) want = matmul(plain, more);
      const std::string what = std::string(name(dtype)) + to_string(Shape{m, n, k});
      try {
        const auto r = whole::run({a, b, c}, {to({m, n}, sums)},
                                  [&, m = m, n = n](const Tiles& in) { return Tiles{flow::product(in[0], in[1], in[2], behind, m, n)}; });
        // Small whole numbers are exact, but for exp.
        test::expect_close(host(r[0]), host(want), behind == Behind::Softmax ? 1e-6 : 0, what);
      } catch (const Error& error) { expect_shared_memory(error, dtype == f64 && m * n >= 8192, what); }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TileGroupsOf, testing::Values(i8, f16, bf16, f32, f64, e4m3, e5m2),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(TileGroups, BatchedProductsOfEveryShape) {
  for (const std::int64_t batch : {1, 2, 4, 8}) {
    for (const std::int64_t size : {16, 32, 64}) {
      for (const DType dtype : {i8, f16, f32}) {
        const Tensor a = whole_numbers({batch, size, size}, dtype, -2, 2), b = whole_numbers({batch, size, size}, dtype, -2, 2, 3);
        const auto run = [&] {
          return host(whole::run({a, b}, {to({batch, size, size}, dtype == i8 ? i32 : f32)},
                                 [](const Tiles& in) { return Tiles{dot(in[0], in[1])}; })[0]);
        };
        try {
          EXPECT_EQ(run(), host(matmul(cast(a, f64), cast(b, f64)))) << batch << " " << size << " " << name(dtype);
        } catch (const Error& error) { expect_shared_memory(error, batch * size * size > 8192, name(dtype)); }
      }
    }
  }
}

TEST(TileGroups, WhatAMaskLeavesOutIsTheOtherValue) {
  for (const DType dtype : {i8, i16, i32, i64, f16, bf16, f32}) {
    for (const std::int64_t size : {128, 512}) {
      for (const std::int64_t less : {0, 1, 2, 3, 4}) {
        for (const std::int64_t other : {0, 1}) {
          const std::int64_t n = size - less;
          const Tensor x = whole_numbers({n}, dtype);
          std::vector<double> want = host(x);
          want.resize(static_cast<std::size_t>(size), static_cast<double>(other));
          EXPECT_EQ(host(flow::masked({1}, x, to({size}, dtype), n, other, size)[0]), want) << name(dtype) << n;
          EXPECT_EQ(host(flow::masked.check()({1}, x, to({size}, dtype), n, other, size)[0]), want) << name(dtype) << n;
        }
      }
    }
  }
}

TEST(TileGroups, ABlockAtTheEdgeIsPadded) {
  for (const DType dtype : {i8, i16, i32, i64, f16, bf16, f32}) {
    for (const std::int64_t n : {64, 128, 256, 512, 1024}) {
      const Tensor x = whole_numbers({n}, dtype);
      std::vector<double> want = host(x);
      want.erase(want.begin(), want.end() - n / 2);
      const auto zeros = host(flow::half_outside<tile::Padding::Zero>({1}, x, to({n}, dtype), n, n)[0]);
      EXPECT_EQ(std::vector<double>(zeros.begin(), zeros.begin() + n / 2), want);
      EXPECT_EQ(std::vector<double>(zeros.begin() + n / 2, zeros.end()), std::vector<double>(static_cast<std::size_t>(n / 2), 0.0));
      if (!is_float(dtype)) continue;
      const auto nans = host(flow::half_outside<tile::Padding::Nan>({1}, x, to({n}, dtype), n, n)[0]);
      EXPECT_EQ(std::vector<double>(nans.begin(), nans.begin() + n / 2), want);
      EXPECT_TRUE(std::all_of(nans.begin() + n / 2, nans.end(), [](double one) { return std::isnan(one); })) << name(dtype);
    }
  }
}

TEST(TileGroups, LoopsCountBeyondThirtyTwoBits) {
  constexpr std::int64_t kFar = std::int64_t{1} << 35;
  for (const auto& [low, high, step] : {std::array{kFar, kFar + 20, std::int64_t{1}},
                                        {kFar, kFar + 20, 2},
                                        {kFar, kFar + 20, 3},
                                        {-16, 15, 1},
                                        {-16, 15, 2},
                                        {15, -16, 1},
                                        {-22, -18, 3}}) {
    std::int64_t want = 0;
    for (std::int64_t i = low; i < high; i += step) want += i;
    EXPECT_EQ(flow::counted({1}, tile::out({1}), low, high, step)[0].item<std::int64_t>(), want) << low << " " << step;
    EXPECT_EQ(flow::counted.check()({1}, tile::out({1}), low, high, step)[0].item<std::int64_t>(), want) << low << " " << step;
  }
}

TEST(TileGroups, LoopsBranchesAndConditionsStandInEachOther) {
  for (const std::int64_t count : {0, 1, 2, 7}) {
    std::int64_t want = 0;
    for (std::int64_t i = 0; i < count; ++i, want += 1000) {
      for (std::int64_t j = 0; j < i; ++j) want += j % 2 == 0 ? j : 10 * i;
    }
    EXPECT_EQ(flow::nested({1}, tile::out({1}), count)[0].item<std::int64_t>(), want);
    EXPECT_EQ(flow::nested.check()({1}, tile::out({1}), count)[0].item<std::int64_t>(), want);
  }
  for (const auto& [first, bound, cut] : {std::array<std::int64_t, 3>{0, 10, 5}, {3, 10, 20}, {10, 10, 5}, {12, 10, 5}}) {
    std::int64_t i = first, last = first;
    while (i < bound) {
      ++i;
      if (i <= cut) last = i;
    }
    EXPECT_EQ(host(flow::counting({1}, tile::out({2}), first, bound, cut)[0]),
              (std::vector<double>{static_cast<double>(i), static_cast<double>(last)}));
  }
}

TEST(TileGroups, GroupsOfRowsAreWalkedThroughByColumns) {
  // Triton's expected order of 5 x 7 in groups of 3.
  const std::vector<std::int64_t> want{0,  3,  6,  9,  12, 15, 18, 1,  4,  7,  10, 13, 16, 19, 2,  5,  8, 11,
                                       14, 17, 20, 21, 23, 25, 27, 29, 31, 33, 22, 24, 26, 28, 30, 32, 34};
  EXPECT_EQ(flow::swizzled({1}, tile::out({35}, 0), 5, 7, 3)[0].to_host<std::int64_t>(), want);
}

TEST(TileGroups, RandomNumbersHaveTheDistributionOfEverySeed) {
  constexpr std::int64_t kCount = 98'304, kBlock = 1024;
  for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{42}, std::int64_t{124}, std::int64_t{54}, std::int64_t{0xffffffff},
                                  std::int64_t{0x0000000fffffffff}}) {
    const auto r = flow::drawn({kCount / kBlock}, tile::out({kCount}), tile::out({kCount}), seed, kBlock);
    std::vector<double> uniform = host(r[0]);
    std::sort(uniform.begin(), uniform.end());
    double farthest = 0;  // Kolmogorov and Smirnov's distance
    for (std::size_t i = 0; i < uniform.size(); ++i) farthest = std::max(farthest, std::abs(uniform[i] - static_cast<double>(i) / kCount));
    EXPECT_LT(farthest, 0.01) << seed;
    EXPECT_GE(uniform.front(), 0);
    EXPECT_LT(uniform.back(), 1);
    const Tensor normal = cast(r[1], f64);
    EXPECT_NEAR(mean(normal).item<double>(), 0, 1e-2) << seed;
    EXPECT_NEAR(std::sqrt(mean(normal * normal).item<double>()), 1, 1e-2) << seed;
  }
}

}  // namespace
}  // namespace tegula
