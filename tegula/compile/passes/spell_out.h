#pragma once
// Library calls that the device would rather have in other ops. The first pass.

#include "tegula/compile/graph.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/runtime/device.h"

namespace tegula {
class OpTable;
}

namespace tegula::compile {

/// Ops of the compiler's own that make numbers of numbers (Graph::Derived), for plan files.
void add_compiler_ops(OpTable& table);

/// Whether the loop stays one, or is better compiled as the ops of all of its steps. On a device that queues its work checks are heard of behind the plan
/// that makes them: loops with checks are written out there. TEGULA_LOOPS=steps: as few as can be are written out; TEGULA_LOOPS=written: as many.
bool stays_loop(const LoopOp& loop, const runtime::Device& device);

/// An op that only gradients know (SameOp, of several results) is replaced by its input. Loops become the ops of all of their steps (LoopOp::written_out) where that is
/// better, ops with several results that are no call of the device what they are made of (graph/regions/composed.h). Small products become
/// sums of products where the device runs those faster (LibraryOp::spelled_out), unless they shall stay calls, whose code no size changes. First: what they become is as if the user had written it.
enum class SmallProducts : std::uint8_t { AsTheDevicePrefers, Calls };
void spell_out(Graph& graph, const runtime::Device& device, SmallProducts products = SmallProducts::AsTheDevicePrefers);

}  // namespace tegula::compile
