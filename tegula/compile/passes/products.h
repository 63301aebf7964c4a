#pragma once
// Passes that compute products of matrices otherwise: several as one, those of few rows as tile programs.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// A sum of many products with different operands, such as a weight's gradient in a loop written out by hand, becomes one product of joined
/// operands.
///
/// Σ A_t · B_t = (A_1 … A_T) · (B_1; …; B_T): the gradient of a weight by which each step of a loop multiplies that was written out by hand. One product
/// with all terms takes the place of T products with few, whose results nobody stores and adds; the operands become pieces of joins, in which whoever
/// computes them stores them (store_within). Sums over the rows of such pieces (the gradient of a bias) become one over the rows of the join. `scan`'s
/// gradient makes the same of its stacks (graph/joined_products.h). A sum of additions counts as one sum, as far as nothing else reads what lies between
/// them. After simplify (equal operands are one item), before join_parts, which cuts sums.
void join_products(Graph& graph);

/// On a GPU products of up to four rows become tile programs, with the norm before them and the elementwise items after them.
///
/// A decoder has such products (kFewRows) for its one token. A library call takes some microseconds whatever it does, and leaves to others what is around it.
/// The program reads the weights once, and computes before it the rows that only it and its like read. TEGULA_ROW_PRODUCTS=tiles: on every device; calls: on
/// none. After the precisions are assigned, before anything is folded into calls.
void multiply_rows(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
