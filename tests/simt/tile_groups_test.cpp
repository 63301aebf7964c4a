// The groups of Triton's own tests of its language as generated code: what tests/ops/tile_groups_test.cpp expects of the CPU, on smaller shapes.

#include <gtest/gtest.h>

#include <vector>

#include "tegula/tegula.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/tile_whole.h"

namespace groups {
using namespace tegula::tile;
using Tiles = std::vector<Tile>;

Tiles reduced(const Tile& x, int axis) { return {sum(x, axis), max(x, axis), argmin(x, axis), xor_sum(cast<std::int32_t>(x), axis)}; }
Tiles scanned(const Tile& x, int axis, Direction direction) {
  const auto times = [](Tile a, Tile b) { return a * b; };
  return {cumsum(x, axis), associative_scan(x, axis, times, direction),
          associative_scan(
              x, axis, [](Tile a, Tile) { return a; }, direction),
          associative_scan(x, axis, [](Tile a, Tile b) { return maximum(a, b); }, direction)};
}
Tiles ordered(const Tile& x, Order order) { return {sort(x, 1, order), argsort(x, 1, order), flip(x, 1), topk(x, 4)}; }
Tiles moved(const Tile& x) { return {permute(x, {2, 0, 1}), permute(x, {1, 2, 0}), reshape(x, {32, 8}), ravel(x)}; }
Tiles joined(const Tile& x, const Tile& y) {
  const auto [left, right] = split(join(x, y));
  return {join(x, y), interleave(x, y), left, right};
}
Tiles counted(const Tile& x, const Tile& some, std::int64_t bins) { return {histogram(x, bins), histogram(x, bins, some)}; }
Tiles multiplied(const Tile& x, const Tile& y, const Tile& z) {
  return {dot(x, y), dot(trans(x), y, z), dot(x, y) + z, softmax(dot(x, y), 1)};
}
Tiles computed(const Tile& x, const Tile& y) { return {x + y, x - y, x * y, x < y}; }
}  // namespace groups

namespace tegula::gpu {
namespace {

using groups::Tiles, whole::launched, whole::to, whole::whole_numbers;

testing::AssertionResult same(const std::vector<Tensor>& results, double tolerance = 0) {
  return same_on_a_gpu(results, {1, 1, 1}, {}, tolerance);
}

TEST(TileGroupsOnAGpu, ReductionsScansAndOrders) {
  for (const DType dtype : {f32, f16, i32, i8, u16, i64}) {
    const DType sums = is_float(dtype) || size_of(dtype) >= 4 ? dtype : is_unsigned(dtype) ? u32 : i32;
    for (const Shape& shape : {Shape{2, 32}, {4, 16}, {2, 8, 4}, {4, 2, 8}}) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        Shape result = shape;
        result.erase(axis);
        EXPECT_TRUE(same(launched({whole_numbers(shape, dtype)}, {to(result, sums), to(result, dtype), to(result, i64), to(result, i32)},
                                  [&](const Tiles& in) { return groups::reduced(in[0], axis); })))
            << name(dtype) << to_string(shape) << axis;
        if (shape.rank() == 3 || size_of(dtype) < 4) continue;
        for (const auto direction : {tile::Direction::Forward, tile::Direction::Reverse}) {
          EXPECT_TRUE(
              same(launched({whole_numbers(shape, dtype, -1, 1)}, {to(shape, dtype), to(shape, dtype), to(shape, dtype), to(shape, dtype)},
                            [&](const Tiles& in) { return groups::scanned(in[0], axis, direction); })))
              << name(dtype) << to_string(shape) << axis;
        }
      }
    }
    for (const auto order : {tile::Order::Ascending, tile::Order::Descending}) {
      const Shape shape{4, 32};
      EXPECT_TRUE(same(launched({whole_numbers(shape, dtype)}, {to(shape, dtype), to(shape, i64), to(shape, dtype), to({4, 4}, dtype)},
                                [&](const Tiles& in) { return groups::ordered(in[0], order); })))
          << name(dtype);
    }
  }
}

TEST(TileGroupsOnAGpu, MovedJoinedAndCountedElements) {
  for (const DType dtype : {f32, bf16, e4m3, i8, i64}) {
    EXPECT_TRUE(
        same(launched({whole_numbers({4, 8, 8}, dtype)}, {to({8, 4, 8}, dtype), to({8, 8, 4}, dtype), to({32, 8}, dtype), to({256}, dtype)},
                      [](const Tiles& in) { return groups::moved(in[0]); })))
        << name(dtype);
    EXPECT_TRUE(same(launched({whole_numbers({4, 8}, dtype), whole_numbers({4, 8}, dtype, -5, 5, 3)},
                              {to({4, 8, 2}, dtype), to({4, 16}, dtype), to({4, 8}, dtype), to({4, 8}, dtype)},
                              [](const Tiles& in) { return groups::joined(in[0], in[1]); })))
        << name(dtype);
    EXPECT_TRUE(same(launched({whole_numbers({4, 4}, dtype), whole_numbers({8, 4}, i32, 0, 3)}, {to({8, 4}, dtype)}, [](const Tiles& in) {
      return Tiles{gather(in[0], in[1], 0)};
    }))) << name(dtype);
  }
  for (const auto& [count, bins] : {std::pair<std::int64_t, std::int64_t>{8, 2}, {64, 16}, {16, 64}}) {
    EXPECT_TRUE(
        same(launched({whole_numbers({count}, i32, 0, static_cast<int>(bins) + 2), whole_numbers({count}, boolean, 0, 1, 3)},
                      {to({bins}, i32), to({bins}, i32)}, [bins = bins](const Tiles& in) { return groups::counted(in[0], in[1], bins); })))
        << count << " " << bins;
  }
}

TEST(TileGroupsOnAGpu, ProductsAndArithmeticOfAnyTwoTypes) {
  for (const DType dtype : {f16, bf16, f32, f64, e4m3, e5m2}) {
    const DType sums = dtype == f64 ? f64 : f32;
    const Shape square{16, 16};
    EXPECT_TRUE(
        same(launched({whole_numbers(square, dtype, -2, 2), whole_numbers(square, dtype, -2, 2, 3), whole_numbers(square, sums, -3, 3, 7)},
                      {to(square, sums), to(square, sums), to(square, sums), to(square, sums)},
                      [](const Tiles& in) { return groups::multiplied(in[0], in[1], in[2]); }),
             64))
        << name(dtype);
  }
  constexpr DType dtypes[] = {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};
  for (const DType a : dtypes) {
    for (const DType b : dtypes) {
      EXPECT_TRUE(same(launched({whole_numbers({32}, a, -60, 60), whole_numbers({32}, b, -60, 60, 5)},
                                {to({32}, f64), to({32}, f64), to({32}, f64), to({32}, boolean)},
                                [](const Tiles& in) { return groups::computed(in[0], in[1]); })))
          << name(a) << " with " << name(b);
    }
  }
}

}  // namespace
}  // namespace tegula::gpu
