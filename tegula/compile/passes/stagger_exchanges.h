#pragma once
// Parts of a batch whose sums travel in turn: one computes while the other's exchange is under way.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Where independent parts of a batch go through layers that ranks share (sums over all ranks, which later sums need), the exchanges of all parts come
/// layer by layer, and what leads to one of them begins when what led to the one before it has ended. Left to themselves the parts would keep step
/// with each other on a device that runs what is ready: all would wait for their exchanges at once. Sums that no later one needs, the gradients'
/// buckets, stay as they are.
///
/// Only what says that all ranks have the same graph of it (TakesTurns) changes places, and no further than the next exchange that does not: that one's group may
/// have ranks whose graphs are others, and they would choose another order. A graph that has anything but sums stays as it is.
///
/// In front of order_effects, which puts exchanges into a chain.
void stagger_exchanges(Graph& graph);

}  // namespace tegula::compile
