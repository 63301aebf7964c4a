#pragma once
// Library calls that the device would rather have in other ops. The first pass.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Small products become sums of products where the device runs those faster (LibraryOp::spelled_out). First: what they become is as if the
/// user had written it.
void spell_out(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
