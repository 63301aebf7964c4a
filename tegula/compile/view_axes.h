#pragma once
// The effect of views on axes, found by applying the views to a layout with marked strides.

#include <array>
#include <optional>

#include "tegula/core/shape.h"

namespace tegula::compile {

/// For each axis of one shape the axis of another that it runs over; -1: none. Entries behind the last axis have no meaning.
using AxisMap = std::array<int, kMaxRank>;
inline constexpr AxisMap kSameAxes{0, 1, 2, 3, 4, 5, 6, 7};

/// A layout whose strides mark the axes of `base`, for views to be applied to.
Layout marked(const Shape& base);

/// For each axis of `seen`, which is marked(base) after some views, the axis of `base` that it runs over from end to end; -1: its size is 1
/// or it is broadcast. Nothing when the views do more than insert, drop, permute and broadcast axes: each axis of `base` whose size is not 1
/// must be run over exactly once (a slice at 0 that is expanded later leaves no other trace).
std::optional<AxisMap> axes_of(const Shape& base, const Layout& seen);

}  // namespace tegula::compile
