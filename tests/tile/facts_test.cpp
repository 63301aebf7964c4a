// Facts of a program as data: terms, affine forms, conditions of masks, and which values are equal.

#include "tegula/tile/facts/facts.h"

#include <algorithm>
#include <limits>

#include "tegula/tile/facts/numbers.h"
#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Terms, AreEqualWhenTheyAreWrittenAlike) {
  const Term x = Term::scalar(3, 2, 31), y = Term::scalar(4), minus = Term::number(-1);
  EXPECT_EQ(add(x, multiply(y, Term::number(8))), add(x, multiply(y, Term::number(8))));
  EXPECT_EQ(multiply(x, minus), multiply(minus, x));
  EXPECT_EQ(x, Term::scalar(3)) << "what is known of a scalar is no part of how it is written";
  EXPECT_NE(add(x, y), add(y, x));
  EXPECT_NE(add(x, y), multiply(x, y));
  EXPECT_NE(x, y);
}

TEST(Terms, FoldWhatIsKnown) {
  const Term x = Term::scalar(3);
  EXPECT_EQ(add(x, Term{}), x);
  EXPECT_EQ(multiply(Term::number(1), x), x);
  EXPECT_TRUE(multiply(x, Term::number(0)).is(0));
  EXPECT_TRUE(add(Term::number(kMost), Term::number(1)).is(kLeast));
  EXPECT_TRUE(multiply(Term::number(-6), Term::number(7)).is(-42));
}

TEST(Terms, CountTwosAndBits) {
  const Term x = Term::scalar(3, 2, 31), y = Term::scalar(4, 1, 31), any = Term::scalar(5);
  EXPECT_EQ(add(x, y).twos, 1);
  EXPECT_EQ(multiply(x, y).twos, 3);
  EXPECT_EQ(add(x, y).bits, 32);
  EXPECT_EQ(multiply(x, y).bits, 62);
  EXPECT_EQ(add(x, any).bits, kAnyBits);
  EXPECT_EQ(Term::number(kLeast).bits, kAnyBits);
  EXPECT_EQ(Term::number(0).twos, kManyTwos);
}

TEST(Terms, DifferencesForLimitsDoNotComeRound) {
  const Term least = Term::number(kLeast), most = Term::number(kMost), any = Term::scalar(3), safe = Term::scalar(4, 0, 31);
  EXPECT_TRUE(subtract_for_limit(least, most).is(-(std::int64_t{1} << 62)));
  EXPECT_TRUE(subtract_for_limit(most, least).is(std::int64_t{1} << 62));
  EXPECT_EQ(subtract_for_limit(safe, any).kind, Term::Kind::Difference);
  EXPECT_EQ(subtract_for_limit(safe, Term::number(5)), add(safe, Term::number(-5)));
}

TEST(Facts, PointersThatALoopMovesAreAffine) {
  Builder b("moved");
  const Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64), pitch = b.scalar("s", i64);
  const Value column = row(b.arange(0, 64));
  b.for_(number(0, n), n, number(1, n), {in + column, out + column}, [&](Value, std::span<const Value> now) -> std::vector<Value> {
    b.store(now[1], b.load(now[0]));
    return {now[0] + pitch, now[1] + pitch * 2};
  });
  const Program program = b.finish();
  const Facts facts(program, {{4, false}, {4, false}, {3, true}, {3, true}});
  for (Id id = 0; id < static_cast<Id>(program.instructions.size()); ++id) {
    if (program[id].word != Word::Load && program[id].word != Word::Store) continue;
    const Id pointer = program[id].operands[0];
    const Form form = facts.affine(pointer);
    EXPECT_LT(form.rest, 0) << to_string(program);
    EXPECT_EQ(facts.root_of(pointer), program[id].word == Word::Load ? 0 : 1);
    EXPECT_TRUE(form.stride[1].is(1));
    EXPECT_EQ(form.base.kind, Term::Kind::Scalar);
    EXPECT_EQ(facts.contiguous(pointer), 4);
  }
}

TEST(Facts, MasksAreConditionsOfCoordinates) {
  Builder b("masks");
  const Value out = b.pointer("out", f32, true), n = b.scalar("n", i64), flag = b.scalar("f", boolean);
  const Value rows = col(b.arange(0, 4)), columns = row(b.arange(0, 64)), one = expand_dims(b.arange(0, 1), 1);
  const Value mask = rows < n && columns >= 3 && broadcast(flag, {4, 64}) && one + n > 5;
  b.store(out + (rows * 64 + columns), b.full({4, 64}, 1, f32), mask);
  const Program program = b.finish();
  const Facts facts(program, {{4, false}, {0, true}, {}});
  for (const Instruction& self : program.instructions) {
    if (self.word != Word::Store) continue;
    using Kind = Condition::Kind;
    std::vector<std::pair<Kind, int>> found;
    for (const Condition& one_of_them : facts.box(self.operands[2]).conditions) found.emplace_back(one_of_them.kind, one_of_them.axis);
    EXPECT_EQ(found, (std::vector<std::pair<Kind, int>>{{Kind::Below, 0}, {Kind::AtLeast, 1}, {Kind::Uniform, 0}, {Kind::Tile, 0}}));
  }
}

/// Two loads and a store at one place that is written in two ways, one of them with a number that the launch passes.
TEST(Numbers, EqualExpressionsHaveOneNumber) {
  Builder b("equal");
  const Value p = b.pointer("p", f32, true), n = b.scalar("n", i64), m = b.scalar("m", i64), lane = b.arange(0, 8);
  const Value first = b.load(p + (n + lane)), second = b.load(p + (m + lane));
  b.store(p + (n + lane), first + second);
  const Program program = b.finish();
  const auto places = [&](const std::vector<std::optional<std::int64_t>>& known) {
    const std::vector<Numbered> values = number_values(program, known);
    std::vector<std::uint64_t> numbers;
    for (const Instruction& self : program.instructions)
      if (self.word == Word::Load || self.word == Word::Store) numbers.push_back(values[static_cast<std::size_t>(self.operands[0])].number);
    return numbers;
  };
  const auto unknown = places({}), equal = places({{}, 5, 5}), unequal = places({{}, 5, 6});
  EXPECT_EQ(unknown.size(), 3u);
  EXPECT_EQ(std::ranges::count(unknown, unknown.back()), 2);
  EXPECT_EQ(std::ranges::count(equal, equal.back()), 3);
  EXPECT_EQ(std::ranges::count(unequal, unequal.back()), 2);
}

}  // namespace
}  // namespace tegula::tile
