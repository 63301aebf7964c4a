#pragma once
// A loop takes its numbers in the type that it computes in (LoopOp::Input::Number). What was a number where the loop was written down may be a value of a
// half dtype in the graph it ends in: within the body of another loop, behind a checkpoint's barrier, where it is differentiated by.

#include "tegula/compile/graph.h"

namespace tegula::compile {

void widen_numbers(Graph& graph);

}  // namespace tegula::compile
