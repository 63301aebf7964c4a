#pragma once
// Cuts out constant work: values that depend only on scalars and on leaves that stay the same from run to run.

#include <optional>
#include <vector>

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Items that depend only on captured tensors and on Variables that the function does not write become a plan of their own.
///
/// Returns a graph whose outputs are the steady values worth keeping, or nothing if there are none; `graph` then reads them from new leaves after its
/// own. Leaves and constants of the result keep the numbers they had in `graph`. Kept are operands of calls and kernels, vectors smaller than
/// their readers, and sums. Not kept: values more than twice as large as the largest leaf they depend on, and values that depend on a sum or
/// product that `graph` computes too, because it may add the terms in another order.
/// After materialize, so that copies into other layouts are included; before fuse, which would mix steady work with the rest.
std::optional<Graph> cut_steady(Graph& graph);

/// Per item: true if it depends only on scalars and steady leaves through work that cannot fail, so that computing it once is enough.
std::vector<bool> steady_items(const Graph& graph);

/// True if the graph is inference only: it reads steady weights, writes no Variable, and no node of it was made by grad(). Then NaN
/// need not propagate (docs/differences.md), and work on weights is amortised over runs. False under TEGULA_CHECK=nan.
bool only_answers(const Graph& graph);

}  // namespace tegula::compile
