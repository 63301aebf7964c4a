#pragma once
// Passes that decide how values lie in memory, and insert the copies that this needs.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Channels-last where the device's convolutions prefer it, given their operands' layouts, carried through elementwise items, sums and joins.
///
/// Values are then not converted back and forth between layers; store_within puts any piece into a join that lies so. After fold_epilogues (fewer items),
/// before materialize (which looks at layouts).
void assign_layouts(Graph& graph, runtime::Device& device);

/// Copies a view that strides cannot express, or that a call does not accept; makes one row-major copy of an operand that many products read, if
/// the device is faster with it (`Device::candidates`).
///
/// Also copies an output that would not be a value of its own, and an overwritten input that is still needed. `runs`: the expected number of runs of the
/// graph before its steady leaves change. After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device, std::int64_t runs = 1);

/// In functions that only answer, each constant weight gets an item that converts it to the blocks in which its call reads it (`runtime/blocked.h`).
///
/// cut_steady keeps what the item (runtime::Packing) gives, as a copy in another dtype or layout. Not where that would be more than twice as large as the
/// weight, nor of weights that are sums or products, which may have to be computed in every run. Behind materialize, when it is known how all lies, and
/// before cut_steady.
void pack_weights(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
