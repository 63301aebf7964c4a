#pragma once
// Sums of many parts become joins.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// Gradients of slices are zero but for the slice: a sum of those that do not meet becomes one join of the slices' gradients, so that T slices
/// cost what one tensor does, and not T of its size. Sums of very many terms are cut into several. After simplify (equal terms are one item),
/// before precision, which decides what lies in memory.
void join_parts(Graph& graph);

}  // namespace tegula::compile
