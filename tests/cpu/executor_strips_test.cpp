// Long tiles are worked on strip by strip, and a row's label is marked without a tile of indices: the same values as the interpreter's.

#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

/// Cross-entropy of a row with its gradient: two reductions that a third waits for, and the ops behind them.
Program cross_entropy(std::int64_t rows, std::int64_t columns, std::int64_t first) {
  Builder b("cross_entropy");
  const Value x = b.pointer("x", f32, false), label = b.pointer("label", i64, false);
  const Value loss = b.pointer("loss", f32, true), gradient = b.pointer("gradient", f32, true);
  const Value row_number = b.program_id(0) * rows + b.arange(0, rows);
  const Value place = col(row_number * columns) + row(b.arange(0, columns));
  const Value v = b.load(x + place);
  const Value d = v - reduce(v, 1, Reduction::Max);
  const Value e = unary(Word::Exp, d), sum = reduce(e, 1, Reduction::Sum);
  const Value picked =
      broadcast(b.load(label + col(row_number)), {rows, columns}) == broadcast(row(b.arange(0, columns) + first), {rows, columns});
  const Value zero = b.full({rows, columns}, 0, f32), one = b.full({rows, columns}, 1, f32);
  const Value mine = reduce(select(picked, d, zero), 1, Reduction::Sum);
  b.store(gradient + place, e / sum - select(picked, one, zero));
  b.store(loss + col(row_number), unary(Word::Log, sum) - mine);
  return b.finish();
}

std::string listing(const Program& program) { return compile_program(program)->listing(); }

TEST(ExecutorStrips, ALongRowAgreesWithTheInterpreter) {
  for (const std::int64_t columns : {8192, 8193, 12001}) {  // the last strip is whole, one element, something between
    constexpr std::int64_t kRows = 3;
    const std::vector<std::int64_t> labels{0, columns - 1, 2048};
    const auto program = cross_entropy(1, columns, 0);
    const std::vector<TestArgument> arguments{
        TestArgument::filled(f32, static_cast<std::size_t>(kRows * columns),
                             [](std::size_t i) { return static_cast<double>(i * 2654435761u % 4096) / 512 - 4; }),
        TestArgument::filled(i64, kRows, [&](std::size_t i) { return static_cast<double>(labels[i]); }), TestArgument::empty(f32, kRows),
        TestArgument::empty(f32, static_cast<std::size_t>(kRows * columns))};
    EXPECT_TRUE(agrees(program, arguments, {.grids = {{kRows, 1, 1}}, .tolerance = 256}));  // sums of thousands, in other orders
    EXPECT_NE(listing(program).find("strips of 2048"), std::string::npos) << listing(program);
  }
}

TEST(ExecutorStrips, ShortTilesStayWhole) { EXPECT_EQ(listing(cross_entropy(1, 2048, 0)).find("strips"), std::string::npos); }

TEST(ExecutorStrips, MarksNeedNoIndices) {
  constexpr std::int64_t kRows = 6, kColumns = 37;
  for (const std::int64_t first : {0, 5, -5}) {
    const std::vector<std::int64_t> labels{
        first, first + kColumns - 1, first - 1, first + kColumns, std::numeric_limits<std::int64_t>::min(), 17};
    const auto program = cross_entropy(2, kColumns, first);
    const std::vector<TestArgument> arguments{
        TestArgument::filled(f32, kRows * kColumns, [](std::size_t i) { return static_cast<double>(i % 11) - 5; }),
        TestArgument::filled(i64, kRows, [&](std::size_t i) { return static_cast<double>(labels[i]); }), TestArgument::empty(f32, kRows),
        TestArgument::empty(f32, kRows * kColumns)};
    EXPECT_TRUE(agrees(program, arguments, {.grids = {{kRows / 2, 1, 1}}, .tolerance = 64}));
    EXPECT_NE(listing(program).find("mark"), std::string::npos) << listing(program);
    EXPECT_EQ(listing(program).find("indices"), std::string::npos) << listing(program);
  }
}

TEST(ExecutorStrips, WhatReadsMoreTilesThanAStripHoldsIsSplit) {
  constexpr std::int64_t kColumns = 8195;
  for (const int count : {11, 12, 13, 16, 20, 40}) {
    Builder b("many");
    std::vector<Value> pointers, loaded;
    for (int i = 0; i < count; ++i) pointers.push_back(b.pointer("x" + std::to_string(i), f32, false));
    const Value out = b.pointer("out", f32, true);
    const Value place = row(b.arange(0, kColumns));
    for (const Value& pointer : pointers) loaded.push_back(b.load(pointer + place));
    Value sum = loaded[0];
    for (int i = 1; i < count; ++i) sum = unary(Word::Abs, sum - loaded[static_cast<std::size_t>(i)]);
    b.store(out + place, sum);
    const auto program = b.finish();
    std::vector<TestArgument> arguments;
    for (int i = 0; i < count; ++i) {
      arguments.push_back(TestArgument::filled(
          f32, kColumns, [i](std::size_t k) { return static_cast<double>((k * 7 + static_cast<std::size_t>(i) * 13) % 101); }));
    }
    arguments.push_back(TestArgument::empty(f32, kColumns));
    EXPECT_TRUE(agrees(program, arguments, {})) << count;
    EXPECT_NE(listing(program).find("strips of 2048"), std::string::npos) << listing(program);
  }
}

TEST(ExecutorStrips, NoMoreTilesMoveOnThanAStripHolds) {
  constexpr std::int64_t kColumns = 8195;
  for (const int words : {2, 3, 4, 5, 6}) {  // each reads three tiles that nothing else has read
    Builder b("moving");
    std::vector<Value> pointers, loaded;
    for (int i = 0; i < 3 * words; ++i) pointers.push_back(b.pointer("x" + std::to_string(i), f32, false));
    const Value out = b.pointer("out", f32, true), place = row(b.arange(0, kColumns));
    for (const Value& pointer : pointers) loaded.push_back(b.load(pointer + place));
    std::vector<Value> made;
    for (std::size_t i = 0; i < loaded.size(); i += 3) made.push_back(fma(loaded[i], loaded[i + 1], loaded[i + 2]));
    Value sum = made[0];
    for (std::size_t i = 1; i < made.size(); ++i) sum = sum + made[i];
    b.store(out + place, sum);
    const auto program = b.finish();
    std::vector<TestArgument> arguments;
    for (std::size_t i = 0; i < loaded.size(); ++i)
      arguments.push_back(TestArgument::filled(f32, kColumns, [i](std::size_t k) { return static_cast<double>((k * 7 + i * 13) % 101); }));
    arguments.push_back(TestArgument::empty(f32, kColumns));
    EXPECT_TRUE(agrees(program, arguments, {})) << words;
    EXPECT_NE(listing(program).find("strips of 2048"), std::string::npos) << listing(program);
  }
}

}  // namespace
}  // namespace tegula::host
