#pragma once
// Parts of a batch whose sums travel in turn: one computes while the other's exchange is under way.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// The parts of a batch take turns in layers that ranks share: exchange k's producers start after exchange k - 1's producers finish.
///
/// Staggers the exchanges of independent parts of a batch in tensor-parallel layers (matmuls end in an exchange that later matmuls need): exchange k's
/// producers start after exchange k - 1's producers finish. Without this pass a device that runs whatever is ready advances all parts together,
/// and all wait for their exchanges at the same time. An exchange without a matmul before it (the gather after a norm of scattered steps) directly follows
/// the exchange it depends on. Exchanges that no later matmul needs (gradient buckets) do not move.
///
/// Moves only exchanges whose graph is the same on all ranks (LibraryOp::takes_turns), and never past one without that promise: its group may contain
/// ranks with other graphs, which would choose another order.
///
/// Before order_effects, which chains the exchanges.
void stagger_exchanges(Graph& graph);

}  // namespace tegula::compile
