#pragma once
// Which products of a precision with halves are faster without them.

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Of each item: a product that a Precision would have in half, and that the device multiplies faster as TF32 (runtime::PrefersTf32). Products that hand
/// each other their values are so together or not at all: otherwise a cast, a launch of its own, would stand between them. Before assign_precision.
std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device);

/// Whether halves lose in the graph as a whole: the device converts them for convolutions (runtime::PrefersTf32), and those do more operations than the
/// products of matrices, which gain. Part of a graph in f32 would put casts between.
bool halves_lose(const Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
