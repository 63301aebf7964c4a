#pragma once
// Arrays that lie in another order than their axes say.

#include <span>

#include "tegula/core/host_array.h"

namespace tegula::io {

/// A dense copy of the elements of `all` from number `first` on, `strides` elements apart along each axis of `shape`. The caller has checked that all of them lie inside.
HostArray strided_copy(const HostArray& all, std::int64_t first, const Shape& shape, std::span<const std::int64_t> strides);

/// The array with its axes in another order, dense: axis i of the result is axis axes[i].
HostArray permuted(const HostArray& array, std::span<const int> axes);

/// The same elements in another shape of as many.
inline HostArray reshaped(const HostArray& array, const Shape& shape) { return {array.dtype, shape, array.buffer}; }

}  // namespace tegula::io
