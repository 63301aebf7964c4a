// Kernels in the tile language as CUDA text, on emulated threads, beside the interpreter.

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tegula/graph/node.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/random.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_kernels.h"
#include "tests/support/tile_shape_kernels.h"

namespace tegula::gpu {
namespace {

using tile::cdiv, tile::out;

/// The node of the kernel behind its first result.
const Node& kernel_node(const std::vector<Tensor>& results) {
  const Node* node = results[0].node().get();
  return TileKernelOp::of(node->op()) ? *node : *node->inputs()[0];
}

/// The program of a launch over its inputs, results that begin with zeros, and these numbers.
testing::AssertionResult same_on_a_gpu(const std::vector<Tensor>& results, std::array<std::int64_t, 3> grid,
                                       std::initializer_list<std::int64_t> numbers, double tolerance = 0) {
  const Node& node = kernel_node(results);
  const tile::Program& program = TileKernelOp::of(node.op())->program().program;
  std::vector<TestArgument> arguments;
  for (const Ref<Node>& input : node.inputs()) {
    const HostArray array = Tensor(input).to_array();
    TestArgument argument = TestArgument::empty(array.dtype, static_cast<std::size_t>(array.size()));
    std::memcpy(argument.bytes.data(), array.buffer->data(), argument.bytes.size());
    arguments.push_back(std::move(argument));
  }
  for (const Tensor& result : results)
    arguments.push_back(TestArgument::filled(result.dtype(), static_cast<std::size_t>(result.numel()), [](std::size_t) { return 0.0; }));
  for (const std::int64_t number : numbers) arguments.push_back(TestArgument::scalar(static_cast<double>(number)));
  return emulation_agrees(program, arguments, {.grids = {grid}, .tolerance = tolerance});
}

TEST(TileLanguageOnAGpu, PortedKernelsGiveTheSameValues) {
  const Tensor x = normal({5, 30});
  EXPECT_TRUE(same_on_a_gpu(kernels::softmax_rows({2}, x, out({5, 30}), 5, 30, 32), {2, 1, 1}, {5, 30}, 64));
  const Tensor a = normal({20, 9}), b = normal({9, 17});
  EXPECT_TRUE(same_on_a_gpu(kernels::matmul({6}, a, b, out({20, 17}), 20, 17, 9, 16, 8, 4, 2), {6, 1, 1}, {20, 17, 9}, 4096));
  const Tensor q = uniform({2, 20, 8}), k = uniform({2, 20, 8}), v = uniform({2, 20, 8});
  EXPECT_TRUE(same_on_a_gpu(kernels::attention({3, 2}, q, k, v, out({2, 20, 8}), 20, 8, 8, 8), {3, 2, 1}, {20}, 4096));
  const Tensor bins = cast(remainder(arange(100), 10.0), i32);
  EXPECT_TRUE(same_on_a_gpu(kernels::histogram({4}, bins, out({10}, 0), 100, 32), {4, 1, 1}, {100}));
}

TEST(TileLanguageOnAGpu, LoopsCarryTheSameValues) {
  for (const std::int64_t n : {0, 1, 10}) EXPECT_TRUE(same_on_a_gpu(kernels::control({1}, out({6}), n), {1, 1, 1}, {n})) << n;
  EXPECT_TRUE(same_on_a_gpu(moving::collatz({1}, out({1}), 10, 20), {1, 1, 1}, {10}));
}

TEST(TileLanguageOnAGpu, MovedElementsLieInTheSamePlaces) {
  const auto one = [](const std::vector<Tensor>& results) { return same_on_a_gpu(results, {1, 1, 1}, {}, 64); };
  EXPECT_TRUE(one(moving::axes({1}, arange(30.0f), out({5, 2, 3}), out({2, 5, 3}), out({2, 3, 5}), out({2, 2, 5}))));
  const Tensor x = cast(arange(4), i32), y = cast(arange(4) + 10.0, i32);
  EXPECT_TRUE(one(moving::halves({1}, x, y, out({4, 2}), out({8}), out({8}), out({4}), out({4}))));
  EXPECT_TRUE(one(moving::functions({1}, uniform({3, 7}), out({3}), out({3}), out({3, 7}), out({3, 7}), out({3}), out({3}))));
  EXPECT_TRUE(one(moving::counts({1}, cast(remainder(arange(50), 11.0), i32), out({8}), out({8}), out({4}))));
  EXPECT_TRUE(same_on_a_gpu(moving::blocks({2}, normal({7, 10}), out({10, 7}), out({10}, 0), 7, 10, 4), {2, 1, 1}, {7, 10}, 4096));
}

}  // namespace
}  // namespace tegula::gpu
