#include "tegula/tile/passes/canonical_order.h"

#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

/// Loads a and b, in this order or in the other one, in a loop and behind it.
Program two_loads(bool turned) {
  Builder b("two");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, false), z = b.pointer("z", f32, true);
  const auto both = [&](Value at) {
    Value first, second;
    if (turned) second = b.load(y + at * 2), first = b.load(x + at);
    else first = b.load(x + at), second = b.load(y + at * 2);
    return first - second;
  };
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64), three = b.constant(std::int64_t{3}, i64);
  const auto sum = b.for_(zero, three, one, {b.constant(0.0, f32)},
                          [&](Value i, std::span<const Value> carried) { return std::vector<Value>{carried[0] + both(i)}; });
  b.store(z, sum[0]);
  b.store(z + 1, both(one));
  return b.finish();
}

TEST(CanonicalOrder, TheOrderInWhichArgumentsWereComputedDoesNotCount) {
  EXPECT_NE(structure(two_loads(false)), structure(two_loads(true)));
  const Program one = in_canonical_order(two_loads(false)), other = in_canonical_order(two_loads(true));
  EXPECT_EQ(structure(one), structure(other)) << to_string(one) << to_string(other);
  verify(one);
  EXPECT_EQ(structure(in_canonical_order(one)), structure(one));
}

TEST(CanonicalOrder, LoadsDoNotCrossStores) {
  Builder b("exchange");
  const Value z = b.pointer("z", f32, true);
  const Value before = b.load(z);
  b.store(z, before + 1.0);
  const Value behind = b.load(z);
  b.store(z + 1, behind);
  b.store(z + 2, before);
  const Program program = in_canonical_order(b.finish());
  std::vector<Word> words;
  for (const Id id : program.body.body)
    if (program[id].word == Word::Load || program[id].word == Word::Store) words.push_back(program[id].word);
  EXPECT_EQ(words, (std::vector<Word>{Word::Load, Word::Store, Word::Load, Word::Store, Word::Store}));
}

}  // namespace
}  // namespace tegula::tile
