// Launches that begin while the previous one runs: the loads ahead of the wait, and those behind it.

#include "tegula/simt/verify/verify.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

struct Places {
  std::size_t begin, wait, guard, x, w, b, store;
};
Places places(const Program& program, bool guarded) {
  const std::string text =
      generate(program, {.facts = std::vector<std::uint8_t>(program.parameters.size(), 4), .guarded = guarded, .one_axis = true}, 90)
          .source;
  const std::size_t body = text.find("id2;");
  EXPECT_EQ(text.find("await_launch_ahead();"), text.rfind("await_launch_ahead();"));
  return {text.find("let_next_begin();"), text.find("await_launch_ahead();"), text.find("any_failed("),     text.find("(p_x ", body),
          text.find("(p_w ", body),       text.find("(p_b ", body),           text.find("store_wide", body)};
}

TEST(Early, WhatStaysIsReadBeforeTheWait) {
  const Places at = places(product_of_a_row(bf16, true), false);
  EXPECT_LT(at.begin, at.w);
  EXPECT_LT(at.w, at.wait);
  EXPECT_LT(at.b, at.wait);
  EXPECT_LT(at.wait, at.x);
  EXPECT_LT(at.wait, at.store);
}

TEST(Early, WhatMayChangeIsReadBehindIt) {
  const Places at = places(product_of_a_row(bf16, false), false);
  EXPECT_LT(at.begin, at.wait);
  for (const std::size_t access : {at.x, at.w, at.b, at.store}) EXPECT_LT(at.wait, access);
}

TEST(Early, FailuresOfLaunchesAheadAreSeen) {
  const Places at = places(product_of_a_row(f32, true), true);
  EXPECT_LT(at.wait, at.guard);
  EXPECT_LT(at.guard, at.store);
}

TEST(Early, ProgramsThatDoNotBeginEarlyAreWhatTheyWere) {
  Program program = product_of_a_row(f32, true);
  program.early = false;
  const std::string text = generate(program, {{4, 4, 4, 4}, false}, 90).source;
  EXPECT_EQ(text.find("await_launch_ahead"), std::string::npos);
  EXPECT_EQ(text.find("let_next_begin"), std::string::npos);
}

/// The wait is no statement of a loop: blocks without an iteration wait, too.
TEST(Early, ALoopThatReadsIsBehindTheWait) {
  Builder b("rows");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), n = b.scalar("n", i64);
  const Value column = tile::row(b.arange(0, kProductColumns));
  const std::vector<Value> sum =
      b.for_(b.constant(std::int64_t{0}, i64), n, b.constant(std::int64_t{1}, i64), {b.full({1, kProductColumns}, 0, f32)},
             [&](Value row, std::span<const Value> carried) {
               return std::vector<Value>{carried[0] + b.load(x + (row * b.constant(kProductColumns, i64) + column))};
             });
  b.store(y + column, sum[0]);
  Program program = b.finish();
  program.early = true;
  const std::string text = generate(program, {{4, 4, 3}, false}, 90).source;
  EXPECT_LT(text.find("\n  await_launch_ahead();"), text.find("for (long long"));
  EXPECT_TRUE(emulation_agrees(
      program, {TestArgument::filled(f32, 5 * kProductColumns, wave), TestArgument::empty(f32, kProductColumns), TestArgument::scalar(5)},
      {.grids = {{1, 1, 1}}}));
}

/// Blocks that share a row leave together, and sums in the order of the instances are one block's: both wait before anything else.
TEST(Early, ClustersAndOrderedSumsWaitAtOnce) {
  Builder b("row");
  const std::int64_t columns = 40000;
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), column = tile::row(b.arange(0, columns));
  const Value values = b.load(x + column);
  b.store(y + column, values - reduce(values, 1, Reduction::Max));
  Program row = b.finish();
  row.early = row.parameters[0].unwritten = true;
  const Generated code = generate(row, {{4, 4}, false}, 90);
  EXPECT_GT(code.cluster, 1);
  EXPECT_LT(code.source.find("await_launch_ahead();"), code.source.find("TEGULA_SHARED"));

  Builder s("sums");
  const Value from = s.pointer("x", f32, false), to = s.pointer("y", f32, true), i = s.arange(0, 64);
  s.atomic_add(to + s.load(s.pointer("at", i64, false) + i), s.load(from + i));
  Program sums = s.finish();
  sums.early = true;
  const std::string text = generate(sums, {{4, 4, 4}, false}, 90).source;
  EXPECT_LT(text.find("await_launch_ahead();"), text.find("walkers"));
}

TEST(Early, ValuesAreTheSame) {
  for (const DType dtype : {f32, bf16, f64}) {
    for (const bool unwritten : {true, false}) {
      EXPECT_TRUE(emulation_agrees(
          product_of_a_row(dtype, unwritten),
          {TestArgument::filled(dtype, kProductRows, [](std::size_t k) { return static_cast<double>(k % 5) - 2; }),
           TestArgument::filled(dtype, kProductRows * 2 * kProductColumns, [](std::size_t k) { return static_cast<double>(k % 7) - 3; }),
           TestArgument::filled(dtype, 2 * kProductColumns, [](std::size_t k) { return static_cast<double>(k % 3); }),
           TestArgument::empty(dtype, 2 * kProductColumns)},
          {.grids = {{2, 1, 1}}}));
    }
  }
}

/// The sums of a decoder's products, rows x columns of an instance, with x and w of whole numbers.
Program tall_product(DType dtype, std::int64_t rows, std::int64_t columns, bool early) {
  Builder builder("tall");
  const Value x = builder.pointer("x", dtype, false), w = builder.pointer("w", dtype, false), y = builder.pointer("y", f32, true);
  const Value r = col(builder.arange(0, rows)), c = tile::row(builder.arange(0, columns));
  builder.store(y + c, reduce(builder.load(x + r) * builder.load(w + (r * builder.constant(columns, i64) + c)), 0, Reduction::Sum));
  Program program = builder.finish();
  program.early = early;
  program.parameters[1].unwritten = true;
  return program;
}

TEST(Early, TilesLeaveRoomForTheNextLaunch) {
  const auto code = [](std::int64_t rows, std::int64_t columns, bool early) {
    return generate(tall_product(bf16, rows, columns, early), {{4, 4, 4}, false}, 90);
  };
  EXPECT_EQ(code(768, 32, false).threads, 1024);
  EXPECT_EQ(code(768, 32, true).threads, 512);
  EXPECT_NE(code(768, 32, true).source.find("__launch_bounds__(512, 2)"), std::string::npos);
  EXPECT_EQ(code(3072, 16, true).threads, 1024);  // more than half of the registers hold
  EXPECT_NE(code(768, 32, true).source.find("fmaf("), std::string::npos);  // a product that one sum reads
}

TEST(Early, TallSumsAreTheSame) {
  constexpr std::pair<std::int64_t, std::int64_t> kTiles[] = {{768, 32}, {768, 16}, {3072, 8}, {3072, 16},
                                                              {96, 64},  {301, 24}, {130, 1},  {64, 128}};
  for (const auto& [rows, columns] : kTiles) {
    for (const bool early : {true, false}) {
      const auto fill = [](int m, int shift) {
        return [=](std::size_t k) { return static_cast<double>(static_cast<int>(k * 7 % 31) % m - shift); };
      };
      EXPECT_TRUE(emulation_agrees(tall_product(bf16, rows, columns, early),
                                   {TestArgument::filled(bf16, static_cast<std::size_t>(rows), fill(5, 2)),
                                    TestArgument::filled(bf16, static_cast<std::size_t>(rows * columns), fill(7, 3)),
                                    TestArgument::empty(f32, static_cast<std::size_t>(columns))},
                                   {.grids = {{1, 1, 1}}}))
          << rows << " x " << columns;
    }
  }
}

/// A tile that is computed before the wait stands in front of the change of its layout there.
TEST(Early, ATileIsMadeBeforeItChangesItsLayout) {
  Builder b("turned");
  const Value x = b.pointer("x", i64, false), y = b.pointer("y", i64, true), eight = b.constant(std::int64_t{8}, i64);
  const Value numbers = col(b.arange(0, 8)) * b.constant(std::int64_t{16}, i64) + tile::row(b.arange(0, 16));
  const Value at = col(b.arange(0, 16)) * eight + tile::row(b.arange(0, 8));
  b.store(y + at, transpose(numbers) + b.load(x + at));
  Program program = b.finish();
  program.early = true;
  EXPECT_TRUE(simt::faults(make_kernel(program, {{4, 4}, false}, 90)).empty());
}

// Kernels of cards before sm_90 have no such wait, so nothing may begin before the launch ahead of them is over.
TEST(Early, OnlyWhereKernelsCanWait) {
  Builder b("copy");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), i = b.arange(0, 128);
  b.store(y + i, b.load(x + i));
  Program program = b.finish();
  program.early = true;
  for (const int architecture : {80, 86, 89, 90, 100})
    EXPECT_EQ(generate(program, {{4, 4}, false}, architecture).early, architecture >= 90);
}

}  // namespace
}  // namespace tegula::gpu
