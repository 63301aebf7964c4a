// The memory of a plan, and the report of print_memory() on it.

#include <gtest/gtest.h>

#include <numeric>

#include "tegula/compile/run/executable.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kMatrix = 512 * 1024 * 4;

/// The plan for `y`, on the CPU.
std::unique_ptr<Executable> executable_of(const Tensor& y) {
  const Node* root[] = {y.node().get()};
  const Reading reading = read(root);
  return compile(flatten(reading, root, {}), runtime::cpu());
}

Tensor matrix() {
  Tensor x = zeros({512, 1024});
  eval(x);
  return x;
}

TEST(MemoryUse, NamesWhatIsHeldAtThePeak) {
  const Tensor x = matrix();
  const std::string here = "memory_use_test.cpp:" + std::to_string(__LINE__ + 1);
  const Tensor a = cumsum(x, 0), b = cumsum(sort(a, 1).values, 1);  // none of them takes the place of another
  const auto executable = executable_of(sum(a * b));
  const Plan& plan = executable->plan();
  const MemoryUse use = memory_use(plan);
  EXPECT_EQ(use.leaf_bytes, kMatrix);
  EXPECT_EQ(use.output_bytes, 4u);
  ASSERT_EQ(use.between.size(), plan.steps.size());
  ASSERT_GE(use.peak, 0);
  std::size_t held = 0;
  for (const auto& one : use.held) held += one.bytes;
  EXPECT_EQ(held, use.between[static_cast<std::size_t>(use.peak)]);
  EXPECT_GE(held, 2 * kMatrix);
  EXPECT_LE(held, plan.arena_bytes);
  for (const std::size_t bytes : use.between) EXPECT_LE(bytes, held);
  EXPECT_GE(use.held[0].bytes, use.held.back().bytes);

  const std::string table = memory_table(plan);
  EXPECT_NE(table.find("2.0 MiB of arguments, Variables and captured tensors, 4 B of results"), std::string::npos) << table;
  EXPECT_NE(table.find("cumsum"), std::string::npos) << table;
  EXPECT_NE(table.find(here), std::string::npos) << table;
  EXPECT_NE(arena_purpose(plan).find("2.0 MiB cumsum "), std::string::npos) << arena_purpose(plan);
}

TEST(MemoryUse, OneProgramHoldsNothingBetweenSteps) {
  const auto executable = executable_of(softmax(matrix() * 2.0));
  const MemoryUse use = memory_use(executable->plan());
  EXPECT_EQ(use.output_bytes, kMatrix);
  EXPECT_EQ(use.between, std::vector<std::size_t>{0});
  EXPECT_TRUE(use.held.empty());
}

TEST(MemoryUse, AValueInThePlaceOfAnotherCountsOnce) {
  const Tensor a = cumsum(matrix(), 0);
  const auto executable = executable_of(cumsum(exp(a), 1));  // exp is written over its operand
  const MemoryUse use = memory_use(executable->plan());
  for (const std::size_t bytes : use.between) EXPECT_LE(bytes, executable->plan().arena_bytes);
}

TEST(MemoryUse, TheBodyOfALoopIsShownWithItsValues) {
  const auto body = [](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    return Scanned{{matmul(tanh(matmul(carry[0], x[0])), x[0])}, {}};
  };
  const auto executable = executable_of(scan(body, {matrix()}, {zeros({3, 1024, 1024})}).carry[0]);
  const std::string table = memory_table(executable->plan());
  EXPECT_NE(table.find("in each turn of the loop:\n   | "), std::string::npos) << table;
  EXPECT_NE(table.find("matmul", table.find("in each turn")), std::string::npos) << table;
  const std::string plan = to_string(executable->plan());
  EXPECT_NE(plan.find("loop scan [3 x "), std::string::npos) << plan;
}

TEST(MemoryUse, JittedFunctionsPrintIt) {
  manual_seed(1);
  nn::Linear first{64, 256}, second{256, 8};
  auto step = jit([&](Tensor x) { return mean(square(second(tanh(first(x))))); });
  EXPECT_EQ(step.print_memory(), "");  // nothing has run
  step(normal({32, 64}));
  const std::string table = step.print_memory();
  EXPECT_NE(table.find("at the peak"), std::string::npos) << table;
  EXPECT_NE(table.find("32.0 KiB"), std::string::npos) << table;  // (32, 256) f32
  EXPECT_NE(table.find("(32, 256)"), std::string::npos) << table;
}

}  // namespace
}  // namespace tegula::compile
