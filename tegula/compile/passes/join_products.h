#pragma once
// Sums of products become products of joined operands.

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// A sum of many products with different operands, such as a weight's gradient in a loop written out by hand, becomes one product of joined
/// operands.
///
/// Σ A_t · B_t = (A_1 … A_T) · (B_1; …; B_T): the gradient of a weight by which each step of a loop multiplies that was written out by hand. One product with
/// all terms takes the place of T products with few, whose results nobody stores and adds; the operands become pieces of joins, in which whoever
/// computes them stores them (store_within). Sums over the rows of such pieces (the gradient of a bias) become one over the rows of the join. `scan`'s gradient makes the same of its stacks (graph/joined_products.h). A sum of additions counts as one sum,
/// as far as nothing else reads what lies between them. After simplify (equal operands are one item), before join_parts, which cuts sums.
void join_products(Graph& graph);

}  // namespace tegula::compile
