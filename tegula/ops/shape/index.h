#pragma once
// Elements by index. Indices are integer tensors; negative ones count from the end. One outside [-size, size) is an Error at the
// user's line when the op runs. Ops whose shape depends on values (nonzero, masked_select, indexing by booleans) are not here: the shape of
// every tensor is known when the graph is built; use where() and sums over masks.

#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

/// x[…, index, …] along one axis (NumPy's take): shape x.shape[:axis] + index.shape + x.shape[axis+1:]. Without an axis, of the
/// flattened tensor. take(weight, tokens, 0) looks up embeddings.
Tensor take(Arg x, Arg index, std::optional<int> axis = std::nullopt);
/// x[index]: take along axis 0.
Tensor index(Arg x, Arg index);
/// take with an index of rank 1 (PyTorch's argument order).
Tensor index_select(Arg x, int axis, Arg index);
/// y[i, j, k] = x[i, index[i, j, k], k] for axis 1 (torch.gather): index has x's rank, and its other axes are no longer than x's.
Tensor gather(Arg x, int axis, Arg index);
/// gather whose other axes broadcast (NumPy).
Tensor take_along_axis(Arg x, Arg index, int axis);

/// x with y[i, index[i, j, k], k] = source[i, j, k] for axis 1 (torch.scatter). Among equal indices the last one wins, and gradients
/// are right only without them. source has index's shape, or is a number.
Tensor scatter(Arg x, int axis, Arg index, Arg source);
/// x with y[i, index[i, j, k], k] += source[i, j, k]; the order of additions is fixed.
Tensor scatter_add(Arg x, int axis, Arg index, Arg source);
/// x with y[…, index[k], …] += source[…, k, …]; index has rank 1.
Tensor index_add(Arg x, int axis, Arg index, Arg source);

/// `size` elements of an axis from `at` on: a slice whose index is computed, or changes from call to call without another compilation. `at` is one
/// integer (rank 0), negative ones count from the end; Error when it runs and the slice does not lie within x.
Tensor dynamic_slice(Arg x, Arg at, std::int64_t size, int axis = 0);
/// x with `source` in place of its elements from `at` on along the axis; source has x's rank, and apart from the axis its sizes. In a jit-ed
/// function `cache = update_slice(cache, row, at, 1)` writes the row where the Variable lies and copies nothing, as long as nothing else reads
/// the old value and nothing behind it may fail.
Tensor update_slice(Arg x, Arg source, Arg at, int axis = 0);

/// x, where mask is true `value`.
Tensor masked_fill(Arg x, Arg mask, Arg value);
/// index.shape + (classes): 1 at the index, 0 elsewhere; a row of zeros for an index outside [0, classes).
Tensor one_hot(Arg index, std::int64_t classes, DType dtype = i64);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> index_cases();
std::vector<OpCase> dynamic_slice_cases();

}  // namespace tegula
