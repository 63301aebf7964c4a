#include "tegula/tile/passes/mask_where_needed.h"

#include <gtest/gtest.h>

#include "tegula/tile/builder.h"

namespace tegula::tile {
namespace {

/// The scores of a block of rows in a loop over columns, masked as `mask` says, summed up.
template <class F>
Program scores(F&& mask, std::int64_t size = 32) {
  Builder b("scores");
  const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), n = b.scalar("n0", i64);
  const Value zero = b.constant(std::int64_t{0}, i64), by = b.constant(size, i64);
  const Value m = b.program_id(0) * by + b.arange(0, size), d = b.arange(0, size);
  const Value x = b.load(in + (col(m) * by + row(d)));
  const Value sum = b.for_(zero, n, by, {b.full({size, size}, 0, f32)}, [&](Value at, std::span<const Value> now) -> std::vector<Value> {
    const Value s = dot(x, x, b.full({size, size}, 0, f32)), columns = at + b.arange(0, size);
    return {now[0] + select(mask(b, col(m), row(columns), n, in), s, b.full({size, size}, -1, f32))};
  })[0];
  b.store(out + (col(m) * by + row(d)), sum);
  return b.finish();
}
int count(const Program& program, Word word) {
  int found = 0;
  for (const Instruction& self : program.instructions) found += self.word == word;
  return found;
}

TEST(MaskWhereNeeded, PutsMasksOfPositionsUnderABranch) {
  const auto causal = [](Builder&, Value m, Value n, Value, Value) { return m >= n; };
  const auto both = [](Builder&, Value m, Value n, Value end, Value) { return m >= n && n < end; };
  for (const Program& given : {scores(causal), scores(both)}) {
    const Program program = mask_where_needed(given);
    verify(program);
    EXPECT_EQ(count(given, Word::If), 0);
    EXPECT_EQ(count(program, Word::If), 1) << to_string(program);
  }
}
TEST(MaskWhereNeeded, LeavesWhatItKnowsNothingOf) {
  const auto of_elements = [](Builder& b, Value m, Value n, Value, Value in) { return b.load(in + (m + n)) > b.full({32, 32}, 0, f32); };
  const auto causal = [](Builder&, Value m, Value n, Value, Value) { return m >= n; };
  EXPECT_EQ(count(mask_where_needed(scores(of_elements)), Word::If), 0);
  EXPECT_EQ(count(mask_where_needed(scores(causal, 16)), Word::If), 0);  // few elements
}

}  // namespace
}  // namespace tegula::tile
