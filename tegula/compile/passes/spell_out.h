#pragma once
// Library calls that the device would rather have in other ops. The first pass.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Whether the device runs loops as loops. One that queues its work does not: it records each step, with addresses of its own.
inline bool runs_loops(const runtime::Device& device) { return !device.asynchronous(); }

/// Of an op that only gradients know (SameOp) what it stands for stays. Loops become the ops of all of their steps where the device has none
/// (LoopOp::written_out), ops with several results that are no call of the device what they are made of (graph/regions/composed.h). Small products become
/// sums of products where the device runs those faster (LibraryOp::spelled_out), unless they shall stay calls, whose code no size changes. First: what they become is as if the user had written it.
enum class SmallProducts : std::uint8_t { AsTheDevicePrefers, Calls };
void spell_out(Graph& graph, const runtime::Device& device, SmallProducts products = SmallProducts::AsTheDevicePrefers);

}  // namespace tegula::compile
