#pragma once
// Which views need a copy, and where all others lie.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Which items may take over the storage of the input that they write over: nobody else reads it, and it is computed, or it is the Variable
/// whose new value they (or what writes over them) are, which nothing that may still fail comes behind.
std::vector<bool> in_place(const Graph& graph);

/// Inserts copies where a view cannot be expressed by strides, where a library call or kernel does not take a layout, and where an
/// output would not be a value of its own, and where what an op writes over is still needed; and where many products read an operand that the device
/// would rather have in rows (runtime::Device::candidates), one copy for all of them. `runs`: of the graph while its steady leaves stay as they are, as far as
/// is known. After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device, std::int64_t runs = 1);

/// What all views show, once more: some of what they look at has another layout. All of them must be able to.
void find_views(Graph& graph);

/// Where an item's elements lie: a value that is computed or a leaf, seen through views.
struct Access {
  int base;  // an item that is not a view. Before materialize: or one that must be copied, because strides do not express what looks at it
  Layout layout;  // of the item over the base's buffer
};
Access access_of(const Graph& graph, int item);

}  // namespace tegula::compile
