// Linear layouts, and conversions of tiles between them.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tegula/simt/layouts/conversion.h"
#include "tegula/simt/layouts/rows.h"
#include "tegula/simt/machine/machine.h"
#include "tegula/simt/passes/convert_layouts.h"
#include "tegula/simt/passes/place_shared.h"
#include "tegula/simt/print/print.h"

namespace {

using namespace tegula;
using namespace tegula::simt;
using Way = Conversion::Way;

template <class F>
void each_spot(const Linear& layout, F&& f) {
  for (Bits warp = 0; warp < Bits{1} << layout.warps().size(); ++warp)
    for (Bits lane = 0; lane < 32; ++lane)
      for (Bits reg = 0; reg < static_cast<Bits>(layout.held()); ++reg) f(Spot{reg, lane, warp});
}

TEST(LinearLayouts, SolveFindsWhatIsThere) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 1000; ++turn) {
    Columns columns(1 + random() % 8);
    for (Bits& column : columns) column = random() % 64;
    std::set<Bits> reached;
    for (Bits bits = 0; bits < Bits{1} << columns.size(); ++bits) reached.insert(product(columns, bits));
    EXPECT_EQ(reached.size(), std::size_t{1} << rank_of(columns));
    for (Bits target = 0; target < 64; ++target) {
      const auto found = solve(columns, target);
      ASSERT_EQ(found.has_value(), reached.contains(target));
      if (found) { ASSERT_EQ(product(columns, *found), target); }
    }
  }
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
TEST(LinearLayouts, FragmentsLieAsTheInstructionSays) {
  const Linear left = fragment_layout(Fragment::Left, 16, 16, 1), right = fragment_layout(Fragment::Right, 16, 8, 1),
               sums = fragment_layout(Fragment::Accumulator, 16, 8, 1);
  for (Bits lane = 0; lane < 32; ++lane) {
    const Bits group = lane / 4, place = lane % 4;
    for (Bits i = 0; i < 8; ++i) {
      const Bits row = i < 2 || (i >= 4 && i < 6) ? group : group + 8, column = place * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      EXPECT_EQ(left.element({i, lane, 0}), row * 16 + column);
    }
    for (Bits i = 0; i < 4; ++i) {
      EXPECT_EQ(right.element({i, lane, 0}), (place * 2 + (i & 1) + (i >= 2 ? 8 : 0)) * 8 + group);
      EXPECT_EQ(sums.element({i, lane, 0}), (i < 2 ? group : group + 8) * 8 + place * 2 + (i & 1));
    }
  }
  EXPECT_TRUE(fragment_layout(Fragment::Accumulator, 64, 32, 4).covers(11));
  EXPECT_TRUE(fragment_layout(Fragment::Left, 128, 32, 4).covers(12));
  EXPECT_TRUE(fragment_layout(Fragment::Right, 32, 64, 4).covers(11));
}

TEST(LinearLayouts, RowsOfThreadsAreLinear) {
  gpu::ThreadGrid grid;
  grid.rows = 16, grid.columns = 64, grid.vector = 4, grid.row_threads = 8, grid.column_threads = 8, grid.row_steps = 2,
  grid.column_steps = 2;
  const auto full = gpu::linear_layout(grid, {16, 64}), row = gpu::linear_layout(grid, {16, 1}), flat = gpu::linear_layout(grid, {64, 16});
  ASSERT_TRUE(full && row && flat);
  for (Bits thread = 0; thread < 64; ++thread) {
    const Bits tr = thread / 8, tc = thread % 8;
    for (Bits r = 0; r < 2; ++r) {
      EXPECT_EQ(row->element({r, thread % 32, thread / 32}), r * 8 + tr);
      for (Bits c = 0; c < 2; ++c)
        for (Bits k = 0; k < 4; ++k) {
          const Bits place = (r * 2 + c) * 4 + k, column = (c * 8 + tc) * 4 + k;
          EXPECT_EQ(full->element({place, thread % 32, thread / 32}), (r * 8 + tr) * 64 + column);
        }
    }
    for (Bits c = 0; c < 16; ++c) EXPECT_EQ(flat->element({c, thread % 32, thread / 32}), c * 64 + thread);
  }
  grid.columns = 60;
  EXPECT_FALSE(gpu::linear_layout(grid, {16, 60}));
}

/// A layout with a place for each of 2^bits elements, of random columns; some elements lie in several places.
Linear random_layout(std::mt19937& random, int bits, std::size_t registers, std::size_t warps) {
  for (;;) {
    const auto columns = [&](std::size_t count) {
      Columns all(count);
      for (Bits& column : all) column = random() % 8 == 0 ? 0 : random() % (Bits{1} << bits);
      return all;
    };
    Linear layout(columns(registers), columns(5), columns(warps));
    if (layout.covers(bits)) return layout;
  }
}
/// One whose elements a thread of the same warp, or the same thread, has in `from`; each register that it has depends on few bits of the thread.
Linear beside(std::mt19937& random, const Linear& from, bool same_lane) {
  const auto any = [&](std::size_t bits) { return static_cast<Bits>(random() % (Bits{1} << bits)); };
  const std::size_t held = from.registers().size();
  const Bits choice = any(held);
  Columns registers, lanes, warps;
  for (std::size_t i = 0; i < held; ++i) registers.push_back(from.element({any(held), same_lane ? 0 : any(5), 0}));
  for (std::size_t i = 0; i < 5; ++i) lanes.push_back(from.element({random() % 2 ? choice : 0, same_lane ? Bits{1} << i : any(5), 0}));
  for (std::size_t i = 0; i < from.warps().size(); ++i)
    warps.push_back(from.element({random() % 2 ? choice : 0, same_lane ? 0 : any(5), Bits{1} << i}));
  return {registers, lanes, warps};
}

struct Case {
  Linear from, to;
  int bits;
};
std::vector<Case> cases(int count) {
  std::mt19937 random(20261127);
  std::vector<Case> all;
  for (int turn = 0; turn < count; ++turn) {
    const std::size_t warps = random() % 3, registers = 1 + random() % 3;
    const int bits = static_cast<int>(5 + random() % (warps + registers + 1));
    const Linear from = random_layout(random, bits, registers, warps);
    all.push_back({from, turn % 3 == 0 ? random_layout(random, bits, registers, warps) : beside(random, from, turn % 3 == 1), bits});
  }
  return all;
}

TEST(LayoutConversion, WordsInSharedMemoryLieInBanksOfTheirOwn) {
  for (const Case& one : cases(300)) {
    const Conversion way = through_shared(one.from, one.to, one.bits, 4);
    ASSERT_EQ(rank_of(way.words), one.bits) << "a word for each element";
    for (const Linear& side : {one.from.mapped(way.words), one.to.mapped(way.words)}) {
      for (Bits reg = 0; reg < static_cast<Bits>(side.held()); ++reg) {
        std::map<Bits, std::set<Bits>> words;  // by bank
        for (Bits lane = 0; lane < 32; ++lane) words[side.element({reg, lane, 0}) % 32].insert(side.element({reg, lane, 0}));
        for (const auto& [bank, met] : words) ASSERT_EQ(met.size(), 1u) << "lanes meet in bank " << bank;
      }
    }
  }
}

struct Converted {
  std::string text;
  Observed observed;
  bool right = true;
};
/// Has the machine move numbers from one layout to the other.
template <class T>
Converted converted(const Case& one, DType dtype, bool uneven, unsigned order) {
  const int threads = 32 << one.from.warps().size();
  const auto at = [](const char* array, int count, int i) { return group(Expression(array) + thread_index() * count + i); };
  const auto registers = [&](const char* name, const Linear& layout) { return Register{name, computed(dtype), {layout.held()}}; };
  const tile::Parameter memory{.name = "in", .dtype = dtype, .writable = true};
  Kernel kernel{.column_threads = threads,
                .parameters = {{.name = "in", .declared = memory}, {.name = "out", .declared = memory}},
                .entry = {},
                .body = {}};
  kernel.body = {Declare{.what = registers("source", one.from)}, Declare{.what = registers("target", one.to)}};
  for (int i = 0; i < one.from.held(); ++i)
    kernel.body.push_back(Assign{.target = simt::element("source", i), .value = load(at("in", one.from.held(), i))});
  kernel.body.push_back(Convert{registers("source", one.from), registers("target", one.to), one.from, one.to, one.bits});
  for (int i = 0; i < one.to.held(); ++i)
    kernel.body.push_back(StoreOne{.computed = dtype, .value = simt::element("target", i), .pointer = at("out", one.to.held(), i)});
  convert_layouts(kernel);
  place_shared(kernel);
  std::vector<T> in, out(static_cast<std::size_t>(threads * one.to.held()), T(-1));
  each_spot(one.from, [&](const Spot& spot) { in.push_back(static_cast<T>(one.from.element(spot))); });
  const runtime::Argument arguments[2] = {{.pointer = in.data()}, {.pointer = out.data()}};
  const runtime::ArgumentSet set{.arguments = arguments};
  Converted result{.text = print(kernel.body, 0), .observed = {}};
  result.observed = Machine(kernel).run({.sets = {&set, 1}}, {.uneven = uneven, .order = order, .memory = {}});
  std::size_t i = 0;
  each_spot(one.to, [&](const Spot& spot) { result.right = result.right && out[i++] == static_cast<T>(one.to.element(spot)); });
  return result;
}

TEST(LayoutConversion, LeavesEveryElementInItsPlace) {
  std::map<Way, int> ways;
  unsigned order = 0;
  for (const Case& one : cases(600)) {
    ++ways[conversion_of(one.from, one.to, one.bits, 4).way];
    ++order;
    const bool uneven = order % 2 == 0;
    for (const Converted& result : {converted<float>(one, DType::f32, uneven, order), converted<double>(one, DType::f64, uneven, order)}) {
      ASSERT_TRUE(result.right) << result.text;
      ASSERT_TRUE(result.observed.findings.empty()) << result.text << to_string(result.observed);
      ASSERT_EQ(result.observed.banks.conflicts, 0) << result.text;
    }
  }
  for (const Way way : {Way::Registers, Way::Lanes, Way::Shared}) EXPECT_GT(ways[way], 50) << static_cast<int>(way);
}

TEST(LayoutConversion, ATileThatEveryThreadHasAlreadyMovesAmongItsRegisters) {
  const Case one{Linear({1, 2}, {4, 8, 16, 32, 64}, {}), Linear({2, 1}, {4, 8, 16, 32, 64}, {}), 7};
  EXPECT_EQ(conversion_of(one.from, one.to, one.bits, 4).way, Way::Registers);
  const std::string text = converted<float>(one, DType::f32, false, 0).text;
  EXPECT_EQ(text.find("__syncthreads"), std::string::npos) << text;
  EXPECT_EQ(text.find("exchanged"), std::string::npos) << text;
}

}  // namespace
