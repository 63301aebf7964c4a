// Loads and stores of every stored dtype in every layout that has a path of its own. Memory is exactly as long as it must be.

#include "tegula/cpu/simd/vector_targets.h"

#include <algorithm>

#include <hwy/targets.h>

#include "tests/support/atomic_programs.h"
#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

constexpr std::int64_t kRows = 21, kColumns = 37;

/// Strides of a (kRows, kColumns) block and how many elements it spans.
struct BlockLayout {
  const char* name;
  std::int64_t row, column;
  std::int64_t span() const { return (kRows - 1) * row + (kColumns - 1) * column + 1; }
};
constexpr BlockLayout kLayouts[] = {
    {"dense", kColumns, 1},      {"rows apart", kColumns + 5, 1}, {"one row repeated", 0, 1},         {"one column repeated", 1, 0},
    {"one element", 0, 0},       {"transposed", 1, kRows},        {"transposed apart", 1, kRows + 3}, {"every other", 2 * kColumns, 2},
    {"strides at random", 3, 65}};

TestArgument numbers(DType dtype, std::size_t count) {
  return TestArgument::filled(dtype, count, [&](std::size_t i) {
    return dtype == boolean     ? static_cast<double>(i % 3 == 0)
           : is_unsigned(dtype) ? static_cast<double>(i % 251)
                                : static_cast<double>(i % 113) - 50;
  });
}

enum class Mask { None, Rows, MiddleRows, Columns, Both, Inside, Empty, Dense };

Value mask_of(Builder& b, Mask kind, Value r, Value c) {
  switch (kind) {
    case Mask::Rows: return broadcast(col(r < 13), {kRows, kColumns});
    case Mask::MiddleRows: return broadcast(col(r > 2) && col(r <= 11), {kRows, kColumns});
    case Mask::Columns: return broadcast(row(c < 18), {kRows, kColumns});
    case Mask::Both: return col(r < 20) && row(c < 33);
    case Mask::Inside: return (col(r > 2) && row(c >= 5)) && (col(r <= 11) && row(c < 30));
    case Mask::Empty: return broadcast(col(r < 0), {kRows, kColumns});
    case Mask::Dense: return broadcast(col(r), {kRows, kColumns}) * 3 < broadcast(row(c), {kRows, kColumns});
    default: return {};
  }
  (void)b;
}
constexpr Mask kMasks[] = {Mask::None, Mask::Rows, Mask::MiddleRows, Mask::Columns, Mask::Both, Mask::Inside, Mask::Empty, Mask::Dense};

TEST(ExecutorMemory, LoadsOfEveryDTypeLayoutAndMask) {
  for (const DType dtype : kAllDTypes) {
    for (const BlockLayout& layout : kLayouts) {
      for (const Mask kind : kMasks) {
        Builder b("load");
        const Value in = b.pointer("in", dtype, false), out = b.pointer("out", dtype, true);
        const Value r = b.arange(0, kRows), c = b.arange(0, kColumns);
        const Value mask = mask_of(b, kind, r, c);
        const Value place = in + (col(r) * layout.row + row(c) * layout.column);
        const Value x = mask ? b.load(place, mask, b.constant(std::int64_t{1}, compute_type(dtype))) : b.load(place);
        b.store(out + (col(r) * kColumns + row(c)), x);
        EXPECT_TRUE(
            agrees(b.finish(), {numbers(dtype, static_cast<std::size_t>(layout.span())), TestArgument::empty(dtype, kRows * kColumns)}))
            << name(dtype) << " " << layout.name;
      }
    }
  }
}

TEST(ExecutorMemory, StoresOfEveryDTypeLayoutAndMask) {
  for (const DType dtype : kAllDTypes) {
    for (const BlockLayout& layout : kLayouts) {
      if (layout.row == 0 || layout.column == 0) continue;
      for (const Mask kind : kMasks) {
        for (const bool computed : {false, true}) {
          Builder b("store");
          const Value in = b.pointer("in", dtype, false), out = b.pointer("out", dtype, true);
          const Value r = b.arange(0, kRows), c = b.arange(0, kColumns);
          Value x = b.load(in + (col(r) * kColumns + row(c)));
          if (computed && dtype != boolean) x = x + 1;
          b.store(out + (col(r) * layout.row + row(c) * layout.column), x, mask_of(b, kind, r, c));
          EXPECT_TRUE(
              agrees(b.finish(), {numbers(dtype, kRows * kColumns), TestArgument::empty(dtype, static_cast<std::size_t>(layout.span()))}))
              << name(dtype) << " " << layout.name;
        }
      }
    }
  }
}

/// The machine has no more than this instruction set until the end of the scope; programs are compiled for what it has.
class OnlyWith {
 public:
  explicit OnlyWith(std::int64_t instructions) { set(instructions); }
  ~OnlyWith() { set(0); }
  OnlyWith(const OnlyWith&) = delete;
  OnlyWith& operator=(const OnlyWith&) = delete;

 private:
  static void set(std::int64_t instructions) {
    hwy::SetSupportedTargetsForTest(instructions);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Whole squares of vectors and what is left over, both ways, in every instruction set that this machine and the library have.
TEST(ExecutorMemory, TransposedBlocksInEveryInstructionSet) {
  int sets = 0;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1, ++sets) {
    const std::int64_t instructions = rest & -rest;
    const OnlyWith only(instructions);
    for (const DType dtype : kAllDTypes) {
      for (const bool loads : {true, false}) {
        Builder b("transposed");
        const Value in = b.pointer("in", dtype, false), out = b.pointer("out", dtype, true);
        const Value r = b.arange(0, kRows), c = b.arange(0, kColumns);
        const Value dense = col(r) * kColumns + row(c), turned = col(r) + row(c) * (kRows + 3);
        constexpr std::size_t kSpan = (kColumns - 1) * (kRows + 3) + kRows;
        Value x = b.load(in + (loads ? turned : dense));
        if (dtype != boolean) x = x + 1;
        b.store(out + (loads ? dense : turned), x);
        EXPECT_TRUE(agrees(b.finish(), {numbers(dtype, kSpan), TestArgument::empty(dtype, kSpan)}))
            << name(dtype) << (loads ? " loaded, " : " stored, ") << hwy::TargetName(instructions);
      }
    }
  }
  EXPECT_GE(sets, 1);
}

TEST(ExecutorMemory, StoresOfBroadcastAndTransposedTiles) {
  for (const DType dtype : {f32, f16, i64, u8, boolean}) {
    for (int kind = 0; kind < 4; ++kind) {
      Builder b("store");
      const Value in = b.pointer("in", dtype, false), out = b.pointer("out", dtype, true);
      const Value r = b.arange(0, kRows), c = b.arange(0, kColumns);
      Value x;
      if (kind == 0) x = broadcast(b.load(in + col(r)), {kRows, kColumns});
      else if (kind == 1) x = broadcast(b.load(in + row(c)), {kRows, kColumns});
      else if (kind == 2) x = transpose(b.load(in + (col(c) * kRows + row(r))));
      else x = b.full({kRows, kColumns}, 1, compute_type(dtype));
      b.store(out + (col(r) * kColumns + row(c)), x);
      EXPECT_TRUE(agrees(b.finish(), {numbers(dtype, kRows * kColumns), TestArgument::empty(dtype, kRows * kColumns)}))
          << name(dtype) << " " << kind;
    }
  }
}

TEST(ExecutorMemory, HalfPrecisionRoundsToNearestEvenAndKeepsSpecials) {
  for (const DType stored : {f16, bf16}) {
    Builder b("round");
    const Value in = b.pointer("in", f32, false), out = b.pointer("out", stored, true), i = b.arange(0, 4096);
    b.store(out + i, b.load(in + i));
    const auto memory = TestArgument::filled(f32, 4096, [](std::size_t k) {
      constexpr double kSpecial[] = {HUGE_VAL, -HUGE_VAL, 65519, 65520,   65504,      6e-8,      3e-8,
                                     2.9e-8,   -0.0,      1e-40, 3.39e38, 1.00390625, 1.01171875};
      return k < 13    ? kSpecial[k]
             : k == 13 ? std::nan("")
                       : std::ldexp(1.0 + static_cast<double>(k * 37 % 4096) / 4096, static_cast<int>(k % 40) - 20);
    });
    EXPECT_TRUE(agrees(b.finish(), {memory, TestArgument::empty(stored, 4096)})) << name(stored);
  }
}

/// The grid covers n elements in tiles; only the last one is partial. Nothing behind element n is touched.
TEST(ExecutorMemory, TailsOfEveryLength) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 63, 64, 65, 100, 127, 128, 129, 300}) {
    Builder b("tail");
    const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), z = b.pointer("z", f32, true), count = b.scalar("n", i64);
    const Value i = b.program_id(0) * 128 + b.arange(0, 128), mask = i < count;
    const Value v = b.load(x + i, mask), w = b.load(y + i, mask);
    const Value sum = v * 2 + w;
    b.store(y + i, sum, mask);
    b.store(z + i, sum - v, mask);
    const auto size = static_cast<std::size_t>(n);
    EXPECT_TRUE(agrees(
        b.finish(), {numbers(f32, size), numbers(f32, size), TestArgument::empty(f32, size), TestArgument::scalar(static_cast<double>(n))},
        {.grids = {{(n + 127) / 128, 1, 1}}}))
        << n;
  }
}

TEST(ExecutorMemory, RowTailsThroughReductionsAndBroadcasts) {
  for (const std::int64_t rows : {1, 3, 7, 8, 9, 20}) {
    Builder b("rows");
    const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), w = b.pointer("w", f32, false), count = b.scalar("n", i64);
    const Value r = b.program_id(0) * 8 + b.arange(0, 8), c = b.arange(0, 24);
    const Value mask = broadcast(col(r < count), {8, 24}), place = col(r) * 24 + row(c);
    const Value v = b.load(x + place, mask);
    const Value centred = v - reduce(v, 1, Reduction::Max);
    b.store(y + place, centred * b.load(w + row(c)) + reduce(centred, 1, Reduction::Min), mask);
    const auto size = static_cast<std::size_t>(rows * 24);
    EXPECT_TRUE(agrees(
        b.finish(), {numbers(f32, size), TestArgument::empty(f32, size), numbers(f32, 24), TestArgument::scalar(static_cast<double>(rows))},
        {.grids = {{(rows + 7) / 8, 1, 1}}}))
        << rows;
  }
}

/// A square tile whose diagonal neighbours have equal sizes: a limit on rows must not become one on columns.
TEST(ExecutorMemory, RowLimitsDoNotReachColumns) {
  Builder b("square");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), w = b.pointer("w", f32, false), count = b.scalar("n", i64);
  const Value r = b.arange(0, 8), c = b.arange(0, 8);
  const Value mask = broadcast(col(r < count), {8, 8}), place = col(r) * 8 + row(c);
  const Value bias = b.load(w + c) * 2;
  b.store(y + place, b.load(x + place) + row(bias) + transpose(b.load(x + place)), mask);
  EXPECT_TRUE(agrees(b.finish(), {numbers(f32, 64), TestArgument::empty(f32, 64), numbers(f32, 8), TestArgument::scalar(3)}));
}

TEST(ExecutorMemory, RowsAndElementsAreGatheredAndScattered) {
  for (const DType dtype : {f32, bf16, i8}) {
    Builder b("gather");
    const Value table = b.pointer("table", dtype, false), ids = b.pointer("ids", i64, false), out = b.pointer("out", dtype, true),
                back = b.pointer("back", dtype, true);
    const Value r = b.arange(0, 9), c = b.arange(0, 20);
    const Value id = b.load(ids + r);
    const Value rows = b.load(table + (col(id) * 20 + row(c)));
    b.store(out + (col(r) * 20 + row(c)), rows);
    b.store(back + (col(8 - id) * 20 + row(c)), rows);
    const Value diagonal = b.load(table + (id * 20 + id));
    b.store(out + (r + 180), diagonal, id > 3);
    const auto index = TestArgument::filled(i64, 9, [](std::size_t i) { return static_cast<double>(i * 4 % 9); });
    EXPECT_TRUE(agrees(b.finish(), {numbers(dtype, 180), index, TestArgument::empty(dtype, 189), TestArgument::empty(dtype, 180)}))
        << name(dtype);
  }
}

TEST(ExecutorMemory, AtomicAddsFollowTheOrderOfTheInstances) {
  for (const DType dtype : {f32, f16, i32, u8}) {
    Builder b("histogram");
    const Value in = b.pointer("in", i64, false), out = b.pointer("out", dtype, true), n = b.scalar("n", i64);
    const Value i = b.program_id(0) * 16 + b.arange(0, 16), mask = i < n;
    const Value bin = b.load(in + i, mask);
    b.atomic_add(out + bin, cast(bin, compute_type(dtype)) + 1, mask);
    const auto bins = TestArgument::filled(i64, 100, [](std::size_t k) { return static_cast<double>(k * k % 7); });
    EXPECT_TRUE(agrees(b.finish(), {bins, numbers(dtype, 7), TestArgument::scalar(100)}, {.grids = {{7, 1, 1}}})) << name(dtype);
  }
}

TEST(ExecutorMemory, EveryAtomicWordGivesWhatWasThereBefore) {
  for (const DType dtype : {f64, f32, f16, bf16, i64, u64, i32, u32, i16, u16, i8, u8}) {
    const auto some = [&](std::size_t k) { return static_cast<double>(k * k % 7) - (is_unsigned(dtype) ? 0 : 3); };
    EXPECT_TRUE(agrees(test::every_atomic(dtype, 7),
                       {TestArgument::filled(dtype, 112, some), TestArgument::filled(dtype, 256, some),
                        TestArgument::empty(dtype, 16 * 128), TestArgument::scalar(100)},
                       {.grids = {{7, 1, 1}}}))
        << name(dtype);
  }
}

TEST(ExecutorMemory, TilesMoveHomeBeforeTheirMemoryIsOverwritten) {
  Builder b("swap");
  const Value x = b.pointer("x", f32, true), y = b.pointer("y", f32, true), i = b.arange(0, 100);
  const Value a = b.load(x + i), c = b.load(y + i);
  b.store(x + i, c);
  b.store(y + i, a);
  const Value shifted = b.load(x + i);
  b.store(x + (i + 1), shifted * 2);
  b.store(x + (i + 3), shifted);
  EXPECT_TRUE(agrees(b.finish(),
                     {numbers(f32, 103), TestArgument::filled(f32, 100, [](std::size_t k) { return 1000.0 + static_cast<double>(k); })}));
}

/// Between a word and the store of its result, a number is taken out of a tile: it says where the store goes, or which instances store. The word cannot
/// write there itself.
TEST(ExecutorMemory, AStoreMayDependOnNumbersComputedAfterItsValue) {
  for (const bool masked : {true, false}) {
    Builder b("late");
    const Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), i = b.arange(0, 8), id = b.program_id(0);
    const Value number = reduce(broadcast(id, {33}), 0, Reduction::Min);
    const Value x = b.load(in + (id * 8 + i)) + 1;
    if (masked) b.store(out + (id * 8 + i), x, broadcast(reshape(number < 1, {}), {8}));
    else b.store(out + (reshape(number, {}) * 8 + i), x);
    EXPECT_TRUE(agrees(b.finish(), {numbers(f32, 24), TestArgument::empty(f32, 24)}, {.grids = {{3, 1, 1}}})) << masked;
  }
}

}  // namespace
}  // namespace tegula::host
