// Gather and Histogram on the executor, beside the interpreter.

#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

TEST(ExecutorPicks, ElementsComeFromTheirPlacesOfTheLine) {
  for (const DType dtype : {f64, f32, i64, i32}) {
    for (const int axis : {0, 1, 2}) {
      Builder b("gather");
      const Shape from{3, 4, 5};
      Shape to = from;
      to[axis] = 7;
      const Value x = b.pointer("x", dtype, false), index = b.pointer("index", i64, false), out = b.pointer("out", dtype, true);
      const auto places = [&](const Shape& shape) { return reshape(b.arange(0, numel(shape)), shape); };
      b.store(out + places(to), gather(b.load(x + places(from)), b.load(index + places(to)), axis));
      const auto count = static_cast<std::size_t>(numel(to));
      EXPECT_TRUE(agrees(b.finish(), {TestArgument::filled(dtype, 60, [](std::size_t i) { return static_cast<double>(i); }),
                                      TestArgument::filled(i64, count, [](std::size_t i) { return static_cast<double>(i * 5 % 8) - 1; }),
                                      TestArgument::empty(dtype, count)}))
          << name(dtype) << " " << axis;
    }
  }
}

TEST(ExecutorPicks, ConditionsAreGatheredToo) {
  Builder b("conditions");
  const Value out = b.pointer("out", i32, true), n = b.scalar("n", i64), lane = b.arange(0, 9);
  b.store(out + lane, cast(gather(lane % 3 == 0 || lane > n, 8 - lane, 0), i32));
  EXPECT_TRUE(agrees(b.finish(), {TestArgument::empty(i32, 9), TestArgument::scalar(6)}));
}

TEST(ExecutorPicks, HistogramsCountWhatLiesWithin) {
  for (const bool masked : {false, true}) {
    Builder b("histogram");
    const Value x = b.pointer("x", i32, false), out = b.pointer("out", i32, true), lane = b.arange(0, 60), v = b.load(x + lane);
    b.store(out + (b.program_id(0) * 7 + b.arange(0, 7)),
            histogram(reshape(v, {6, 10}), 7, masked ? reshape(lane % 3 != b.program_id(0), {6, 10}) : Value()));
    EXPECT_TRUE(agrees(
        b.finish(),
        {TestArgument::filled(i32, 60, [](std::size_t i) { return static_cast<double>(i * i % 11) - 2; }), TestArgument::empty(i32, 21)},
        {.grids = {{3, 1, 1}}}));
  }
}

}  // namespace
}  // namespace tegula::host
