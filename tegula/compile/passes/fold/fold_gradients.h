#pragma once
// gelu's derivative as the epilogue of a gradient's product.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// A product of a backward pass multiplies by the derivative of gelu's tanh form that follows it, where the device prefers that (a GPU
/// measures it). After fold_epilogues (what that leaves), before layout and fusion.
void fold_gradients(Graph& graph, runtime::Device& device);

}  // namespace tegula::compile
