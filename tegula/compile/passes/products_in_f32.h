#pragma once
// Finds the matmuls of a half precision that are faster in f32 (as TF32).

#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Per item: true for a matmul that its Precision would compute in half and that stays f32 (TF32). Matmuls that pass values to each other as halves, or
/// that read the same cast value, form a group with one precision: a cast between two of them would be a launch of its own. A group stays f32 if
/// that is faster by the device's estimate per matmul (runtime::Candidate), plus, for halves, the launch and the bytes of casts of values that change
/// from run to run. Before assign_precision.
std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device);

/// True if halves are slower for the graph as a whole: the device converts them for convolutions (runtime::Candidate), and the convolutions do more
/// operations than the matmuls, which gain. Keeping only a part of the graph in f32 would put casts in between.
bool halves_lose(const Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
