#pragma once
// The passes in their order: from a user's graph to one that can be planned.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Those up to materialize, one after another, each verified. `runs`: as materialize wants to know; `answers`: the graph does nothing else (only_answers), then
/// pack_weights comes behind.
void optimize(Graph& graph, runtime::Device& device, const tile::Ladder& ladder = {}, std::int64_t runs = 1, bool answers = false);

}  // namespace tegula::compile
