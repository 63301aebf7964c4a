#pragma once
// Gathers sharded weights (LibraryOp::makes_anew, ZeRO stage 3) once for a layer's forward pass and again for its backward pass, so that they need no memory
// in between. A use gets a gather of its own if two other gathered weights were used since its last use. The new gather starts before the preceding layer's
// use, once that use's operands are ready, and overlaps that layer: only two layers' weights are in memory at a time. Before order_effects, which puts
// the new gathers into the order of all ranks (so each also precedes the exchange of the other layer's gradient, which it must not wait for). The walk
// depends on the program alone, so all ranks insert the same gathers.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A tensor of which every rank keeps a part (LibraryOp::makes_anew, ZeRO stage 3) is gathered for the forward pass and again for the backward
/// pass, not kept in between.
///
void gather_anew(Graph& graph);

}  // namespace tegula::compile
