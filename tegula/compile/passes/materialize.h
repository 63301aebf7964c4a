#pragma once
// Inserts copies for the views that need one, and resolves all others to a base and a layout.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Per item: true if it may take over the storage of the input that it writes over. Nothing else may read that input, and it is computed, or it
/// is the Variable whose new value the item (or an item that writes over it) is, with no check after the write.
std::vector<bool> in_place(const Graph& graph);

/// Copies a view that strides cannot express, or that a call does not accept; makes one row-major copy of an operand that many products read, if
/// the device is faster with it (`Device::candidates`).
///
/// Inserts a copy if a view has no strides, if a library call or kernel does not take a layout, if an output would not be a value of its
/// own, and if an overwritten input is still needed. If many matmuls read an operand that is faster in row-major (runtime::Device::candidates), one
/// copy serves all of them. `runs`: the expected number of runs of the graph before its steady leaves change.
/// After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device, std::int64_t runs = 1);

}  // namespace tegula::compile
