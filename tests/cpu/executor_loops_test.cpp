// Loops without a count on the executor, beside the interpreter.

#include "tests/support/atomic_programs.h"
#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

TEST(ExecutorLoops, AWhileCarriesScalarsTilesAndPointers) {
  const auto from = TestArgument::filled(i64, 6, [](std::size_t k) { return 1.0 + static_cast<double>(k * 5); });
  EXPECT_TRUE(agrees(test::collatz(), {from, TestArgument::empty(i64, 6 * 24), TestArgument::empty(f32, 6 * 24)}, {.grids = {{6, 1, 1}}}));
}

TEST(ExecutorLoops, AWhileThatNeverBeginsLeavesWhatThereWas) {
  tile::Builder b("never");
  const tile::Value out = b.pointer("out", f32, true), n = b.scalar("n", i64), lane = b.arange(0, 8);
  const auto last = b.while_(n > 0, {b.full({8}, 2, f32), n},
                             [&](std::span<const tile::Value> c) { return tile::Builder::Next{c[1] > 1, {c[0] * 2, c[1] - 1}}; });
  b.store(out + lane, last[0] + cast(last[1], f32));
  const tile::Program program = b.finish();
  for (const double n : {-3.0, 0.0, 1.0, 5.0}) EXPECT_TRUE(agrees(program, {TestArgument::empty(f32, 8), TestArgument::scalar(n)})) << n;
}

}  // namespace
}  // namespace tegula::host
