#pragma once
// Which products of a precision with halves are faster without them.

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Of each item: a product that a Precision would have in half and that stays f32, as TF32. All products between which values may travel as halves, and
/// those that read one value that must be cast, are a group, which has one precision: a cast between two of them would be a launch of its own. A group stays f32 where that takes fewer seconds: what the device
/// tells of each product (runtime::Candidate), and for halves the launch and the bytes that cast what changes from run to run. Before assign_precision.
std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device);

/// Whether halves lose in the graph as a whole: the device converts them for convolutions (runtime::Candidate), and those do more operations than the
/// products of matrices, which gain. Part of a graph in f32 would put casts between.
bool halves_lose(const Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
