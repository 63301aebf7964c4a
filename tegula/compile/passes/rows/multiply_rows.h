#pragma once
// Products with few rows as tile programs.

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// On a GPU products of up to four rows become tile programs, with the norm before them and the elementwise items after them.
///
/// Products with at most kFewRows rows, as a decoder has for its one token, become programs of their own on a GPU: a library call takes some
/// microseconds whatever it does, and leaves to others what is around it. The program reads the weights once, computes the rows that only it and its like
/// read (a norm) before it, and elementwise ops behind it (bias, activation, residual sum). TEGULA_ROW_PRODUCTS=tiles: on every device; calls: on
/// none. After the precisions are assigned, before anything is folded into calls.
void multiply_rows(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
