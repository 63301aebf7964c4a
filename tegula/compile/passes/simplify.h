#pragma once
// Removes views without effect, merges equal items (CSE) and removes dead items.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Also cancels views that undo each other, and computes a matmul transposed if only its transpose is read. Early, so that later passes see less.
/// Never drops arithmetic such as 0*x: NaN and infinity must propagate.
void simplify(Graph& graph);

/// True if the item is the transpose of its input, a matrix.
bool transposes(const Graph& graph, const Item& item);

}  // namespace tegula::compile
