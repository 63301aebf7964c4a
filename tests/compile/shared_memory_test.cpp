// Values that share memory, in the arena or inside a fused program, do not get in each other's way: whatever is planned, the numbers are
// those of one op after another.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/compile/run/executable.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/trace.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

Tensor val(Tensor t) {
  eval(t);
  return t;
}
/// Each evaluated by itself, so that the comparison's ops are not fused with them.
double distance(const Tensor& a, const Tensor& b) { return max(abs(val(a) - val(b))).item(); }

TEST(SharedMemory, AFirstRowOfMeansIsNotTakenForAllOfThem) {
  for (const Shape& shape : {Shape{5, 2}, Shape{100, 64}, Shape{3, 1000}}) {
    const Tensor x = val(uniform(shape, 1, 3)), rows = val(mean(x, 1)), columns = val(mean(x, 0)), kept = val(sum(x, 1, Keep::Yes));
    EXPECT_LT(distance(x - select(mean(x, 0), 0, 0), x - select(columns, 0, 0)), 1e-5) << to_string(shape);
    EXPECT_LT(distance(x - select(mean(x, 1), 0, 0), x - select(rows, 0, 0)), 1e-5) << to_string(shape);
    EXPECT_LT(distance(x / slice(sum(x, 1, Keep::Yes), 0, {0, 1}), x / slice(kept, 0, {0, 1})), 1e-5) << to_string(shape);
    const Tensor largest = val(max(x, 0, Keep::Yes));
    EXPECT_LT(distance(x - slice(max(x, 0, Keep::Yes), 1, {0, 1}), x - slice(largest, 1, {0, 1})), 1e-5) << to_string(shape);
  }
  const Tensor cube = val(uniform({6, 4, 4}, 1, 3)), means = val(mean(cube, 0));
  EXPECT_LT(distance(cube - diagonal(mean(cube, 0)), cube - diagonal(means)), 1e-5);
}

// The sum over an axis of one element has as many elements as its operand, and its group's other results may lie where its operands do.
TEST(SharedMemory, AReductionOverOneElementReadsItsOperandsBeforeResultsReplaceThem) {
  const Tensor x = val(uniform({1, 64, 64})), a = val(uniform({64, 64}));
  const auto f = [](Tensor x, Tensor a) {
    Tensor z = matmul(a, a), y1 = sin(x), y2 = sum(cos(x), 0) * z;
    return matmul(y2, reshape(y1, {64, 64}));
  };
  const Tensor z = val(matmul(a, a)), y1 = val(sin(x)), y2 = val(sum(cos(x), 0) * z), want = val(matmul(y2, reshape(y1, {64, 64})));
  EXPECT_LT(distance(f(x, a), want), 1e-2 * max(abs(want)).item());
  auto jitted = jit(f);
  for (int call = 0; call < 3; ++call) EXPECT_LT(distance(jitted(x, a), want), 1e-2 * max(abs(want)).item());
}

TEST(SharedMemory, AVariableThatIsWrittenLateKeepsItsNewValue) {
  const Tensor x = val(normal({64, 64})), weights = val(normal({64, 64}) * 0.1), labels = val(randint(0, 64, {64}));
  Variable state(zeros({64, 64}));
  auto f = jit([&](Tensor x, Tensor labels) {
    state = tanh(matmul(x, weights) + state.read());
    Tensor h = state;
    return cross_entropy(matmul(h * sigmoid(matmul(h, weights)), weights), labels);
  });
  Tensor want = val(zeros({64, 64}));
  for (int call = 0; call < 3; ++call) {
    want = val(tanh(val(matmul(x, weights)) + want));
    f(x, labels);
    EXPECT_LT(distance(state.read(), want), 1e-4) << call;
  }
}

// Its place would else be that of a large value, whose readers all who read the number would wait for.
TEST(SharedMemory, ANumberHasAPlaceOfItsOwnWhereStepsRunSideBySide) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  const Tensor x = zeros({2048, 2048}), other = zeros({64}), few = zeros({300});
  eval(x, other, few);
  Trace trace(Line::current());  // nothing is computed
  Tensor last = x;
  for (int k = 0; k < 8; ++k) last = matmul(tanh(last), x);
  const Tensor number = sum(square(few));
  const std::vector<Tensor> values{mean(last, {0}), other * number};
  std::vector<const Node*> roots;
  for (const Tensor& value : values) roots.push_back(value.node().get());
  const auto executable = compile::compile(compile::flatten(compile::read(roots), roots, {}), device);
  const compile::Plan& plan = executable->plan();
  const auto after = compile::dependencies(plan);
  int numbers = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].writes.size() != 1 || numel(plan.graph[plan.steps[s].writes[0]].shape) != 1) continue;
    EXPECT_TRUE(after[s].empty()) << compile::to_string(plan);
    ++numbers;
  }
  EXPECT_EQ(numbers, 1) << compile::to_string(plan);
  EXPECT_LT(plan.arena_bytes, std::size_t{60} << 20) << compile::to_string(plan);
}

}  // namespace
}  // namespace tegula
