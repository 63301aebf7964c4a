#pragma once
// Decomposes library calls, loops and composed ops that the device runs faster (or only) as other ops. After order_exchanges, before simplify.

#include "tegula/compile/graph.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/runtime/device.h"

namespace tegula {
class OpTable;
}

namespace tegula::compile {

/// Adds the compiler's own ops, which compute scalars from scalars (Graph::derived), to the table for plan files.
void add_compiler_ops(OpTable& table);

/// True if the loop stays a loop, false if it is unrolled. An asynchronous device reports failed checks only after the plan, so loops with checks are
/// unrolled there. TEGULA_LOOPS=steps unrolls as few loops as possible, TEGULA_LOOPS=written as many.
bool stays_loop(const LoopOp& loop, const runtime::Device& device);

enum class SmallProducts : std::uint8_t { AsTheDevicePrefers, Calls };

/// A loop becomes the ops of all its steps if the device has no loops, a checkpoint its results; small products become sums where the device
/// prefers those, depthwise convolutions tile programs, and calls that the device lacks (attention) their plain ops.
///
/// Replaces SameOp (several results; it matters to gradients only) by its inputs, unrolls loops if that is faster (LoopOp::written_out), and decomposes
/// ops with several results that are no call of the device (graph/regions/composed.h). Small matmuls become sums of elementwise products if that is faster
/// (LibraryOp::spelled_out), or stay calls, whose code does not depend on sizes. Early: later passes treat the new ops like the user's.
void spell_out(Graph& graph, const runtime::Device& device, SmallProducts products = SmallProducts::AsTheDevicePrefers);

}  // namespace tegula::compile
