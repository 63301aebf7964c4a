#pragma once
// Folds elementwise work that follows a library call into the call's epilogue.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Bias, residual sum and activation become part of the matmul or convolution before them; in functions that only answer, limits (`clamp`, `relu6`) as well:
/// an `Expression` of tile words with scalars, which the device accepts or not.
///
/// Before layout and fusion, which would otherwise claim the elementwise items. `answers`: the graph is inference only (only_answers.h); then the call need
/// not propagate NaN (Convolution::keeps_nan).
void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers = false);

/// The vector (as long as `axis` of `result`) behind an item of that shape that varies along that axis only.
std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result);

}  // namespace tegula::compile
