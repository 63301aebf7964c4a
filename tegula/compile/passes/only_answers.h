#pragma once
// Graphs of inference.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// True if the graph is inference only: it reads steady weights, writes no Variable, and no node of it was made by grad(). Then NaN
/// need not propagate (docs/differences.md), and work on weights is amortised over runs. False under TEGULA_CHECK=nan.
bool only_answers(const Graph& graph);

}  // namespace tegula::compile
