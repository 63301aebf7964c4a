#pragma once
// What needs no work: idle views, equal items, dead items.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Views that change nothing are looked through, those that undo each other too, equal items become one, dead ones go; a product that is only seen transposed is made so. Early, so that all later passes see less.
/// Never drops arithmetic such as 0*x: NaN and infinity must come through.
void simplify(Graph& graph);

/// Whether the item is the transpose of a matrix, its input.
bool transposes(const Graph& graph, const Item& item);

}  // namespace tegula::compile
