// Facts about the values of a tile program before it is written as code: their size, their divisors, their neighbours' addresses.

#include "tegula/simt/analysis.h"

#include <gtest/gtest.h>

#include "tegula/tile/builder.h"
#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();

/// The facts of these parameters, and of no more.
Specialisation known(std::vector<std::uint8_t> facts) { return {.facts = std::move(facts)}; }

TEST(Analysis, ResultsHaveTheBitsThatOperandsCanFill) {
  Builder b("bits");
  const Value out = b.pointer("out0", i64, true), x = b.scalar("n0", i64), y = b.scalar("n1", i64), negative = b.scalar("n2", i64);
  const Value sum = x + y, product = x * y, more = sum + x, smaller = binary(Word::Min, x, y + y), any = x + negative;
  b.store(out, sum + product + more + smaller + any);
  const Program program = b.finish();
  const Specialisation facts = known({3, kShort, kShort, 0});
  const Analysis a(program, facts);
  EXPECT_EQ(a.bits(x.id()), 31);
  EXPECT_EQ(a.bits(sum.id()), 32);  // 2^31 - 1 twice
  EXPECT_EQ(a.bits(more.id()), 33);
  EXPECT_EQ(a.bits(product.id()), 62);  // (2^31 - 1)²
  EXPECT_EQ(a.bits(smaller.id()), 31);
  EXPECT_EQ(a.bits(any.id()), kAnyBits);
}

TEST(Analysis, TwosAreThoseThatDivideEveryElement) {
  Builder b("twos");
  const Value out = b.pointer("out0", i64, true), eights = b.scalar("n0", i64), twos = b.scalar("n1", i64), any = b.scalar("n2", i64);
  const Value chosen = select(any < 3, eights, twos), other = select(any < 3, twos, eights), sum = eights + twos, product = eights * twos;
  b.store(out, chosen + other + sum + product);
  const Program program = b.finish();
  const Specialisation facts = known({3, 3, 1, 0});
  const Analysis a(program, facts);
  EXPECT_EQ(a.twos(chosen.id()), 1);
  EXPECT_EQ(a.twos(other.id()), 1);
  EXPECT_EQ(a.twos(sum.id()), 1);
  EXPECT_EQ(a.twos(product.id()), 4);
}

TEST(Analysis, NeighboursThatLieSideBySide) {
  Builder b("neighbours");
  const Value in = b.pointer("in0", f32, false), index = b.pointer("in1", i64, false), pitch = b.scalar("s0", i64),
              odd = b.scalar("s1", i64);
  const Value row = col(b.program_id(0) * 4 + b.arange(0, 4)), column = tile::row(b.arange(0, 64));
  const Value aligned = in + (row * pitch + column), anywhere = in + (row * odd + column), apart = in + (column * pitch + row),
              computed = in + (b.load(index + column) + column), of_row = in + (b.load(index + row) * pitch + column);
  b.store(b.pointer("out2", f32, true) + (row * pitch + column),
          b.load(aligned) + b.load(anywhere) + b.load(apart) + b.load(computed) + b.load(of_row));
  const Program program = b.finish();
  const Specialisation facts = known({4, 4, 4, 0, 4});
  const Analysis a(program, facts);
  EXPECT_EQ(a.contiguous(aligned.id()), 4);
  EXPECT_EQ(a.contiguous(anywhere.id()), 1);  // rows begin anywhere
  EXPECT_EQ(a.contiguous(apart.id()), 0);
  EXPECT_EQ(a.contiguous(computed.id()), 0);  // each element has a place of its own
}

/// Counts the columns of one row for which base + column <word> limit holds, whatever the numbers.
Program compared(Word word, int sign) {
  Builder b("compared");
  const Value out = b.pointer("out0", i64, true), base = b.scalar("n0", i64), limit = b.scalar("n1", i64);
  const Value column = b.arange(0, 8), place = sign > 0 ? base + column : base - column, other = broadcast(limit, {8});
  const Value holds = word == Word::Lt   ? place < other
                      : word == Word::Le ? place <= other
                      : word == Word::Gt ? place > other
                                         : place >= other;
  b.store(out + column, select(holds, b.full({8}, 1, i64), b.full({8}, 0, i64)));
  return b.finish();
}

TEST(Analysis, LimitsOfPlacesDoNotComeRoundAtTheEndsOfI64) {
  for (const Word word : {Word::Lt, Word::Le, Word::Gt, Word::Ge}) {
    for (const int sign : {1, -1}) {
      const Program program = compared(word, sign);
      const auto kernel = emulated_kernel(program);
      for (const std::int64_t base : {std::int64_t{0}, std::int64_t{3}, kMost - 7, kLeast + 7, std::int64_t{1} << 62}) {
        for (const std::int64_t limit : {kLeast, kLeast + 4, std::int64_t{-5}, std::int64_t{0}, std::int64_t{4}, kMost - 4, kMost}) {
          std::vector<std::int64_t> got(8, -1), expected;
          for (std::int64_t i = 0; i < 8; ++i) {
            const std::int64_t place = base + sign * i;
            expected.push_back(word == Word::Lt   ? place < limit
                               : word == Word::Le ? place <= limit
                               : word == Word::Gt ? place > limit
                                                  : place >= limit);
          }
          const runtime::Argument arguments[] = {{.pointer = got.data()}, {.integer = base}, {.integer = limit}};
          const runtime::ArgumentSet set{arguments, {1, 1, 1}};
          kernel->launch({&set, 1}, {});
          EXPECT_EQ(got, expected) << "word " << static_cast<int>(word) << ", " << base << " + " << sign << " * column, " << limit;
        }
      }
    }
  }
}

/// The same for numbers that are part of the program.
TEST(Analysis, LimitsThatAreKnownAreExact) {
  for (const std::int64_t base : {std::int64_t{0}, kMost - 7, kLeast + 7}) {
    for (const std::int64_t limit : {kLeast, std::int64_t{-5}, std::int64_t{4}, kMost}) {
      Builder b("known");
      const Value out = b.pointer("out0", i64, true), column = b.arange(0, 8), place = column + b.constant(base, i64);
      const Value other = broadcast(b.constant(limit, i64), {8});
      const Value counts[] = {cast(place < other, i64), cast(place <= other, i64), cast(place > other, i64), cast(place >= other, i64)};
      b.store(out + column, counts[0] + counts[1] * 2 + counts[2] * 4 + counts[3] * 8);
      const Program program = b.finish();
      std::vector<std::int64_t> got(8, -1), expected;
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t at = base + i;
        expected.push_back((at < limit) + (at <= limit) * 2 + (at > limit) * 4 + (at >= limit) * 8);
      }
      const runtime::Argument argument{.pointer = got.data()};
      const runtime::ArgumentSet set{&argument, {1, 1, 1}};
      emulated_kernel(program)->launch({&set, 1}, {});
      EXPECT_EQ(got, expected) << base << " + column, " << limit;
    }
  }
}

}  // namespace
}  // namespace tegula::gpu
