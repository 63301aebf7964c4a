#pragma once
// Passes that place exchanges with other processes. All ranks make the same choices: those depend on the program alone.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A tensor of which every rank keeps a part (LibraryOp::makes_anew, ZeRO stage 3) is gathered for the forward pass and again for the backward
/// pass, not kept in between.
///
/// A use gets a gather of its own if two other gathered weights were used since its last use. The new gather starts before the preceding layer's use, once
/// that use's operands are ready, and overlaps that layer: only two layers' weights are in memory at a time. Before order_exchanges, which puts the new
/// gathers into the order of all ranks (so each also precedes the exchange of the other layer's gradient, which it must not wait for).
void gather_anew(Graph& graph);

/// Each exchange with other processes waits for the one before it (a barrier): program order on every rank, but that parts of a batch take turns in layers
/// that ranks share.
///
/// Independent parts of a batch in tensor-parallel layers (matmuls end in an exchange that later matmuls need) take turns: exchange k's producers start
/// after exchange k - 1's producers finish. Otherwise a device that runs whatever is ready advances all parts together, and all wait for their exchanges
/// at the same time. An exchange without a matmul before it (the gather after a norm of scattered steps) directly follows the exchange it depends on.
/// Exchanges that no later matmul needs (gradient buckets) do not move. Moves only exchanges whose graph is the same on all ranks (LibraryOp::takes_turns),
/// and never past one without that promise: its group may contain ranks with other graphs, which would choose another order.
///
/// Before fusion, which may move unconnected items and so must see the barriers: two ranks that fuse differently (another number of rows) still exchange
/// in one order.
void order_exchanges(Graph& graph);

}  // namespace tegula::compile
