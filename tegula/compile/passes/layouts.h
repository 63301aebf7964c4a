#pragma once
// Passes that decide how values lie in memory, and insert the copies that this needs.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Channels-last where the device's convolutions prefer it, given their operands' layouts, carried through elementwise items, sums and joins.
///
/// Chooses channels-last where the device's convolutions want it, given how their operands lie, and carries the choice through elementwise items,
/// sums and joins (whose pieces store_within puts into it, whatever they are), so that values are not converted back and forth between layers.
/// After fold_epilogues (fewer items), before materialize (which looks at layouts).
void assign_layouts(Graph& graph, runtime::Device& device);

/// Copies a view that strides cannot express, or that a call does not accept; makes one row-major copy of an operand that many products read, if
/// the device is faster with it (`Device::candidates`).
///
/// Inserts a copy if a view has no strides, if a library call or kernel does not take a layout, if an output would not be a value of its
/// own, and if an overwritten input is still needed. If many matmuls read an operand that is faster in row-major (runtime::Device::candidates), one
/// copy serves all of them. `runs`: the expected number of runs of the graph before its steady leaves change.
/// After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device, std::int64_t runs = 1);

/// In functions that only answer, each constant weight gets an item that converts it to the blocks in which its call reads it
/// (`runtime/blocked.h`).
///
/// Puts an item before each call that would have its weight in blocks (runtime::Packing), where that stays from run to run: cut_steady keeps what it gives, as a
/// copy in another dtype or layout. Not where that would be more than twice as large, nor of weights that are sums or products, which may have to be computed
/// in every run. In graphs that only answer; behind materialize, when it is known how all lies, and before cut_steady.
void pack_weights(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
