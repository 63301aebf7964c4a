#pragma once
// Exchanges with other processes in program order.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Each exchange with other processes waits for the one before it (a barrier): program order on every rank.
///
/// Before fusion, which may move unconnected items and so must see these edges: two ranks that fuse differently (another number of rows) still
/// exchange in one order.
void order_effects(Graph& graph);

}  // namespace tegula::compile
