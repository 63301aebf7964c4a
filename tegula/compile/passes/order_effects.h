#pragma once
// Keeps exchanges with other processes in program order: each exchange gets the one before it as an input that it only waits for (a barrier).
// Before fusion, which may move unconnected items and so must see these edges: two ranks that fuse differently (another number
// of rows) still exchange in one order.

#include "tegula/compile/graph.h"

namespace tegula::compile {

void order_effects(Graph& graph);

}  // namespace tegula::compile
