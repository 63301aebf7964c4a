// Gather, Histogram, hints, volatile loads, prints and inline assembly as CUDA text, beside the interpreter.

#include <string>

#include "tegula/core/warning.h"
#include "tegula/simt/codegen.h"
#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

TestArgument counted(DType dtype, std::size_t count) {
  return TestArgument::filled(dtype, count, [](std::size_t i) { return static_cast<double>(i); });
}

std::string text_of(const Program& program, int argument_fact = 4) {
  Specialisation specialisation{{}, false};
  for (const Parameter& parameter : program.parameters)
    specialisation.facts.push_back(static_cast<std::uint8_t>(parameter.pointer ? argument_fact : 0));
  return generate(program, specialisation, 90).source;
}

TEST(Picks, ElementsComeFromTheirPlacesOfTheLine) {
  for (const int axis : {0, 1}) {
    for (const Shape& from : {Shape{8, 64}, {3, 37}}) {
      Builder b("gather");
      Shape to = from;
      to[axis] = 2 * from[axis] - 1;
      const Value x = b.pointer("x", f32, false), index = b.pointer("index", i64, false), out = b.pointer("out", f32, true);
      const auto places = [&](const Shape& shape) { return col(b.arange(0, shape[0])) * shape[1] + row(b.arange(0, shape[1])); };
      b.store(out + places(to), gather(b.load(x + places(from)), b.load(index + places(to)), axis));
      const auto count = static_cast<std::size_t>(numel(to));
      EXPECT_TRUE(emulation_agrees(
          b.finish(), {counted(f32, static_cast<std::size_t>(numel(from))),
                       TestArgument::filled(i64, count, [&](std::size_t i) { return static_cast<double>(i * 7 % (from[axis] + 2)) - 1; }),
                       TestArgument::empty(f32, count)}))
          << axis;
    }
  }
}

TEST(Picks, HistogramsCountWhatLiesWithin) {
  for (const std::int64_t bins : {7, 200}) {
    Builder b("histogram");
    const Value x = b.pointer("x", i32, false), out = b.pointer("out", i32, true), lane = b.arange(0, 300), v = b.load(x + lane);
    b.store(out + (b.program_id(0) * bins + b.arange(0, bins)), histogram(v, bins, lane % 3 != b.program_id(0)));
    b.store(out + ((b.program_id(0) + 3) * bins + b.arange(0, bins)), histogram(v, bins));
    EXPECT_TRUE(emulation_agrees(b.finish(),
                                 {TestArgument::filled(i32, 300, [](std::size_t i) { return static_cast<double>(i * i % 211) - 2; }),
                                  TestArgument::empty(i32, static_cast<std::size_t>(6 * bins))},
                                 {.grids = {{3, 1, 1}}}));
  }
}

/// A row from a place that was read: nothing is known of it but what is said.
Program hinted_rows(bool hints) {
  Builder b("hinted");
  const Value x = b.pointer("x", f32, false), begins = b.pointer("begins", i64, false), out = b.pointer("out", f32, true);
  Value begin = b.load(begins + b.program_id(0));
  if (hints) begin = hint(begin, HintKind::MultipleOf, 4);
  const Value lane = b.arange(0, 128);
  b.store(out + (b.program_id(0) * 128 + lane), b.load(x + (begin + lane)));
  return b.finish();
}

/// The same of places that are computed, as Triton's matmul wraps its rows.
Program wrapped_rows(bool hints) {
  Builder b("wrapped");
  const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64), lane = b.arange(0, 128);
  Value places = (b.program_id(0) * 128 + lane) % n;
  if (hints) places = hint(hint(places, HintKind::MultipleOf, 128), HintKind::Contiguous, 128);
  b.store(out + (b.program_id(0) * 128 + lane), b.load(x + places));
  return b.finish();
}

TEST(Hints, ALoadBecomesWideByAMultiple) {
  EXPECT_EQ(text_of(hinted_rows(false)).find("load_wide<4, 4"), std::string::npos);
  EXPECT_NE(text_of(hinted_rows(true)).find("load_wide<4, 4"), std::string::npos);
  for (const bool hints : {false, true})
    EXPECT_TRUE(
        emulation_agrees(hinted_rows(hints),
                         {counted(f32, 400), TestArgument::filled(i64, 3, [](std::size_t i) { return static_cast<double>(i * 68); }),
                          TestArgument::empty(f32, 384)},
                         {.grids = {{3, 1, 1}}}));
}

TEST(Hints, ALoadBecomesWideByNeighboursThatAreComputed) {
  EXPECT_EQ(text_of(wrapped_rows(false)).find("load_wide<4, 4"), std::string::npos);
  EXPECT_NE(text_of(wrapped_rows(true)).find("load_wide<4, 4"), std::string::npos);
  for (const bool hints : {false, true})
    EXPECT_TRUE(emulation_agrees(wrapped_rows(hints), {counted(f32, 256), TestArgument::empty(f32, 384), TestArgument::scalar(256)},
                                 {.grids = {{3, 1, 1}}}));
}

TEST(Hints, WhatIsAssumedIsKnownFromTheBeginning) {
  const auto program = [](bool assumes) {
    Builder b("assumed");
    const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), pitch = b.scalar("pitch", i64), lane = b.arange(0, 128);
    const Value v = b.load(x + (b.program_id(0) * pitch + lane));
    if (assumes) b.assume(pitch % 8 == 0 && pitch >= 0);
    b.store(out + (b.program_id(0) * 128 + lane), v);
    return b.finish();
  };
  EXPECT_EQ(text_of(program(false)).find("load_wide<4, 4"), std::string::npos);
  EXPECT_NE(text_of(program(true)).find("load_wide<4, 4"), std::string::npos);
}

TEST(Hints, AccessesSayWhichLinesStay) {
  Builder b("evicted");
  const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), lane = b.arange(0, 128);
  b.store({.eviction_policy = Eviction::First}, out + lane,
          b.load({.eviction_policy = Eviction::Last}, x + lane) + b.load({.is_volatile = true}, x + (lane + 1)));
  const Program program = b.finish();
  const std::string text = text_of(program);
  EXPECT_NE(text.find("lasting((p_x + col))"), std::string::npos) << text;
  EXPECT_NE(text.find("passing((p_out + col))"), std::string::npos) << text;
  EXPECT_NE(text.find("widen(alone("), std::string::npos) << text;
  EXPECT_TRUE(emulation_agrees(program, {counted(f32, 129), TestArgument::empty(f32, 128)}));
}

/// Sums of columns, whose rows are fetched ahead.
Program summed_rows(std::int64_t hints) {
  Builder b("summed");
  const Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), chunks = b.scalar("chunks", i64);
  const Value column = row(b.arange(0, 128)), zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const auto body = [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
    const Value x = b.load(in + ((col(i * 8 + b.arange(0, 8))) * 128 + column));
    return {carried[0] + reduce(x, 0, Reduction::Sum)};
  };
  b.store(out + column, b.for_(zero, chunks, one, {b.full({1, 128}, 0, f32)}, body, hints)[0]);
  return b.finish();
}

TEST(Hints, ALoopOfOneStageFetchesNothingAhead) {
  EXPECT_NE(text_of(summed_rows(0)).find("iterations ahead"), std::string::npos) << text_of(summed_rows(0));
  EXPECT_EQ(text_of(summed_rows(1)).find("iterations ahead"), std::string::npos);
  for (const std::int64_t stages : {0, 1})
    EXPECT_TRUE(emulation_agrees(summed_rows(stages), {counted(f32, 5 * 8 * 128), TestArgument::empty(f32, 128), TestArgument::scalar(5)},
                                 {.tolerance = 64}));
}

TEST(Prints, ShowTheFirstElementsWithInstanceAndLine) {
  Builder b("printed");
  const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), lane = b.arange(0, 40);
  const Value v = b.load(x + lane);
  b.locate_each_access();
  b.print("100% x", v);
  b.print("n", b.program_id(0) * 3);
  b.barrier();
  b.store(out + (b.program_id(0) * 40 + lane), v);
  const tile::Program program = b.finish();
  for (const bool text : {false, true}) {
    std::vector<std::string> said;
    set_warning_handler([&](const std::string& name, const std::string& line) { said.push_back(name + ": " + line); });
    EXPECT_TRUE(emulation_agrees(program, {counted(f32, 40), TestArgument::empty(f32, 80)}, {.grids = {{2, 1, 1}}}, {.text = text}));
    set_warning_handler({});
    ASSERT_EQ(said.size(), 4u);
    EXPECT_TRUE(said[0].starts_with("device_print: 100% x in program (0, 0, 0) of printed at ")) << said[0];
    EXPECT_TRUE(said[2].starts_with("device_print: 100% x in program (1, 0, 0) of printed at ")) << said[2];
    EXPECT_TRUE(said[2].ends_with(": f32[40] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …}")) << said[2];
    EXPECT_TRUE(said[3].starts_with("device_print: n in program (1, 0, 0) of printed at ") && said[3].ends_with(": i64 {3}")) << said[3];
  }
}

TEST(Prints, OfALoopComeInItsOrderAndWhatHasNoRoomIsCounted) {
  simt::PrintedWords words(2, {.label = "k", .kernel = "f", .type = {i64, false, {2}}, .where = {}});
  const auto element = [](std::int64_t instance, std::int32_t word, std::int32_t index, std::int64_t value) {
    return simt::PrintedElement{.id = {instance, 0, 0}, .bits = value, .word = word, .index = index};
  };
  std::vector<std::string> said;
  set_warning_handler(
      [&](const std::string&, const std::string& line) { said.push_back(line.substr(std::min(line.find("program"), line.size()))); });
  simt::show_printed(words,
                     std::vector{element(1, 0, 1, 7), element(0, 0, 0, 1), element(1, 0, 0, 6), element(0, 0, 1, 2), element(0, 0, 1, 4),
                                 element(0, 1, 0, 8), element(0, 1, 1, 9), element(0, 0, 0, 3)},
                     5);
  set_warning_handler({});
  ASSERT_EQ(said.size(), 5u);
  const auto ends = [&](std::size_t k, const char* text) { EXPECT_TRUE(said[k].ends_with(text)) << said[k]; };
  ends(0, "{1, 2}"), ends(1, "{3, 4}"), ends(2, "{8, 9}"), ends(3, "{6, 7}");
  EXPECT_TRUE(said[3].starts_with("program (1, 0, 0)")) << said[3];
}

TEST(Assembly, IsAFunctionOfItsOperands) {
  Builder b("assembly");
  const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), lane = b.arange(0, 64);
  const Value v = b.inline_asm({.text = "{ .reg .f32 t; mul.f32 t, $1, $2; add.f32 $0, t, $1; }", .constraints = "=f,f,f", .fallback = {}},
                               {b.load(x + lane), cast(lane, f32)}, f32);
  b.store(out + lane, v);
  const std::string text = text_of(b.finish());
  EXPECT_NE(text.find("asm(\"{ .reg .f32 t; mul.f32 t, %1, %2; add.f32 %0, t, %1; }\" : \"=f\"(y) : \"f\"(x0), \"f\"(x1));"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace tegula::gpu
