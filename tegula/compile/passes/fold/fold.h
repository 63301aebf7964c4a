#pragma once
// Passes that put items into the calls and kernels around them.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// A factor per channel after a convolution goes into its weight, if both stay from run to run.
///
/// Batch normalisation by running statistics then costs nothing; a factor behind the bias goes into that, too. The sum behind it gets the dtype in which the
/// next pass can fold it. After precision, which decides that dtype.
void fold_scales(Graph& graph);

/// Elementwise items after a matmul or convolution become its epilogue if the device takes the call with it (`runtime/expression.h`): biases, sums
/// with other tensors, activations, limits, the derivative of gelu.
///
/// Views between the two come after the call then. Before layout and fusion, which would otherwise claim the items. `answers`: the graph is
/// inference only (only_answers); then an epilogue need not propagate NaN.
void fold_epilogues(Graph& graph, const runtime::Device& device, bool answers = false);

/// The vector (as long as `axis` of `result`) behind an item of that shape that varies along that axis only: a dense value of rank 1 that views
/// show; nothing for a tensor of shape (C, 1, 1).
std::optional<int> channel_vector(const Graph& graph, int item, int axis, const Shape& result);

/// A view of this shape: each axis runs over that axis of the input which `axes` names, or shows its first element throughout (-1).
Ref<const Op> repeat_op(const Shape& shape, const Dims& axes);
/// Such a view: a vector as long as `axis` of the shape, along it, the same along all others.
Ref<const Op> along_axis(const Shape& shape, int axis);

/// Arithmetic on an element's own index (`position + arange(n)`) is done by the kernel that reads it as an index.
///
/// It needs no kernel of its own then. After cut_steady (what is kept is not computed again), before fuse, which would claim it.
void fold_indices(Graph& graph);

/// A grouped sum computes its terms where they are made of lines that an index names (messages along the edges of a graph), if the device takes it so.
///
/// They are neither written nor read, and computed again by each sum and its gradients. After fold_indices, before fold_lines, which would make groups of
/// the same items.
void fold_terms(Graph& graph, const runtime::Device& device);

/// Lines that an index names (`take`, `embedding`, `segment_take`) are read by the groups that compute with them.
///
/// They are not written to memory first. After fold_indices, whose kernels compute their index themselves, before store_within and fuse, which see them as
/// elementwise items.
void fold_lines(Graph& graph);

}  // namespace tegula::compile
