#pragma once
// Which views need a copy, and where all others lie.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Inserts copies where a view cannot be expressed by strides, where a library call or kernel does not take a layout, and where an
/// output would not be a value of its own. After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device);

/// Where an item's elements lie: a value that is computed or a leaf, seen through views.
struct Access {
  int base;  // an item that is not a view. Before materialize: or one that must be copied, because strides do not express what looks at it
  Layout layout;  // of the item over the base's buffer
};
Access access_of(const Graph& graph, int item);

}  // namespace tegula::compile
