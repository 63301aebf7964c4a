#pragma once
// Sums of many parts become joins, and joins become pieces of joins.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A sum of terms that are zero outside of disjoint slices (gradients of slices) becomes a join of the slices; sums of more than 128 terms are cut;
/// a join whose pieces are adjacent in another join becomes a piece of that.
///
/// Gradients of slices are zero but for the slice: a sum of those that do not meet becomes one join of the slices' gradients, so that T slices
/// cost what one tensor does, and not T of its size. Sums of very many terms are cut into several. A join whose pieces another one has too, side
/// by side, becomes a piece of that one: the layers of a DenseNet, each of which reads all before it, then have one piece of memory
/// (store_within). After simplify (equal terms are one item), before precision, which decides what lies in memory.
void join_parts(Graph& graph);

}  // namespace tegula::compile
