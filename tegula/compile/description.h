#pragma once
// Library items as the calls that a device is asked for.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The call with the item's epilogue; empty if the op prepares its own call, or if this kind of call has no epilogue.
runtime::CallDescription description_of(const Item& item, const LibraryOp::Setting& setting);
/// The call of an item with one result, before materialize: an operand whose layout the op does not accept is described as dense.
runtime::CallDescription description_of(const Graph& graph, const Item& item, const runtime::Device& device);

}  // namespace tegula::compile
