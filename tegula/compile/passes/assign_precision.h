#pragma once
// Which values are halves under mixed precision.

#include <string>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Casts the values that the chosen `Precision` wants in half, so that activations are stored once, as halves; groups of products that the device
/// multiplies faster as TF32 stay f32.
///
/// Casts what Precision (graph/precision.h) wants in half: operands and results of tensor-core ops, and the values between them, so that
/// activations lie in memory once, as halves. Leaves, outputs and updates keep the dtype of the user's graph. After simplify (equal
/// values are one), before fold_epilogues (an epilogue has its call's dtype). Groups of products that the device multiplies faster as TF32
/// stay f32 (products_in_f32.h): less is rounded then, not more.
void assign_precision(Graph& graph, const runtime::Device& device);

/// Which op reads which dtypes, multiplies how, and stores what: a line for each kind of row, with its number.
std::string precision_table(const Graph& graph);

}  // namespace tegula::compile
