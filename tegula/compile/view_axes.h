#pragma once
// The effect of views on axes, found by applying the views to a layout with marked strides.

#include <optional>
#include <vector>

#include "tegula/core/shape.h"

namespace tegula::compile {

/// A layout whose strides mark the axes of `base`, for views to be applied to.
Layout marked(const Shape& base);

/// For each axis of `seen`, which is marked(base) after some views, the axis of `base` that it runs over from end to end; -1: its size is 1
/// or it is broadcast. Nothing when the views do more than insert, drop, permute and broadcast axes: each axis of `base` whose size is not 1
/// must be run over exactly once (a slice at 0 that is expanded later leaves no other trace).
std::optional<std::vector<int>> axes_of(const Shape& base, const Layout& seen);

}  // namespace tegula::compile
