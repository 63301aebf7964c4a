#pragma once
// The order of axes in memory.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Channels-last where the device's convolutions prefer it, given their operands' layouts, carried through elementwise items, sums and joins.
///
/// Chooses channels-last where the device's convolutions want it, given how their operands lie, and carries the choice through elementwise items,
/// sums and joins (whose pieces store_within puts into it, whatever they are), so that values are not converted back and forth between layers.
/// After fold_epilogues (fewer items), before materialize (which looks at layouts).
void assign_layouts(Graph& graph, runtime::Device& device);

}  // namespace tegula::compile
