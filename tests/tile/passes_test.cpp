#include "tegula/tile/passes/dead_code.h"

#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

TEST(DeadCode, UnusedValuesGoAndEffectsStay) {
  Builder b("dead");
  const Value p = b.pointer("p", f32, true), unused = b.pointer("unused", f32, false), x = b.load(p);
  unary(Word::Exp, b.load(unused + b.arange(0, 8)));
  b.check(x > 0.0, b.program_id(0), 3);
  b.store(p, x + 1.0);
  const Program program = b.finish();
  EXPECT_EQ(count(program, Word::Exp), 0);
  EXPECT_EQ(count(program, Word::Load), 1);
  EXPECT_EQ(count(program, Word::Arange), 0);
  EXPECT_EQ(count(program, Word::Assert), 1);
  EXPECT_EQ(program.parameters.size(), 2u);
}

TEST(DeadCode, LoopsWithoutEffectOrUsedResultGo) {
  Builder b("loops");
  const Value p = b.pointer("p", f32, true), n = b.scalar("n", i64), zero = number(0, n), one = number(1, n);
  const auto sum = [&](Word word) {
    return b.for_(zero, n, one, {b.constant(0.0, f32)}, [&](Value i, std::span<const Value> carried) {
      unary(Word::Cosh, carried[0]);
      return std::vector<Value>{carried[0] + unary(word, cast(i, f32))};
    })[0];
  };
  sum(Word::Sin);
  b.store(p, sum(Word::Cos));
  b.for_(zero, n, one, {}, [&](Value i, std::span<const Value>) {
    b.atomic_add(p, cast(i, f32));
    return std::vector<Value>{};
  });
  const Program program = b.finish();
  EXPECT_EQ(count(program, Word::For), 2);
  EXPECT_EQ(count(program, Word::Sin), 0);
  EXPECT_EQ(count(program, Word::Cos), 1);
  EXPECT_EQ(count(program, Word::Cosh), 0);
}

TEST(DeadCode, WhatNobodyNeedsIsNoLongerCarriedNorGiven) {
  Builder b("carried");
  const Value p = b.pointer("p", f32, true), n = b.scalar("n", i64), zero = number(0, n), one = number(1, n);
  const Value x = b.load(p);
  const auto carried = b.for_(zero, n, one, {x, x, x}, [&](Value i, std::span<const Value> c) {
    // The first is not read behind the loop, the second only through the third.
    return std::vector<Value>{c[0] + unary(Word::Sin, c[0]), c[1] * cast(i, f32), unary(Word::Exp, c[2]) + c[1]};
  });
  const auto chosen =
      b.if_(n > 3, [&] { return std::vector<Value>{unary(Word::Cos, x), x}; }, [&] { return std::vector<Value>{x, unary(Word::Log, x)}; });
  b.store(p, carried[2] + chosen[1]);
  const Program program = b.finish();
  EXPECT_EQ(count(program, Word::Sin), 0);
  EXPECT_EQ(count(program, Word::Cos), 0);
  EXPECT_EQ(count(program, Word::Log), 1);
  EXPECT_EQ(count(program, Word::Exp), 1);
  for (const Instruction& self : program.instructions) {
    if (self.word == Word::For) {
      EXPECT_EQ(self.operands.size(), 5u);
      EXPECT_EQ(self.regions[0].parameters.size(), 3u);
      EXPECT_EQ(self.regions[0].results.size(), 2u);
    }
    if (self.word == Word::If) { EXPECT_EQ(self.regions[1].results.size(), 1u); }
  }
}

TEST(DeadCode, IdsFollowTheOrderOfExecution) {
  Builder b("order");
  const Value p = b.pointer("p", i64, true), n = b.scalar("n", i64), one = number(1, n);
  number(99, n);
  const auto last = b.for_(one, n, one, {n}, [&](Value i, std::span<const Value> carried) { return std::vector<Value>{carried[0] * i}; });
  b.store(p, last[0]);
  const Program program = b.finish();
  Id next = 0;
  const std::function<void(const Region&)> walk = [&](const Region& region) {
    for (const Id id : region.parameters) EXPECT_EQ(id, next++);
    for (const Id id : region.body) {
      EXPECT_EQ(id, next++);
      for (const Region& inner : program[id].regions) walk(inner);
    }
  };
  walk(program.body);
  EXPECT_EQ(next, static_cast<Id>(program.instructions.size()));
}

TEST(DeadCode, RunningItAgainChangesNothing) {
  Builder b("again");
  const Value p = b.pointer("p", f32, true);
  b.store(p, unary(Word::Exp, b.load(p)));
  const Program once = b.finish();
  EXPECT_EQ(to_string(remove_dead_code(once)), to_string(once));
}

}  // namespace
}  // namespace tegula::tile
