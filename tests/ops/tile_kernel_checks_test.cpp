// Mistakes in a user's kernel: sums into results that were never filled, values that its checks refuse, places outside of tensors, results that
// are not all stored.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/core/check.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/tile_kernel.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using tile::Builder, tile::Value;

// Counts each number among those of input 0. numbers: their count. constants: block.
template <DType T>
void histogram(Builder& b, const TileArguments& a) {
  const Value i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]), within = i < a.numbers[0];
  b.atomic_add(a.outputs[0] + b.load(a.inputs[0] + i, within), b.constant(std::int64_t{1}, T), within);
}

Tensor bins(const Tensor& x, std::int64_t count, DType dtype, Number fill = 0) {
  const TileKernel kernel = dtype == i64 ? histogram<i64> : dtype == i32 ? histogram<i32> : dtype == f64 ? histogram<f64> : histogram<f32>;
  return tile_kernel(
      "histogram", kernel, {x},
      {.grid = {divide_up(x.numel(), 64)}, .outputs = {{{count}, dtype, fill}}, .numbers = {x.numel()}, .constants = {64}})[0];
}

TEST(TileKernelFill, AHistogramCountsFromItsFillOnEveryTime) {
  const std::int64_t n = 1000, count = 13;
  const Tensor x = remainder(arange(n) * 7, count);
  std::vector<double> want(count);
  for (std::int64_t i = 0; i < n; ++i) want[static_cast<std::size_t>(i * 7 % count)] += 1;
  for (const DType dtype : {f32, f64, i32, i64}) {
    for (int call = 0; call < 3; ++call) EXPECT_EQ(bins(x, count, dtype).to_host<double>(), want) << name(dtype);
    auto f = jit([&](Tensor t) { return bins(t, count, dtype, -5) + bins(t, count, dtype, 5); });
    std::vector<double> twice = want;
    for (double& one : twice) one *= 2;
    for (int call = 0; call < 3; ++call) EXPECT_EQ(f(x).to_host<double>(), twice) << name(dtype);
  }
}

TEST(TileKernelFill, EachResultHasItsOwn) {
  const auto sums = [](Builder& b, const TileArguments& a) {
    const Value i = b.arange(0, 8), x = b.load(a.inputs[0] + b.program_id(0) * 8 + i);
    b.atomic_add(a.outputs[0] + i * 0, x);
    b.atomic_add(a.outputs[2] + i % 2, x);
    b.store(a.outputs[1] + b.program_id(0) * 8 + i, x);
  };
  const Tensor x = reshape(cast(arange(24), f32), {3, 8});
  const auto run = [&] {
    return tile_kernel("sums", sums, {x}, {.grid = {3}, .outputs = {{{1}, f32, 1.5}, {{3, 8}, f32}, {{2}, f32, 0}}});
  };
  const auto parts = run();
  EXPECT_EQ(parts[0].to_host(), std::vector<float>{277.5f});
  EXPECT_EQ(parts[1].to_host(), x.to_host());
  EXPECT_EQ(parts[2].to_host(), (std::vector<float>{132, 144}));
  EXPECT_EQ(run()[2].to_host(), (std::vector<float>{132, 144})) << "the others are not read";
}

TEST(TileKernelFill, ElementsThatNobodyStoresKeepIt) {
  const auto odd = [](Builder& b, const TileArguments& a) { b.store(a.outputs[0] + b.program_id(0) * 2 + 1, b.constant(7.0, f32)); };
  const auto run = [&] { return tile_kernel("odd", odd, {}, {.grid = {2}, .outputs = {{{4}, f32, -1}}})[0].to_host(); };
  EXPECT_EQ(run(), (std::vector<float>{-1, 7, -1, 7}));
}

// rows[k] = table[places[k]], with a check.
constexpr int kLineOfTheCheck = __LINE__ + 3;
void take_rows(Builder& b, const TileArguments& a) {
  const Value i = b.arange(0, 4), place = b.load(a.inputs[1] + i), valid = place >= 0 && place < a.numbers[0];
  b.check(valid, place, "an index below the length of the table");
  b.store(a.outputs[0] + i, b.load(a.inputs[0] + place, valid));
}
Tensor taken(const Tensor& table, const Tensor& places) {
  return tile_kernel("take_rows", take_rows, {table, places}, {.grid = {1}, .outputs = {{{4}, f32}}, .numbers = {table.numel()}})[0];
}
Tensor places(std::int64_t last) { return tensor({std::int64_t{2}, std::int64_t{0}, std::int64_t{1}, last}); }

TEST(TileKernelCheck, ItsSentenceIsReportedWithKernelValueAndLines) {
  const Tensor table = tensor({1.f, 2.f, 4.f});
  EXPECT_EQ(taken(table, places(2)).to_host(), (std::vector<float>{4, 1, 2, 4}));
  const std::string message = message_of([&] { static_cast<void>(taken(table, places(3)).to_host()); });
  EXPECT_NE(message.find("the value 3 where take_rows says \"an index below the length of the table\" at "), std::string::npos) << message;
  EXPECT_NE(message.find("tile_kernel_checks_test.cpp:" + std::to_string(kLineOfTheCheck)), std::string::npos) << message;
  auto f = jit([&](Tensor p) { return taken(table, p) * 2.0; });
  EXPECT_EQ(f(places(0)).to_host(), (std::vector<float>{8, 2, 4, 2}));
  EXPECT_HAS_MESSAGE(f(places(-1)).to_host(), "the value -1 where take_rows says");
  EXPECT_EQ(f(places(0)).to_host(), (std::vector<float>{8, 2, 4, 2})) << "a failure leaves nothing behind";
}

TEST(TileKernelCheck, WhatItRefusesChangesNoVariable) {
  Variable state(zeros({4}));
  const Tensor table = tensor({1.f, 2.f, 4.f});
  auto f = jit([&](Tensor p) { state = state.read() + taken(table, p); });
  f(places(0));
  EXPECT_HAS_MESSAGE((f(places(9)), state.read().to_host()), "the value 9 where take_rows says");
  EXPECT_EQ(state.read().to_host(), (std::vector<float>{4, 1, 2, 1}));
}

/// With TEGULA_CHECK=tile.
class TileKernelPlaces : public ::testing::Test {
 private:
  Checking checking_{Check::Tile};
};

// numbers: how many are loaded, and stored. constants: block.
constexpr int kLineOfTheLoad = __LINE__ + 3;
void copied(Builder& b, const TileArguments& a) {
  const Value i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]);
  const Value x = b.load(a.inputs[0] + i, i < a.numbers[0]);
  b.store(a.outputs[0] + i, x, i < a.numbers[1]);
}
Tensor copy_of(const Tensor& x, std::int64_t size, std::int64_t loaded, std::int64_t stored) {
  return tile_kernel("copied", copied, {x},
                     {.grid = {4}, .outputs = {{{size}, x.dtype()}}, .numbers = {loaded, stored}, .constants = {32}})[0];
}

TEST_F(TileKernelPlaces, AKernelThatIsRightGivesTheSame) {
  for (const DType dtype : {f64, f32, bf16, i64, u8}) {
    const Tensor x = cast(arange(100), dtype);
    EXPECT_EQ(copy_of(x, 100, 100, 100).to_host<double>(), x.to_host<double>()) << name(dtype);
  }
  EXPECT_EQ(bins(remainder(arange(100), 3), 3, i64).to_host<double>(), (std::vector<double>{34, 33, 33}));
}

TEST_F(TileKernelPlaces, ALoadBehindTheEndIsNamed) {
  const std::string message = message_of([] { static_cast<void>(copy_of(ones({100}), 100, 101, 100).to_host()); });
  const std::string expected = "a load of element 100 of input 0, f32(100,) with 100 elements, by the instance (3,) of copied at ";
  EXPECT_NE(message.find(expected), std::string::npos) << message;
  EXPECT_NE(message.find("tile_kernel_checks_test.cpp:" + std::to_string(kLineOfTheLoad)), std::string::npos) << message;
}

TEST_F(TileKernelPlaces, AStoreOutsideOfAResultIsNamedAndNotDone) {
  EXPECT_HAS_MESSAGE(copy_of(ones({100}), 99, 100, 100).to_host(),
                     "a store of element 99 of result 0, f32(99,) with 99 elements, by the instance (3,)");
  const auto before = [](Builder& b, const TileArguments& a) {
    b.store(a.outputs[0] + (b.program_id(1) - 1) * 1'000'000 + b.program_id(0), b.constant(1.0, f32));
  };
  EXPECT_HAS_MESSAGE(tile_kernel("before", before, {}, {.grid = {1, 1}, .outputs = {{{4}, f32, 0}}})[0].to_host(),
                     "a store of element -1000000 of result 0, f32(4,) with 4 elements, by the instance (0, 0) of before");
}

TEST_F(TileKernelPlaces, AnAdditionOutsideOfAResultIsNamed) {
  EXPECT_HAS_MESSAGE(bins(remainder(arange(100), 3), 2, f32).to_host(), "an atomic word of element 2 of result 0, f32(2,) with 2 elements");
}

TEST_F(TileKernelPlaces, AnElementThatIsNotStoredIsNamed) {
  EXPECT_HAS_MESSAGE(copy_of(ones({100}), 100, 100, 70).to_host(),
                     "of result 0, f32(100,) with 100 elements, which no instance of copied stores");
  const auto odd = [](Builder& b, const TileArguments& a) { b.store(a.outputs[0] + b.program_id(0) * 2 + 1, b.constant(7.0, f32)); };
  EXPECT_HAS_MESSAGE(tile_kernel("odd", odd, {}, {.grid = {1}, .outputs = {{{2}, f32}}})[0].to_host(),
                     "element 0 of result 0, f32(2,) with 2 elements, which no instance of odd stores");
}

// Pointers that a loop carries, and that a branch chooses between two tensors.
void walked(Builder& b, const TileArguments& a) {
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64), lanes = b.arange(0, 8);
  const Value first = b.program_id(0) == 0;
  const auto from =
      b.if_(first, [&] { return std::vector<Value>{a.inputs[0] + lanes}; }, [&] { return std::vector<Value>{a.inputs[1] + lanes}; });
  const auto last = b.for_(zero, a.numbers[0], one, {from[0], b.full({8}, 0, f32)}, [&](Value, std::span<const Value> carried) {
    return std::vector<Value>{carried[0] + 8, carried[1] + b.load(carried[0])};
  });
  b.store(a.outputs[0] + b.program_id(0) * 8 + lanes, last[1]);
}

TEST_F(TileKernelPlaces, PointersAreFollowedThroughLoopsAndBranches) {
  const Tensor x = cast(arange(32), f32), y = cast(arange(24), f32) * 10.0;
  const auto run = [&](std::int64_t steps) {
    return tile_kernel("walked", walked, {x, y}, {.grid = {2}, .outputs = {{{2, 8}, f32}}, .numbers = {steps}})[0].to_host();
  };
  std::vector<float> want;
  for (int i = 0; i < 8; ++i) want.push_back(static_cast<float>(3 * i + 24));
  for (int i = 0; i < 8; ++i) want.push_back(static_cast<float>(10 * (3 * i + 24)));
  EXPECT_EQ(run(3), want);
  EXPECT_HAS_MESSAGE(run(4), "of input 1, f32(24,) with 24 elements, by the instance (1,) of walked");
}

}  // namespace
}  // namespace tegula
