#pragma once
// What follows a library call and is done by it.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Folds a bias, a sum with another tensor and an activation into the matmul or convolution they follow. Before layout and fusion, which
/// would otherwise claim the elementwise items. In a graph that only answers (only_answers.h) a device may be asked for what it does to numbers alone
/// (Convolution::keeps_nan), and limits (clamp, relu6) are put into the call as well.
void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers = false);

/// The vector (as long as `axis` of `result`) behind an item of that shape that varies along that axis only.
std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result);

}  // namespace tegula::compile
