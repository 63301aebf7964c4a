// Generated kernels against the reference interpreter, on emulated threads.

#include "tegula/core/error.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;
using host::RunOptions;

TEST(Codegen, SoftmaxOfAnyRowLength) {
  for (const Shape2 tile : {Shape2{4, 1000}, {1, 1}, {64, 3}, {16, 33}, {4, 1023}, {1, 5000}, {2, 2048}}) {
    for (const bool aligned : {true, false}) {
      const std::int64_t rows = 2 * tile.rows + 1, pitch = tile.columns + 4;
      const std::size_t count = static_cast<std::size_t>(rows * pitch);
      EXPECT_TRUE(emulation_agrees(softmax(tile, f32),
                                   {TestArgument::filled(f32, count, whole), TestArgument::empty(f32, count),
                                    TestArgument::scalar(static_cast<double>(rows)), TestArgument::scalar(static_cast<double>(pitch))},
                                   {.grids = {{3, 1, 1}}}, {.aligned = aligned}))
          << tile.rows << " x " << tile.columns;
    }
  }
}

TEST(Codegen, HalvesMoveInVectors) {
  const Program program = softmax({2, 264}, bf16);
  EXPECT_TRUE(emulation_agrees(
      program,
      {TestArgument::filled(bf16, 5 * 264, whole), TestArgument::empty(bf16, 5 * 264), TestArgument::scalar(5), TestArgument::scalar(264)},
      {.grids = {{3, 1, 1}}}));
  EXPECT_NE(generate(program, {{4, 4, 0, 3}, false}, 90).source.find("load_wide<8, 8"), std::string::npos);
}

TEST(Codegen, ARowLongerThanABlockIsSharedByACluster) {
  const std::int64_t columns = 40000;
  const Program program = softmax({1, columns}, f32);
  EXPECT_EQ(generate(program, {{4, 4, 0, 3}, false}, 90).cluster, 2);
  EXPECT_EQ(generate(program, {{4, 4, 0, 3}, false}, 80).cluster, 1) << "without clusters";
  EXPECT_TRUE(emulation_agrees(program,
                               {TestArgument::filled(f32, 2 * 40000, whole), TestArgument::empty(f32, 2 * 40000), TestArgument::scalar(2),
                                TestArgument::scalar(40000)},
                               {.grids = {{2, 1, 1}}}));
}

/// in1 += in0, and out2 = in0.
TEST(Codegen, AccessesSayWhatTheCacheShouldKeep) {
  Builder b("hints");
  const Value from = b.pointer("in0", f32, false), both = b.pointer("in1", f32, true), to = b.pointer("out2", f32, true);
  const Value at = b.program_id(0) * b.constant(std::int64_t{64}, i64) + b.arange(0, 64), x = b.load(from + at);
  b.store(to + at, x);
  b.store(both + at, x + b.load(both + at));
  const std::string source = generate(b.finish(), {{4, 4, 4}, false}, 90).source;
  EXPECT_NE(source.find("in0 = lasting(a.in0);"), std::string::npos) << source;
  EXPECT_NE(source.find("in1 = a.in1;"), std::string::npos);
  EXPECT_NE(source.find("out2 = passing(a.out2);"), std::string::npos);
  const auto weights = [](std::int64_t columns) {
    return generate(weighted_rows({1, columns}, bf16), {{4, 4, 4, 4, 4, 10}, false}, 90).source;
  };
  EXPECT_NE(weights(4096).find("(steady("), std::string::npos);
  EXPECT_NE(weights(8192).find("(steady<true>("), std::string::npos);
}

TEST(Codegen, AClusterWorksOnAFewRowsTogether) {
  struct Case {
    Shape2 tile;
    DType dtype;
    int cluster;
  };
  for (const Case& c :
       {Case{{2, 65536}, bf16, 8}, {{2, 40008}, f16, 8}, {{3, 30000}, f32, 16}, {{4, 32768}, bf16, 8}, {{2, 131072}, bf16, 8}}) {
    const Program program = weighted_rows(c.tile, c.dtype);
    const Generated code = generate(program, {{4, 4, 4, 4, 4, 3}, false}, 90);
    EXPECT_EQ(code.cluster, c.cluster);
    EXPECT_NE(code.source.find("copy_async"), std::string::npos);
    EXPECT_NE(code.source.find("begin_exchange"), std::string::npos);
    EXPECT_LT(code.source.find("> ahead"), code.source.rfind("combine_columns<"));  // weights, before the values they wait for
    const std::size_t rows = static_cast<std::size_t>(2 * c.tile.rows), once = static_cast<std::size_t>(c.tile.columns),
                      count = rows * once;
    EXPECT_TRUE(emulation_agrees(
        program,
        {TestArgument::filled(c.dtype, count, whole), TestArgument::filled(c.dtype, once, wave),
         TestArgument::filled(i64, rows, [&](std::size_t i) { return static_cast<double>(7919 * i % once); }),
         TestArgument::empty(c.dtype, count), TestArgument::empty(f32, rows), TestArgument::scalar(static_cast<double>(c.tile.columns))},
        {.grids = {{2, 1, 1}}}))
        << c.tile.rows << " x " << c.tile.columns;
  }
}

/// A value that all threads read alike is a read-only load, unless the kernel writes it, even elsewhere in the same memory.
TEST(Codegen, WhatIsWrittenIsNotSteady) {
  const auto source = [](bool writes_other) {
    Builder b("steady");
    const Value in = b.pointer("in0", f32, true), other = b.pointer("out1", f32, true), pitch = b.scalar("s0", i64);
    const Value row = b.program_id(0), column = b.arange(0, 1024), x = b.load(in + column);
    const Value place = (row + 1) * pitch + column;
    b.store((writes_other ? other : in) + place, x + x);
    return generate(b.finish(), {{4, 4, 4}, false}, 90).source;
  };
  EXPECT_NE(source(true).find("steady("), std::string::npos) << source(true);
  EXPECT_EQ(source(false).find("steady("), std::string::npos) << source(false);
}

/// Softmax less one at the row's label, and the probability there.
Program labelled(std::int64_t columns) {
  Builder b("labelled");
  const Value in = b.pointer("in0", bf16, false), labels = b.pointer("in1", i64, false), out = b.pointer("out2", bf16, true),
              taken = b.pointer("out3", f32, true), pitch = b.scalar("s0_0", i64);
  const Value row = b.program_id(0), column = b.arange(0, columns), zero = b.full({columns}, 0, f32);
  const Value x = b.load(in + (row * pitch + column)), shifted = x - broadcast(reduce(x, 0, Reduction::Max), x.shape());
  const Value label = b.load(labels + (row + b.arange(0, 1))), here = column == broadcast(label, {columns});
  const Value e = unary(Word::Exp2, shifted), sum = reduce(e, 0, Reduction::Sum), at = reduce(select(here, x, zero), 0, Reduction::Sum);
  const Value y = e / broadcast(sum, e.shape()) - select(here, b.full({columns}, 1, f32), zero);
  b.store(out + (row * pitch + column), narrow(y, bf16));
  b.store(taken + row, reshape(at, {}));
  return b.finish();
}

TEST(Codegen, OneVectorIsComparedWithThePlaceOfARow) {
  const std::int64_t columns = 20000;
  const Program program = labelled(columns);
  EXPECT_NE(generate(program, {{4, 4, 4, 4, 3}, false}, 90).source.find("if (static_cast<unsigned int>(place_of("), std::string::npos);
  // The first and the last column, the middle of a vector, and none at all.
  const std::vector<double> places{0, 19999, 8003, -1, 20000, 1e12};
  const std::size_t rows = places.size(), count = rows * 20000;
  EXPECT_TRUE(emulation_agrees(
      program,
      {TestArgument::filled(bf16, count, whole), TestArgument::filled(i64, rows, [&](std::size_t i) { return places[i]; }),
       TestArgument::empty(bf16, count), TestArgument::empty(f32, rows), TestArgument::scalar(static_cast<double>(columns))},
      {.grids = {{static_cast<std::int64_t>(rows), 1, 1}}}));
}

TEST(Codegen, LongRowsLieInSharedMemory) {
  struct Row {
    std::int64_t columns;
    DType dtype;
    int cluster;
  };
  for (const Row& row : {Row{20000, bf16, 1}, {65536, f16, 4}, {10008, f32, 1}, {131072, bf16, 8}}) {
    const Program program = weighted_softmax(row.columns, row.dtype);
    const Generated code = generate(program, {{4, 4, 4, 4, 3}, false}, 90);
    EXPECT_EQ(code.cluster, row.cluster);
    EXPECT_GE(code.shared_bytes, static_cast<std::size_t>(row.columns / row.cluster) * size_of(row.dtype));
    EXPECT_NE(code.source.find("copy_async"), std::string::npos);
    const auto count = static_cast<std::size_t>(2 * row.columns), once = static_cast<std::size_t>(row.columns);
    EXPECT_TRUE(emulation_agrees(
        program,
        {TestArgument::filled(row.dtype, count, whole), TestArgument::filled(row.dtype, once, wave), TestArgument::empty(row.dtype, count),
         TestArgument::empty(f32, 2), TestArgument::scalar(static_cast<double>(row.columns))},
        {.grids = {{2, 1, 1}}}))
        << row.columns;
  }
  // Masked or unaligned loads stay in registers.
  EXPECT_EQ(generate(softmax({1, 20000}, bf16), {{4, 4, 0, 3}, false}, 90).source.find("copy_async"), std::string::npos);
  EXPECT_EQ(generate(weighted_softmax(20000, bf16), {{1, 4, 4, 4, 3}, false}, 90).source.find("copy_async"), std::string::npos);
}

TEST(Codegen, ColumnSumsMeetOnceAfterTheLoop) {
  const Program program = column_sums(16, 256);
  const std::string source = generate(program, {{4, 4, 4, 4, 4}, false}, 90).source;
  EXPECT_NE(source.find("\n  combine_rows"), std::string::npos) << source;  // indented as the loop is
  EXPECT_EQ(source.find("\n    combine_rows"), std::string::npos);
  for (const std::int64_t width : {300, 256, 37}) {
    const std::int64_t rows = 70;
    const auto small = [](std::size_t i) { return static_cast<double>(i % 7); };  // exact in any order
    EXPECT_TRUE(emulation_agrees(program,
                                 {TestArgument::filled(f32, static_cast<std::size_t>(rows * width), small),
                                  TestArgument::empty(f32, static_cast<std::size_t>(width)), TestArgument::scalar(rows),
                                  TestArgument::scalar(static_cast<double>(width)), TestArgument::scalar(5)},
                                 {.grids = {{2, 1, 1}}}));
  }
}

TEST(Codegen, SumsOfWalkedRowsMeetTogether) {
  struct Tile {
    std::int64_t rows, columns;
    DType dtype;
    std::string along, across;  // how its sums meet
  };
  for (const Tile& tile :
       {Tile{8, 512, bf16, "combine_columns<Sum<float>, 8, 32, 1, 2, true>", "combine_rows_for_first<Sum<float>, 8, 32, 16>(ring, &"},
        {1, 4096, bf16, "combine_columns<Sum<float>, 1, 256, 1, 2, ", ""},
        {1, 1536, f32, "combine_columns<Sum<float>, 1, 96, 1, 2, ", ""}}) {
    const Program program = walked_rows(tile.rows, tile.columns, tile.dtype);
    const std::string source = generate(program, {{4, 4, 4, 4, 4, 4, 0}, false}, 90).source;
    EXPECT_NE(source.find(tile.along), std::string::npos) << source;
    EXPECT_NE(source.find(tile.across), std::string::npos) << source;
    const std::int64_t tiles = 5;
    const auto count = static_cast<std::size_t>(tiles * tile.rows * tile.columns), columns = static_cast<std::size_t>(tile.columns);
    const auto small = [](std::size_t i) { return static_cast<double>(i % 7) - 2; };  // exact in any order
    const auto smaller = [](std::size_t i) { return static_cast<double>(i % 5) - 1; };
    EXPECT_TRUE(emulation_agrees(program,
                                 {TestArgument::filled(tile.dtype, count, small), TestArgument::filled(tile.dtype, count, smaller),
                                  TestArgument::empty(f32, count), TestArgument::empty(f32, columns), TestArgument::empty(f32, columns),
                                  TestArgument::scalar(static_cast<double>(tile.columns)), TestArgument::scalar(tiles)},
                                 {.grids = {{1, 1, 1}}}));
  }
}

/// Tiles of four rows, doubled; each begins `apart` rows behind the one before.
Program doubled_rows(std::int64_t apart) {
  Builder b("doubled");
  Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), tiles = b.scalar("tiles", i64), stride = b.scalar("s", i64);
  Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64), rows_apart = b.constant(apart, i64);
  b.for_(zero, tiles, one, {zero}, [&](Value tile, std::span<const Value> carried) {
    const Value first = tile * rows_apart, rows = tile::col(first + b.arange(0, 4)), columns = tile::row(b.arange(0, 256));
    const Value place = rows * stride + columns, x = b.load(in + place);
    b.store(out + place, x + x);
    return std::vector<Value>{carried[0]};
  });
  return b.finish();
}

TEST(Codegen, TilesThatFollowEachOtherNeedNoBarrier) {
  const auto source = [](const Program& program) { return generate(program, {{4, 4, 4, 4}, false}, 90).source; };
  EXPECT_EQ(source(doubled_rows(4)).find("__syncthreads"), std::string::npos) << source(doubled_rows(4));
  EXPECT_NE(source(doubled_rows(3)).find("__syncthreads"), std::string::npos);  // the last row of one is the first of another
  const std::int64_t tiles = 9;
  for (const std::int64_t apart : {4, 3}) {
    EXPECT_TRUE(emulation_agrees(doubled_rows(apart),
                                 {TestArgument::filled(f32, 36 * 256, [](std::size_t i) { return static_cast<double>(i); }),
                                  TestArgument::empty(f32, 36 * 256), TestArgument::scalar(tiles), TestArgument::scalar(256)},
                                 {.grids = {{1, 1, 1}}}));
  }
}

TEST(Codegen, ManySetsInOneLaunch) {
  Builder b("scale");
  const Value x = b.pointer("x0", f32, true), n = b.scalar("n0", i64), rate = b.scalar("c0", f32);
  const Value at = tile::row(b.program_id(0) * 512 + b.arange(0, 512)), mask = at < n;
  b.store(x + at, b.load(x + at, mask) * rate, mask);
  const Program program = b.finish();
  std::vector<std::vector<float>> got, expected;
  for (const std::size_t count : {5u, 513u, 0u, 2048u, 1u}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(wave(i));
    got.push_back(values), expected.push_back(values);
  }
  std::vector<std::array<runtime::Argument, 3>> arguments;
  std::vector<runtime::ArgumentSet> sets;
  for (auto& values : got) {
    arguments.push_back({{{.pointer = values.data()}, {.integer = static_cast<std::int64_t>(values.size())}, {.real = 0.5}}});
    for (float& x1 : expected[arguments.size() - 1]) x1 *= 0.5f;
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    sets.push_back({arguments[i].data(), {static_cast<std::int64_t>((got[i].size() + 511) / 512), 1, 1}});
  emulated_kernel(program)->launch(sets, {});
  EXPECT_EQ(got, expected);
}

TEST(Codegen, WordsAcrossATile) {
  for (const Shape2 shape : {Shape2{5, 37}, {64, 8}}) {
    for (const int axis : {0, 1}) {
      Builder b("across");
      const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), places = b.pointer("out2", i64, true);
      const Value at = col(b.arange(0, shape.rows)) * b.constant(shape.columns, i64) + tile::row(b.arange(0, shape.columns));
      const Value x = b.load(in + at), size = b.constant(shape.rows * shape.columns, i64);
      b.store(out + at, scan(x, axis, Reduction::Sum));
      b.store(out + (at + size), sort(x, axis, true));
      b.store(out + (at + size * 2), transpose(transpose(x) * 2) + cast(arg_reduce(x, axis, Reduction::Max), f32));
      b.store(places + at, argsort(x, axis, false));
      const std::size_t count = static_cast<std::size_t>(shape.rows * shape.columns);
      EXPECT_TRUE(emulation_agrees(
          b.finish(), {TestArgument::filled(f32, count, [](std::size_t i) { return i % 11 == 3 ? NAN : static_cast<double>(i * 29 % 17); }),
                       TestArgument::empty(f32, 3 * count), TestArgument::empty(i64, count)}));
    }
  }
}

TEST(Codegen, SumsIntoTheSamePlaceComeInOrder) {
  for (const DType dtype : {f32, i32, bf16}) {
    Builder b("scatter_add");
    const Value index = b.pointer("in0", i64, false), source = b.pointer("in1", dtype, false), out = b.pointer("out2", dtype, true),
                n = b.scalar("n0", i64);
    const Value row = col(b.program_id(0) * 8 + b.arange(0, 8)), column = tile::row(b.arange(0, 24)), mask = row < n;
    const Value line = b.load(index + row, mask);
    b.atomic_add(out + (line * 24 + column), b.load(source + (row * 24 + column), mask), mask);
    EXPECT_TRUE(
        emulation_agrees(b.finish(),
                         {TestArgument::filled(i64, 30, [](std::size_t i) { return static_cast<double>(i % 3); }),
                          TestArgument::filled(dtype, 30 * 24, wave), TestArgument::filled(dtype, 3 * 24, wave), TestArgument::scalar(30)},
                         {.grids = {{4, 1, 1}}}));
  }
}

TEST(Codegen, TheLastOfEqualPlacesStays) {
  Builder b("scatter");
  const Value index = b.pointer("in0", i64, false), out = b.pointer("out1", f32, true);
  const Value i = b.arange(0, 3000);
  b.store(out + b.load(index + i), cast(i, f32));
  EXPECT_TRUE(emulation_agrees(b.finish(), {TestArgument::filled(i64, 3000, [](std::size_t k) { return static_cast<double>(k * 7 % 50); }),
                                            TestArgument::empty(f32, 50)}));
}

TEST(Codegen, EqualTextIsOneKernelWhateverIsKnownOfTheArguments) {
  Builder b("fill");
  const Value out = b.pointer("out0", f32, true), number = b.scalar("n0", i64), at = b.arange(0, 1024);
  b.store(out + at, cast(number + at, f32));
  const Program program = b.finish();
  const auto known = [&](std::uint8_t pointer, std::uint8_t integer) { return generate(program, {.facts = {pointer, integer}}, 90); };
  EXPECT_EQ(known(4, 0).source, known(4, 3).source);
  EXPECT_EQ(known(4, 0).name, known(4, 3).name);
  EXPECT_NE(known(4, 0).name, known(2, 0).name);  // which cannot store vectors
  EXPECT_NE(known(4, 0).source.find(" " + known(4, 0).name + "("), std::string::npos);
}

TEST(Codegen, LinesOfTheUsersProgramDoNotNameAKernel) {
  const auto written_at = [](Line where) {
    Builder b("fill");
    b.locate_each_access();
    const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), at = b.arange(0, 1024);
    const Value x = b.load(in + at, {}, {}, where);
    b.store(out + at, x, {}, where);
    return generate(b.finish(), {{4, 4}, false}, 90);
  };
  const Generated here = written_at({"user.cpp", 3}), below = written_at({"user.cpp", 4});
  EXPECT_NE(here.source, below.source);
  EXPECT_EQ(here.name, below.name);
  EXPECT_EQ(without_comments(here.source), without_comments(below.source));
}

TEST(Codegen, CommentsAreWholeLines) {
  EXPECT_EQ(without_comments("// a\nint b;  // c\n  // d\n\n  e();\n    // f"), "int b;  // c\n\n  e();\n");
  EXPECT_EQ(without_comments(""), "");
  EXPECT_EQ(without_comments("a();\n  "), "a();\n  ");
}

/// Dividends up to 2^32 - 1 are divided in 32 bits; larger, negative and unknown ones in the general way.
TEST(Codegen, ShortNumbersAreDividedInShort) {
  Builder b("quotients");
  const Value quotients = b.pointer("out0", i64, true), sums = b.pointer("out1", i64, true), first = b.scalar("o0", i64),
              divisor = b.scalar("n0", i64);
  const Value x = first + b.program_id(0), place = b.program_id(1) * 3 + b.program_id(0);
  b.store(quotients + place, x / divisor * 100 + x % divisor);
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const Value sum = b.for_(first, first + 4, one, {zero}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
    return {carried[0] + i / divisor * 100 + i % divisor};
  })[0];
  b.store(sums + place, sum);
  const Program program = b.finish();
  for (const double from : {0.0, 5.0, 0x1p31 - 1, 0x1p31, -5.0, 0x1p40}) {
    for (const double by : {1.0, 3.0, 0.0, 0x1p31 - 1, 0x1p35, -7.0}) {
      for (const std::int64_t lines : {1, 2}) {
        EXPECT_TRUE(emulation_agrees(
            program, {TestArgument::empty(i64, 6), TestArgument::empty(i64, 6), TestArgument::scalar(from), TestArgument::scalar(by)},
            {.grids = {{3, lines, 1}}}))
            << from << " by " << by << ", " << lines;
      }
    }
  }
  const auto text = [&](std::uint8_t known, bool one_axis) {
    return generate(program, {.facts = {3, 3, known, known}, .one_axis = one_axis}, 90).source;
  };
  EXPECT_NE(text(kShort, true).find("divided_short("), std::string::npos);
  EXPECT_EQ(text(kShort, true).find("divided("), std::string::npos);
  EXPECT_EQ(text(0, true).find("_short("), std::string::npos);
  EXPECT_NE(text(0, true).find("divided("), std::string::npos);
  EXPECT_NE(text(kShort, false).find("id1 = remainder_of(divided(instance"), std::string::npos);
}

TEST(Codegen, RandomWordsAreThoseOfTheCounter) {
  for (const std::int64_t start : {0, 4, 3}) {
    Builder b("bits");
    const Value out = b.pointer("out0", i32, true), seed = b.scalar("n0", i64), base = b.scalar("o0", i64);
    const Value at = tile::row(b.program_id(0) * 1024 + b.arange(0, 1024));
    b.store(out + at, random_bits(seed, base + at));
    EXPECT_TRUE(emulation_agrees(
        b.finish(), {TestArgument::empty(i32, 2048), TestArgument::scalar(77), TestArgument::scalar(static_cast<double>(start))},
        {.grids = {{2, 1, 1}}}));
  }
}

TEST(Codegen, AFailedAssertIsReported) {
  Builder b("check");
  const Value in = b.pointer("in0", i64, false), x = b.load(in + b.arange(0, 100));
  b.check(x < 90, x, 5);
  const Program program = b.finish();
  std::vector<std::int64_t> values(100, 1);
  values[70] = 95;
  const runtime::Argument argument{.pointer = values.data()};
  const runtime::ArgumentSet set{&argument, {1, 1, 1}};
  runtime::Failure failure;
  emulated_kernel(program)->launch({&set, 1}, {.failure = &failure});
  EXPECT_EQ(failure.id, 5);
  EXPECT_EQ(failure.value, 95);
  EXPECT_EQ(failure.report, nullptr);

  runtime::Failure report;
  failure = {.report = &report};
  emulated_kernel(program)->launch({&set, 1}, {.failure = &failure});
  EXPECT_EQ(report.id, 5);
  EXPECT_EQ(report.value, 95);
}

TEST(Codegen, AGuardedLaunchDoesNothingAfterAFailure) {
  Builder b("guarded");
  const Value out = b.pointer("out", i32, true), at = b.arange(0, 40);
  b.store(out + at, cast(at, i32) + 1);
  const auto kernel = emulated_kernel(b.finish());
  std::vector<std::int32_t> values(40, -1);
  const runtime::Argument argument{.pointer = values.data()};
  const runtime::ArgumentSet sets[] = {{&argument, {1, 1, 1}}, {&argument, {1, 1, 1}}};
  std::vector<runtime::Failure> guards(3);
  guards[2].id = 0;
  kernel->launch({sets, 1}, {.guards = guards});
  kernel->launch({sets, 2}, {.guards = guards});
  EXPECT_EQ(values, std::vector<std::int32_t>(40, -1));
  guards[2].id = -1;
  kernel->launch({sets, 1}, {.guards = guards});
  EXPECT_EQ(values[39], 40);
}

}  // namespace
}  // namespace tegula::gpu
