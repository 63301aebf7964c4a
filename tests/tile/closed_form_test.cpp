// Pointers and integers that loops move by the same amount in each iteration are not carried, and keep their values.

#include "tegula/tile/passes/closed_form.h"

#include <numeric>

#include "tests/support/executor_support.h"
#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

using Next = std::function<Value(Builder&, Value carried, Value counter, Value n)>;

/// A loop that carries one i64 beside the sum of all its values: out0 = the sum, out1 = its value at the end.
Program carrying(const Next& next, std::int64_t begin, std::int64_t step) {
  Builder b("carrying");
  const Value out = b.pointer("out0", i64, true), last = b.pointer("out1", i64, true), n = b.scalar("n0", i64), by = b.scalar("n1", i64);
  const Value zero = b.constant(std::int64_t{0}, i64), stride = step > 0 ? b.constant(step, i64) : by;
  const auto results = b.for_(b.constant(begin, i64), n, stride, {zero, n}, [&](Value i, std::span<const Value> now) -> std::vector<Value> {
    return {now[0] * 3 + now[1], next(b, now[1], i, by)};
  });
  b.store(out, results[0]);
  b.store(last, results[1]);
  return b.finish();
}

/// Both numbers, by plain C++.
template <class F>
std::array<std::int64_t, 2> reference(F&& next, std::int64_t begin, std::int64_t step, std::int64_t n, std::int64_t by) {
  std::int64_t sum = 0, value = n;
  for (std::int64_t i = begin; i < n; i += step > 0 ? step : by) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) * 3 + static_cast<std::uint64_t>(value));
    value = next(value, i, by);
  }
  return {sum, value};
}

std::size_t carried(const Program& program) {
  std::size_t most = 0;
  for (const Instruction& self : program.instructions)
    if (self.word == Word::For) most = std::max(most, self.operands.size() - 3);
  return most;
}

struct Move {
  std::string name;
  Next tile;
  std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t)> plain;
  bool closes = true;
};

std::vector<Move> moves() {
  return {
      {"a number", [](Builder&, Value x, Value, Value) { return x + 12; }, [](auto x, auto, auto) { return x + 12; }},
      {"from the left", [](Builder&, Value x, Value, Value by) { return by + x; }, [](auto x, auto, auto by) { return by + x; }},
      {"down", [](Builder&, Value x, Value, Value by) { return x - by; }, [](auto x, auto, auto by) { return x - by; }},
      {"a product", [](Builder&, Value x, Value, Value by) { return x + by * 6; }, [](auto x, auto, auto by) { return x + by * 6; }},
      {"twice", [](Builder&, Value x, Value, Value by) { return x + by - by * by; },
       [](auto x, auto, auto by) { return x + by - by * by; }},
      {"not at all", [](Builder&, Value x, Value, Value) { return x; }, [](auto x, auto, auto) { return x; }},
      {"what turns round", [](Builder&, Value x, Value, Value by) { return by - x; }, [](auto x, auto, auto by) { return by - x; }, false},
      {"by the counter", [](Builder&, Value x, Value i, Value) { return x + i; }, [](auto x, auto i, auto) { return x + i; }, false},
      {"by itself", [](Builder&, Value x, Value, Value) { return x + x; }, [](auto x, auto, auto) { return x + x; }, false}};
}

TEST(ClosedForm, NumbersThatMoveAreWhatTheyWere) {
  for (const Move& move : moves()) {
    for (const std::int64_t begin : {0, 5, -3}) {
      for (const std::int64_t step : {1, 3, 6, 0}) {  // 0: from the launch's argument
        const Program program = carrying(move.tile, begin, step);
        EXPECT_EQ(carried(program), move.closes ? 1u : 2u) << move.name << "\n" << to_string(program);
        for (const std::int64_t n : {-7, 0, 1, 2, 6, 7, 20}) {
          const std::int64_t by = 4;
          std::int64_t sum = -1, last = -1;
          interpret_with(program, 1, &sum, &last, n, by);
          EXPECT_EQ((std::array{sum, last}), reference(move.plain, begin, step, n, by))
              << move.name << " from " << begin << " by " << step << " to " << n << "\n"
              << to_string(program);
        }
      }
    }
  }
}

/// One that moves by another: s += p, p += 2. The second is in closed form, so that the first moves by a different amount each time.
TEST(ClosedForm, WhatMovesByWhatMovesIsCarried) {
  for (const bool first : {true, false}) {
    Builder b("triangle");
    const Value out = b.pointer("out0", i64, true), n = b.scalar("n0", i64), zero = b.constant(std::int64_t{0}, i64);
    const std::size_t s = first ? 0 : 1, p = 1 - s;
    const auto results = b.for_(zero, n, number(1, n), {zero, zero}, [&](Value, std::span<const Value> now) {
      std::vector<Value> next(2);
      next[s] = now[s] + now[p], next[p] = now[p] + 2;
      return next;
    });
    b.store(out, results[s]);
    const Program program = b.finish();
    EXPECT_EQ(carried(program), 1u);
    std::int64_t sum = -1;
    interpret_with(program, 1, &sum, std::int64_t{6});
    EXPECT_EQ(sum, 30);  // 0 + 2 + 4 + 6 + 8 + 10
  }
}

/// i32 that comes round: 2^31 and more iterations are not needed for it to.
TEST(ClosedForm, ShortIntegersWrap) {
  Builder b("wraps");
  const Value out = b.pointer("out0", i32, true), n = b.scalar("n0", i64), large = b.constant(std::int64_t{2'000'000'000}, i32);
  const auto last =
      b.for_(number(0, n), n, number(1, n), {large}, [&](Value, std::span<const Value> now) { return std::vector<Value>{now[0] + large}; });
  b.store(out, last[0]);
  const Program program = b.finish();
  EXPECT_EQ(count(program, Word::For), 0);
  std::int32_t got = 0;
  interpret_with(program, 1, &got, std::int64_t{5});
  EXPECT_EQ(got, static_cast<std::int32_t>(static_cast<std::uint32_t>(12'000'000'000)));
}

TEST(ClosedForm, FloatsStayCarried) {
  Builder b("floats");
  const Value out = b.pointer("out0", f32, true), n = b.scalar("n0", i64);
  const auto last = b.for_(number(0, n), n, number(1, n), {b.constant(0.0, f32)},
                           [&](Value, std::span<const Value> now) { return std::vector<Value>{now[0] + 0.1}; });
  b.store(out, last[0]);
  EXPECT_EQ(carried(b.finish()), 1u);
}

/// Loops in loops, pointers that the inner one leaves to the outer one, and a tile of places that moves by a tile.
Program nested() {
  Builder b("nested");
  const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), n = b.scalar("n0", i64), pitch = b.scalar("s0", i64);
  const Value lane = b.arange(0, 8), zero = number(0, n), one = number(1, n);
  const auto rows = b.for_(zero, n, one, {in + lane, out + lane, lane}, [&](Value i, std::span<const Value> outer) -> std::vector<Value> {
    const auto parts =
        b.for_(i, n, number(2, n), {outer[0], b.full({8}, 0, f32)},
               [&](Value, std::span<const Value> now) -> std::vector<Value> { return {now[0] + 1, now[1] + b.load(now[0])}; });
    b.store(outer[1], parts[1] + cast(outer[2], f32));
    return {outer[0] + pitch, outer[1] + pitch, outer[2] + lane * 2};
  });
  b.store(rows[1], cast(rows[2], f32));
  return b.finish();
}

TEST(ClosedForm, PointersOfLoopsInLoops) {
  const Program program = nested();
  for (const Instruction& self : program.instructions) {
    if (self.word != Word::For) continue;
    for (std::size_t k = 3; k < self.operands.size(); ++k) EXPECT_FALSE(program[self.operands[k]].type.pointer) << to_string(program);
  }
  constexpr std::int64_t kRows = 5, kPitch = 24;
  const auto small = [](std::size_t i) { return static_cast<double>(i * 37 % 7) - 3; };
  EXPECT_TRUE(
      host::agrees(program, {host::TestArgument::filled(f32, kRows * kPitch, small), host::TestArgument::empty(f32, (kRows + 1) * kPitch),
                             host::TestArgument::scalar(kRows), host::TestArgument::scalar(kPitch)}));
  std::vector<float> in(kRows * kPitch), out((kRows + 1) * kPitch, -1);
  std::iota(in.begin(), in.end(), 0.0f);
  interpret_with(program, 1, in.data(), out.data(), std::int64_t{kRows}, std::int64_t{kPitch});
  for (std::int64_t row = 0; row <= kRows; ++row) {
    for (std::int64_t lane = 0; lane < 8; ++lane) {
      float expected = static_cast<float>(lane + 2 * lane * row);
      for (std::int64_t i = row, k = 0; i < kRows; i += 2, ++k) expected += in[static_cast<std::size_t>(row * kPitch + lane + k)];
      EXPECT_EQ(out[static_cast<std::size_t>(row * kPitch + lane)], expected) << row << ", " << lane;
    }
  }
}

/// Moving values are affine again: the text is that of a kernel with a counter.
TEST(ClosedForm, ProgramsWithoutThemStayAsTheyAre) {
  Builder b("plain");
  const Value p = b.pointer("p", f32, true), n = b.scalar("n", i64);
  b.for_(number(0, n), n, number(1, n), {b.load(p)}, [&](Value i, std::span<const Value> now) {
    b.store(p + i, now[0]);
    return std::vector<Value>{now[0] * 2.0};
  });
  const Program program = b.finish();
  EXPECT_EQ(to_string(close_forms(program)), to_string(program));
}

}  // namespace
}  // namespace tegula::tile
