// The groups of Triton's own tests of its language (python/test/unit/language: test_core, test_standard) as shapes, dtypes and what we expect of them:
// reductions, scans, histograms, sorting, moved elements. Others are in tile_groups_flow_test.cpp, casts of all numbers in tile_types_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tegula/tegula.h"
#include "tests/support/tile_whole.h"

namespace groups {
using namespace tegula::tile;
using Tiles = std::vector<Tile>;
enum class Scan { Sum, Product, First, Recurrence, Most, Last };

Tiles reduced(const Tile& x, int axis, Axis kept) {
  return {sum(x, axis, kept), max(x, axis, kept), min(x, axis, kept), argmax(x, axis, kept)};
}
Tiles scanned(const Tile& x, const Tile& y, Scan op, int axis, Direction direction) {
  switch (op) {
    case Scan::Sum: return {associative_scan(x, axis, [](Tile a, Tile b) { return a + b; }, direction)};
    case Scan::Product: return {associative_scan(x, axis, [](Tile a, Tile b) { return a * b; }, direction)};
    case Scan::First: return {associative_scan(x, axis, [](Tile a, Tile) { return a; }, direction)};
    case Scan::Last: return {associative_scan(x, axis, [](Tile, Tile b) { return b; }, direction)};
    case Scan::Most: return {associative_scan(x, axis, [](Tile a, Tile b) { return maximum(a, b); }, direction)};
    default: break;
  }
  // y_i = a_i y_{i-1} + b_i
  return {associative_scan(
      Tiles{x, y}, axis, [](const Tiles& a, const Tiles& b) { return Tiles{a[0] * b[0], b[0] * a[1] + b[1]}; }, direction)[1]};
}
}  // namespace groups

namespace tegula {
namespace {

using groups::Scan, groups::Tiles, whole::host, whole::to, whole::whole_numbers;
using tile::Axis, tile::Direction, tile::OutShape;

std::string text(const Shape& shape, int axis) { return to_string(shape) + " axis " + std::to_string(axis); }

void expect_reductions(const Shape& shape, int axis, Axis kept, DType dtype) {
  SCOPED_TRACE(std::string(name(dtype)) + text(shape, axis));
  const Tensor x = whole_numbers(shape, dtype);
  const Keep keep = kept == Axis::Keep ? Keep::Yes : Keep::No;
  const Tensor wide = cast(x, f64), most = argmax(x, axis, keep);
  const Shape result = most.shape();
  const DType sums = is_float(dtype) || size_of(dtype) >= 4 ? dtype : is_unsigned(dtype) ? u32 : i32;
  for (const bool at_once : {false, true}) {
    if (at_once && numel(shape) > 512) continue;
    const auto r = whole::run(
        {x}, {to(result, sums), to(result, dtype), to(result, dtype), to(result, i64)},
        [&](const Tiles& in) { return groups::reduced(in[0], axis, kept); }, at_once);
    EXPECT_EQ(host(r[0]), host(cast(sum(wide, axis, keep), sums)));
    EXPECT_EQ(host(r[1]), host(max(wide, axis, keep)));
    EXPECT_EQ(host(r[2]), host(min(wide, axis, keep)));
    EXPECT_EQ(host(r[3]), host(most));  // of equals the first
  }
}

TEST(TileGroups, ReductionsOfEveryDTypeShapeAndAxis) {
  for (const DType dtype : {i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64}) {
    for (const std::int64_t size : {32, 64, 128, 512}) expect_reductions({size}, 0, Axis::Drop, dtype);
    expect_reductions({1, 1024}, 1, Axis::Drop, dtype);
  }
  for (const Axis kept : {Axis::Drop, Axis::Keep}) {
    for (const Shape& shape : {Shape{2, 32}, {4, 32}, {4, 128}, {32, 64}, {64, 128}, {2, 32, 16}, {32, 2, 16}, {32, 16, 2}}) {
      for (int axis = -1; axis < shape.rank(); ++axis) expect_reductions(shape, axis, kept, f32);
    }
  }
}

TEST(TileGroups, BitsAreAddedWithoutCarry) {
  for (const DType dtype : {boolean, i32, u32, i8}) {
    for (const Shape& shape : {Shape{2, 32}, {4, 32}, {4, 128}}) {
      for (const int axis : {0, 1}) {
        const Tensor x = whole_numbers(shape, dtype, 0, dtype == boolean ? 1 : 100);
        const std::int64_t rows = shape[0], columns = shape[1];
        const auto values = cast(x, i64).to_host<std::int64_t>();
        std::vector<double> want(static_cast<std::size_t>(axis == 0 ? columns : rows));
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          double& one = want[static_cast<std::size_t>(axis == 0 ? i % columns : i / columns)];
          one = static_cast<double>(static_cast<std::int64_t>(one) ^ values[static_cast<std::size_t>(i)]);
        }
        const auto r = whole::run({x}, {to({static_cast<std::int64_t>(want.size())}, dtype)},
                                  [&](const Tiles& in) { return Tiles{xor_sum(in[0], axis)}; });
        EXPECT_EQ(host(r[0]), want) << name(dtype) << text(shape, axis);
      }
    }
  }
}

/// Along an axis of a matrix, in f64.
std::vector<double> scanned(std::vector<double> x, const std::vector<double>& y, const Shape& shape, Scan op, int axis, bool reverse) {
  const std::int64_t length = shape[axis], step = axis == 0 ? shape[1] : 1, lines = numel(shape) / length;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t first = axis == 0 ? line : line * length;
    double before = 0;
    for (std::int64_t k = 0; k < length; ++k) {
      const auto at = static_cast<std::size_t>(first + (reverse ? length - 1 - k : k) * step);
      const double own = x[at];
      if (op == Scan::Recurrence) before = own * before + y[at];
      else if (k == 0 || op == Scan::Last) before = own;
      else if (op == Scan::Sum) before += own;
      else if (op == Scan::Product) before *= own;
      else if (op == Scan::Most) before = std::max(before, own);
      x[at] = before;
    }
  }
  return x;
}

TEST(TileGroups, ScansByFunctionsOfEveryShapeAxisAndDirection) {
  for (const Shape& shape : {Shape{8, 32}, {16, 32}, {32, 16}, {2, 1024}, {1024, 2}, {32, 32}, {1, 1024}}) {
    for (const int axis : {0, 1}) {
      for (const bool reverse : {false, true}) {
        for (const Scan op : {Scan::Sum, Scan::Product, Scan::First, Scan::Recurrence, Scan::Most, Scan::Last}) {
          for (const DType dtype : {i32, f32, bf16}) {
            const bool product = op == Scan::Product || op == Scan::Recurrence;
            if (dtype == bf16 && (op == Scan::Sum || product)) continue;  // each word is rounded: another order, another number
            const Tensor x = whole_numbers(shape, dtype, product ? -1 : -10, product ? 1 : 10), y = whole_numbers(shape, dtype, -3, 3, 5);
            const auto r = whole::run({x, y}, {to(shape, dtype)}, [&](const Tiles& in) {
              return groups::scanned(in[0], in[1], op, axis, reverse ? Direction::Reverse : Direction::Forward);
            });
            ASSERT_EQ(host(r[0]), scanned(host(x), host(y), shape, op, axis, reverse))
                << name(dtype) << text(shape, axis) << " scan " << static_cast<int>(op) << (reverse ? " reverse" : "");
          }
        }
      }
    }
  }
}

TEST(TileGroups, HistogramsOfEverySizeWithAndWithoutAMask) {
  for (const auto& [count, bins] :
       {std::pair<std::int64_t, std::int64_t>{2048, 2}, {1024, 8}, {1024, 128}, {256, 512}, {32, 512}, {8, 512}, {8, 2}}) {
    const Tensor x = whole_numbers({count}, i32, 0, static_cast<int>(bins) + 2), some = whole_numbers({count}, boolean, 0, 1, 3);
    std::vector<double> all(static_cast<std::size_t>(bins)), those = all;
    const auto values = x.to_host<std::int32_t>();
    const auto chosen = host(some);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= bins) continue;
      ++all[static_cast<std::size_t>(values[i])];
      those[static_cast<std::size_t>(values[i])] += chosen[i];
    }
    const auto r = whole::run({x, some}, {to({bins}, i32), to({bins}, i32)},
                              [bins = bins](const Tiles& in) { return Tiles{histogram(in[0], bins), histogram(in[0], bins, in[1])}; });
    EXPECT_EQ(host(r[0]), all) << count << " " << bins;
    EXPECT_EQ(host(r[1]), those) << count << " " << bins;
  }
}

TEST(TileGroups, RowsAreSortedTurnedAndTheirLargestTaken) {
  for (const Shape& shape : {Shape{512, 1}, {64, 8}, {16, 256}, {8, 512}}) {
    for (const DType dtype : {i32, f16, f32, bf16}) {
      SCOPED_TRACE(std::string(name(dtype)) + to_string(shape));
      const Tensor x = whole_numbers(shape, dtype, -100, 100);
      for (const bool descending : {false, true}) {
        const auto order = descending ? tile::Order::Descending : tile::Order::Ascending;
        const Sorted want = sort(x, 1, descending ? Order::Descending : Order::Ascending);
        const auto r = whole::run({x}, {to(shape, dtype), to(shape, i64)},
                                  [&](const Tiles& in) { return Tiles{sort(in[0], 1, order), argsort(in[0], 1, order)}; });
        EXPECT_EQ(host(r[0]), host(want.values));
        EXPECT_EQ(host(r[1]), host(want.indices));
      }
      EXPECT_EQ(host(whole::run({x}, {to(shape, dtype)}, [](const Tiles& in) { return Tiles{flip(in[0], -1)}; })[0]), host(flip(x, {1})));
      for (const std::int64_t k : {1, 4, 10, 100, 512}) {
        const std::int64_t taken = std::min(k, shape[1]);
        const auto r = whole::run({x}, {to({shape[0], taken}, dtype)}, [&](const Tiles& in) { return Tiles{topk(in[0], taken)}; });
        EXPECT_EQ(host(r[0]), host(topk(x, taken, 1).values)) << k;
      }
    }
  }
  const Tensor line = concat({arange(15.0f), tensor({INFINITY})}, 0);  // Triton's issue 5439
  const auto r = whole::run({line}, {to({16}, f32)}, [](const Tiles& in) { return Tiles{reshape(flip(reshape(in[0], {8, 2}), 1), {16})}; });
  EXPECT_EQ(r[0].to_host(), reshape(flip(reshape(line, {8, 2}), {1}), {16}).to_host());
}

TEST(TileGroups, ElementsAreMovedToWhereTheyBelong) {
  for (const DType dtype : {f32, f16, bf16, e4m3, i8, i32, i64}) {
    for (const Shape& shape : {Shape{64, 64}, {128, 64}, {16, 128}}) {
      const Tensor x = whole_numbers(shape, dtype);
      const std::int64_t rows = shape[0], columns = shape[1];
      const auto r =
          whole::run({x}, {to({columns, rows}, dtype), to({columns / 2, 2 * rows}, dtype), to({rows * columns}, dtype)},
                     [&](const Tiles& in) { return Tiles{trans(in[0]), reshape(in[0], {columns / 2, 2 * rows}), ravel(in[0])}; });
      EXPECT_EQ(host(r[0]), host(transpose(x))) << name(dtype) << to_string(shape);
      EXPECT_EQ(host(r[1]), host(x)) << name(dtype);
      EXPECT_EQ(host(r[2]), host(x)) << name(dtype);
    }
  }
  const Tensor x = whole_numbers({2, 4, 8, 16}, i32);
  std::vector<int> order{0, 1, 2, 3};
  do {
    Shape shape;
    Dims axes;
    for (const int axis : order) shape.push_back(x.shape()[axis]), axes.push_back(axis);
    const auto r = whole::run({x}, {to(shape, i32)}, [&](const Tiles& in) { return Tiles{permute(in[0], order)}; });
    EXPECT_EQ(host(r[0]), host(permute(x, axes))) << to_string(axes);
  } while (std::next_permutation(order.begin(), order.end()));
  const std::pair<Shape, std::pair<Shape, int>> gathers[] = {
      {{4, 4}, {{8, 4}, 0}}, {{128, 64}, {{256, 64}, 0}}, {{128, 64}, {{128, 128}, 1}}};
  for (const auto& [from, index] : gathers) {
    const auto& [shape, axis] = index;
    const Tensor source = whole_numbers(from, f32), at = whole_numbers(shape, i32, 0, static_cast<int>(from[axis]) - 1);
    const auto r = whole::run({source, at}, {to(shape, f32)}, [axis = axis](const Tiles& in) { return Tiles{gather(in[0], in[1], axis)}; });
    EXPECT_EQ(host(r[0]), host(gather(source, axis, cast(at, i64)))) << to_string(from);
  }
}

TEST(TileGroups, TilesOfAllSizesAreJoinedSplitAndWoven) {
  for (const DType dtype : {i8, i32, f16, f32, f64}) {
    for (const Shape& shape : {Shape{128}, {16, 32}, {1, 8}, {4, 8, 4}}) {
      const Tensor x = whole_numbers(shape, dtype), y = whole_numbers(shape, dtype, -50, 50, 3);
      Shape joined = shape, woven = shape;
      joined.push_back(2);
      woven[shape.rank() - 1] *= 2;
      const Tensor pairs = stack({x, y}, -1);
      const auto r = whole::run({x, y}, {to(joined, dtype), to(woven, dtype), to(shape, dtype), to(shape, dtype)}, [](const Tiles& in) {
        const auto [left, right] = split(join(in[0], in[1]));
        return Tiles{join(in[0], in[1]), interleave(in[0], in[1]), left, right};
      });
      EXPECT_EQ(host(r[0]), host(pairs)) << name(dtype) << to_string(shape);
      EXPECT_EQ(host(r[1]), host(pairs)) << name(dtype) << to_string(shape);
      EXPECT_EQ(host(r[2]), host(x)) << name(dtype) << to_string(shape);
      EXPECT_EQ(host(r[3]), host(y)) << name(dtype) << to_string(shape);
    }
  }
}

}  // namespace
}  // namespace tegula
