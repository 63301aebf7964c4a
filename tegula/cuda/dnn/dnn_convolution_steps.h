#pragma once
// The steps of a convolution on the GPU: the engine of cuDNN with tensors that lie as it takes them, and what is around it.

#include <memory>
#include <string>
#include <vector>

#include "tegula/cuda/dnn/dnn_convolution_graph.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::gpu {

/// An engine with its graph: equal calls of a program share it.
struct ChosenEngine {
  DnnGraph graph;
  DnnPlan plan;
};

/// Runs the engine: (input, weight, output[, bias][, addend]). Workspace is its scratch memory.
std::unique_ptr<runtime::Call> engine_call(Context& context, std::shared_ptr<const ChosenEngine> engine, std::string text, bool bias,
                                           bool addend);

/// (from) -> to: `times` copies, one behind the other.
std::unique_ptr<runtime::Call> repeating_call(Context& context, std::size_t bytes, std::size_t times);

/// A tensor of a call whose kernels may take addresses for multiples of 16.
struct AlignedTensor {
  std::size_t bytes = 0;  // 0: lies anywhere
  bool written = false;
  bool sparse = false;  // has room between its rows, which are another's: it cannot go through a block
};
/// The same call for tensors at any address: those that do not begin at multiples of 16 bytes (slices) go through memory of its own.
std::unique_ptr<runtime::Call> aligned_call(Context& context, std::unique_ptr<runtime::Call> call, std::vector<AlignedTensor> tensors);

}  // namespace tegula::gpu
