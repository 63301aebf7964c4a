#pragma once
// Removes views without effect, merges equal items (CSE) and removes dead items.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Looks through views that change nothing or undo each other, makes equal items one, and drops dead ones; never drops `0*x`: NaN and infinity must
/// propagate.
///
/// Also computes a matmul transposed if only its transpose is read. Early, so that later passes see less.
void simplify(Graph& graph);

/// True if the item is the transpose of its input, a matrix.
bool transposes(const Graph& graph, const Item& item);

}  // namespace tegula::compile
