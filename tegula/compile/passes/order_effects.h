#pragma once
// What exchanges something with other processes keeps program order. Every such item waits for the one before it, as an input that is only waited for (a
// barrier). First of all passes, so that fusion, which may move whatever is not connected, sees the edges: two ranks that fuse differently (another number
// of rows) still exchange in one order.

#include "tegula/compile/graph.h"

namespace tegula::compile {

void order_effects(Graph& graph);

}  // namespace tegula::compile
