#pragma once
// Passes that choose the dtypes in which items are stored and computed.

#include <string>
#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// A loop takes its scalars in the dtype that it computes in (LoopOp::Input::Number), also a scalar that has become a value in half (a body's
/// parameter).
///
/// A number where the loop was written may be a value of a half dtype in the graph it ends in: within the body of another loop, after a
/// checkpoint's barrier, where it is differentiated by. First: all other passes may then rely on the dtypes.
void widen_numbers(Graph& graph);

/// Casts the values that the chosen `Precision` wants in half, so that activations are stored once, as halves; groups of products that the device
/// multiplies faster as TF32 stay f32.
///
/// Halves are operands and results of tensor-core ops, and the values between them (graph/precision.h). Leaves, outputs and updates keep the dtype of the
/// user's graph. In TF32 (products_in_f32) less is rounded, not more. After simplify (equal values are one), before fold_epilogues (an epilogue has its
/// call's dtype).
void assign_precision(Graph& graph, const runtime::Device& device);

/// Which op reads which dtypes, multiplies how, and stores what: a line for each kind of row, with its number.
std::string precision_table(const Graph& graph);

/// Per item: true for a matmul that its Precision would compute in half and that stays f32 (TF32). Matmuls that pass values to each other as halves, or
/// that read the same cast value, form a group with one precision: a cast between two of them would be a launch of its own. A group stays f32 if
/// that is faster by the device's estimate per matmul (runtime::Candidate), plus, for halves, the launch and the bytes of casts of values that change
/// from run to run. Before assign_precision.
std::vector<bool> products_in_f32(const Graph& graph, const runtime::Device& device);

/// True if halves are slower for the graph as a whole: the device converts them for convolutions (runtime::Candidate), and the convolutions do more
/// operations than the matmuls, which gain. Keeping only a part of the graph in f32 would put casts in between.
bool halves_lose(const Graph& graph, const runtime::Device& device);

/// Per item: true if it is carried from step to step of an unrolled loop: computed element by element from an item that is computed in the same way, by the
/// same ops from the same weights (c' = f * c + i * g of an LSTM, a running sum). Rounded to half at each step they would lose what is added to them, so
/// assign_precision leaves them as the user wrote them. Layers that follow each other read different weights and are none.
std::vector<bool> recurrent_states(const Graph& graph);

/// Products of operands rounded to E4M3 become products of their codes, where the device has those.
///
/// After assign_precision: the products that are left in f64 or f32 are known then.
void multiply_codes(Graph& graph, const runtime::Device& device);

}  // namespace tegula::compile
