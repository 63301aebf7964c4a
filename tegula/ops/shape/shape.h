#pragma once
// The same elements under another shape. All of these are views (no element moves) and differentiate. Negative axes count from the end.

#include <optional>

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {

/// The elements of x, row-major, as `shape`; one size may be -1 and is computed.
Tensor reshape(Arg x, const Shape& shape);
/// Axes start … end (inclusive) become one.
Tensor flatten(Arg x, int start = 0, int end = -1);
/// Result axis i is axis order[i] of x.
Tensor permute(Arg x, const Dims& order);
/// Axes a and b change places; by default the last two.
Tensor transpose(Arg x, int a = -2, int b = -1);
Tensor swapaxes(Arg x, int a, int b);
/// Axis `from` goes to position `to`, the others keep their order.
Tensor movedim(Arg x, int from, int to);

/// x without the given axes of size 1 (others among them stay), by default without any.
Tensor squeeze(Arg x, const Axes& axes = {});
/// A new axis of size 1, at position `axis` of the result.
Tensor unsqueeze(Arg x, int axis);
Tensor expand_dims(Arg x, int axis);
/// NumPy's broadcast of x to `shape`; a size of -1 keeps that of x. Its gradient sums over the repeated axes.
Tensor expand(Arg x, const Shape& shape);
Tensor broadcast_to(Arg x, const Shape& shape);

/// Python's begin:end:step. Negative positions count from the end, those outside are cut off, a missing one means "as far as it goes".
/// The step may be negative, not 0.
struct Slice {
  std::optional<std::int64_t> begin = std::nullopt;
  std::optional<std::int64_t> end = std::nullopt;
  std::int64_t step = 1;
};
/// x[s0, s1, …]: one Slice for each leading axis; the others are taken whole. slice(x, {{1, 3}, {.step = -1}}).
Tensor slice(Arg x, std::initializer_list<Slice> slices);
Tensor slice(Arg x, std::span<const Slice> slices);
/// The Slice of one axis.
Tensor slice(Arg x, int axis, Slice range);
/// x[…, index, …]: one position of an axis, which goes.
Tensor select(Arg x, int axis, std::int64_t index);
/// Backwards along the axes, by default all.
Tensor flip(Arg x, const Axes& axes = {});

/// The diagonal j - i = offset of the matrices in axes a (i) and b (j); it becomes the last axis.
Tensor diagonal(Arg x, std::int64_t offset = 0, int a = -2, int b = -1);

struct WindowOptions {
  Dims stride = {};    // one for each axis; empty: 1
  Dims dilation = {};
};
/// Every window of x along the axes: (…, positions…, …, window…), positions = (size - dilation * (window - 1) - 1) / stride + 1 in
/// the axes' positions and the window sizes as new last axes, in the order of `axes`. An overlapping view; its gradient adds up.
Tensor windows(Arg x, const Dims& axes, const Dims& window, const WindowOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> shape_cases();

}  // namespace tegula
