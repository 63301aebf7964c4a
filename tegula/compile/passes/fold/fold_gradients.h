#pragma once
// gelu's derivative as the epilogue of a gradient's product.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The derivative of gelu's tanh form becomes part of the matmul before it, if the device prefers that.
///
/// A GPU measures it. After fold_epilogues (what that leaves), before layout and fusion.
void fold_gradients(Graph& graph, runtime::Device& device);

}  // namespace tegula::compile
