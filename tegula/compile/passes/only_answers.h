#pragma once
// Graphs of inference.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Whether the graph reads weights that stay from run to run and nothing trains: it writes no Variable, and no node of it was made by grad().
/// Then NaN need not come through (docs/differences.md), and what is made of weights is worth more work. Not under TEGULA_CHECK=nan.
bool only_answers(const Graph& graph);

}  // namespace tegula::compile
