#pragma once
// Arithmetic of indices is done where they are read.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Arithmetic on an element's own index (`position + arange(n)`) is done by the kernel that reads it as an index.
///
/// Integer arithmetic on numbers and on an element's own place (position + arange(batch)) is done by the kernel that reads it as an index,
/// and not by one of its own before it. After cut_steady (what is kept is not computed again), before fuse, which would claim it.
void fold_indices(Graph& graph);

}  // namespace tegula::compile
