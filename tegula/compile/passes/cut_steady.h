#pragma once
// What is computed once: values of numbers and of leaves that stay.

#include <optional>
#include <vector>

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Cuts out what is steady and worth keeping: the result computes it (its outputs), and `graph` reads it from leaves that follow its
/// own. Leaves and constants of the result are numbered as those of `graph` were. Kept is what a call or a kernel reads, vectors that
/// are smaller than where they are used, and sums; nothing that is more than twice as large as the largest leaf it is made of, and nothing that
/// is made of a sum or product which `graph` computes, too: its terms may be added in another order there. Nothing when there is no such value.
/// After materialize, so that copies into other layouts are among it; before fuse, which would mix it with the rest.
std::optional<Graph> cut_steady(Graph& graph);

/// Which items are made of numbers and steady leaves only, by work that cannot fail: values that need computing once.
std::vector<bool> steady_items(const Graph& graph);

}  // namespace tegula::compile
