#pragma once
// The steps of a convolution on the GPU: the engine of cuDNN with tensors in its layouts, and the steps around it.

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

}  // namespace tegula::gpu
