#pragma once
// Library items as the calls that a device is asked for.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The call with what was folded into it; nothing of an op that prepares its own, and where the call cannot have such an epilogue.
runtime::CallDescription description_of(const LibraryOp& op, const LibraryOp::Setting& setting, const LibraryOp::Epilogue& epilogue);
/// Of an item with one result before materialize: an operand that its op does not accept as it lies is taken to be dense.
runtime::CallDescription description_of(const Graph& graph, const Item& item, const runtime::Device& device);

}  // namespace tegula::compile
