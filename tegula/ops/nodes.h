#pragma once
// The primitives of this room that its other families build on, with everything already checked.

#include <string>

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// A tensor of `shape`: x[i…] at begin + i * step (step > 0), `value` elsewhere. Its gradient is a slice, and it is a slice's gradient.
Tensor embed(const Tensor& x, const Dims& begin, const Dims& step, const Shape& shape, Number value, const Line& where);

/// x[begin + i * step] for i in [0, count), along every axis; steps may be negative. A view.
Tensor strided(const Tensor& x, const Dims& begin, const Dims& step, const Shape& count, const Line& where);
/// count elements of one axis from `begin`. A view.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t count, const Line& where);

/// x (…, window, positions, …), the window at `axis` -> (…, size, …): Σ of x[…, i, j, …] at i * dilation + j * stride. The adjoint of
/// windows().
Tensor overlaid(const Tensor& x, int axis, std::int64_t stride, std::int64_t dilation, std::int64_t size, const Line& where);

/// A tensor as (outer, length, inner) around one of its axes, of whose elements `count` are named: by a slice, or an index of the shape `named`.
struct Extents {
  std::int64_t outer, length, count, inner;
  Extents(const Shape& full, const Shape& named, int axis)
      : outer(numel(full, 0, axis)),
        length(full[axis]),
        count(named[axis]),
        inner(numel(full, axis + 1, full.rank())) {}
};

/// The shape of the index of gather_along and scatter_sum.
enum class IndexForm : std::uint8_t {
  Full,  // the result's (the source's) shape
  Shared,  // rank 1, the same for all lines along the axis
};
/// y[o, k, i] = x[o, index, i] along `axis`.
Tensor gather_along(const Tensor& x, int axis, const Tensor& index, IndexForm form, const Line& where);
/// A tensor of x's shape with `length` along the axis: Σ of source[o, k, i] at [o, index, i], 0 elsewhere. The adjoint of gather_along.
Tensor scatter_sum(const Tensor& source, int axis, const Tensor& index, IndexForm form, std::int64_t length, const Line& where);

/// The texts of an error for a slice that does not lie within an axis.
struct Outside {
  std::string got, expected;
};
Outside outside(std::int64_t first, std::int64_t count, std::int64_t length, int axis);
/// The index of an element of an axis, or of the first of `count`, counted from 0; an Error of `op` when it is run where they do not lie within
/// `length`.
Tensor checked_place(std::string_view op, const Tensor& index, int axis, std::int64_t length, std::int64_t count, const Line& where);

/// x with `source` from `place` on along the axis: an i64 () that has been checked.
Tensor update_at(const Tensor& x, const Tensor& source, const Tensor& place, int axis, const Line& where);

/// x with y[o, index[o, k]] = source[o, k] along the last axis; of equal indices the last one stays.
Tensor scatter_last(const Tensor& x, const Tensor& index, const Tensor& source, const Line& where);

/// f32 in [0, 1), of the words from `position` on (both () i64): the result of a draw of this shape from there.
Tensor uniform_at(const Tensor& seed, const Tensor& position, const Shape& shape, const Line& where);

/// The op that puts its inputs at `begins` along the axis, in order and without overlap, and zeros between them.
Ref<const Op> join_between_zeros(int axis, std::vector<std::int64_t> begins);
/// The pieces side by side; of one dtype.
Tensor joined(std::span<const Tensor> xs, int axis, const Line& where);

}  // namespace tegula::ops
