#pragma once
// Elementwise items become the epilogue of the matmul or convolution before them.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Elementwise items after a matmul or convolution become its epilogue if the device takes the call with it (`runtime/expression.h`): biases, sums
/// with other tensors, activations, limits, the derivative of gelu.
///
/// Views between the two come after the call then. Before layout and fusion, which would otherwise claim the items. `answers`: the graph is
/// inference only (only_answers.h); then an epilogue need not propagate NaN.
void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers = false);

/// The vector (as long as `axis` of `result`) behind an item of that shape that varies along that axis only.
std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result);

}  // namespace tegula::compile
