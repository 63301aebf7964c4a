#pragma once
// Parts of a batch whose sums travel in turn: one computes while the other's exchange is under way.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Where independent parts of a batch go through layers that ranks share (products end in an exchange that later products need), the exchanges of all parts
/// come layer by layer: the products ahead of exchange k begin when those ahead of exchange k - 1 have ended. Left to themselves the parts would
/// keep step with each other on a device that runs what is ready: all would wait for their exchanges at once. Exchanges with no product ahead of them, the gather
/// behind a norm of scattered steps, follow the one they come behind at once. What no later product needs, the gradients' buckets, stays as it is.
///
/// Only what says that all ranks have the same graph of it (LibraryOp::takes_turns) changes places, and no further than the next exchange that does not: that one's group may
/// have ranks whose graphs are others, and they would choose another order.
///
/// In front of order_effects, which puts exchanges into a chain.
void stagger_exchanges(Graph& graph);

}  // namespace tegula::compile
