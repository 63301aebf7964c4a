#pragma once
// What every rank keeps a part of (LibraryOp::makes_anew) is gathered for a layer's forward pass and again for its backward pass, instead of lying in memory
// in between: a use is given a gather of its own where two others were used since the last one. That gather comes ahead of the use before, of another layer's, as
// soon as what that one reads is there: it goes on beside that layer, and the memory of two layers is all that is needed. In front of order_effects, which puts
// the further gathers into the order of all ranks (so each is also ahead of the exchange of the other layer's gradient, which it must not wait for); the walk is
// over the program alone, so all ranks insert the same.

#include "tegula/compile/graph.h"

namespace tegula::compile {

void gather_anew(Graph& graph);

}  // namespace tegula::compile
