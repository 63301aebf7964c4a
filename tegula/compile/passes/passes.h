#pragma once
// The passes over the flat graph, in the order in which pipeline.cpp runs them.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Those up to materialize, one after another, each verified.
void optimize(Graph& graph, runtime::Device& device);

/// Small products become sums of products where the device runs those faster (LibraryOp::spelled_out). First: what they become is as if the
/// user had written it.
void spell_out(Graph& graph, const runtime::Device& device);

/// Views that change nothing are looked through, those that undo each other too, equal items become one, dead ones go. Early, so that all later passes see less.
/// Never drops arithmetic such as 0*x: NaN and infinity must come through.
void simplify(Graph& graph);

/// Gradients of slices are zero but for the slice: a sum of those that do not meet becomes one join of the slices' gradients, so that T slices
/// cost what one tensor does, and not T of its size. Sums of very many terms are cut into several. After simplify (equal terms are one item),
/// before precision, which decides what lies in memory.
void join_parts(Graph& graph);

/// Casts what Precision (graph/precision.h) wants in half: operands and results of tensor-core ops, and the values between them, so that
/// activations lie in memory once, as halves. Leaves, outputs and updates keep the dtype of the user's graph. After simplify (equal
/// values are one), before fold_epilogues (an epilogue has its call's dtype).
void assign_precision(Graph& graph);
/// Which op reads which dtypes, multiplies how, and stores what: a line for each kind of row, with its number.
std::string precision_table(const Graph& graph);

/// Which items are made of numbers and steady leaves only, by work that cannot fail: values that need computing once.
std::vector<bool> steady_items(const Graph& graph);

/// A factor per channel behind a convolution goes into its weight where both are steady: batch normalisation by running statistics costs
/// nothing. The sum behind it gets the dtype in which the next pass can fold it. After precision, which decides that dtype.
void fold_scales(Graph& graph);

/// Products of operands rounded to E4M3 become products of their codes, on a device that has those.
void multiply_codes(Graph& graph, const runtime::Device& device);

/// Folds a bias, a sum with another tensor and an activation into the matmul or convolution they follow. Before layout and fusion, which
/// would otherwise claim the elementwise items.
void fold_epilogues(Graph& graph, const runtime::Device& device);
/// A product of a backward pass multiplies by the derivative of gelu's tanh form that follows it, where the device prefers that (a GPU
/// measures it). After fold_epilogues (what that leaves), before layout and fusion.
void fold_gradients(Graph& graph, runtime::Device& device);
/// The vector (as long as `axis` of `result`) behind an item of that shape that varies along that axis only.
std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result);

/// Chooses channels-last where the device's convolutions want it and carries the choice through elementwise items, so that values are
/// not converted back and forth between layers. After fold_epilogues (fewer items), before materialize (which looks at layouts).
void assign_layouts(Graph& graph, runtime::Device& device);

/// Parameters in half that are broadcast to f32 work are widened where they are read, not before: the cast moves behind the views, where a
/// group takes it in, and no f32 copy is written. After assign_layouts (an order is given to whole values), before materialize.
void sink_casts(Graph& graph);

/// Inserts copies where a view cannot be expressed by strides, where a library call or kernel does not take a layout, and where an
/// output would not be a value of its own. After this every view resolves to (value, layout).
void materialize(Graph& graph, const runtime::Device& device);

/// Cuts out what is steady and worth keeping: the result computes it (its outputs), and `graph` reads it from leaves that follow its
/// own. Leaves and constants of the result are numbered as those of `graph` were. Kept is what a call or a kernel reads, vectors that
/// are smaller than where they are used, and sums; nothing that is more than twice as large as the largest leaf it is made of. Nothing when there is no such
/// value. After materialize, so that copies into other layouts are among it; before fuse, which would mix it with the rest.
std::optional<Graph> cut_steady(Graph& graph);

/// Integer arithmetic on numbers and on an element's own place (position + arange(batch)) is done by the kernel that reads it as an index,
/// and not by one of its own before it. After cut_steady (what is kept is not computed again), before fuse, which would claim it.
void fold_indices(Graph& graph);

/// Where an item's elements lie: a value that is computed or a leaf, seen through views.
struct Access {
  int base;  // an item that is not a view
  Layout layout;  // of the item over the base's buffer
};
Access access_of(const Graph& graph, int item);

}  // namespace tegula::compile
