#pragma once
// A launch of a tile kernel as generated code that the machine runs, beside the interpreter.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tests/support/emulated_check.h"

namespace tegula::gpu {

/// The node of the kernel behind its first result.
inline const Node& kernel_node(const std::vector<Tensor>& results) {
  const Node* node = results[0].node().get();
  return TileKernelOp::of(node->op()) ? *node : *node->inputs()[0];
}

/// The program of a launch over its inputs, results that begin with zeros, and these numbers.
inline testing::AssertionResult same_on_a_gpu(const std::vector<Tensor>& results, std::array<std::int64_t, 3> grid,
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

}  // namespace tegula::gpu
