#include "tegula/graph/slices.h"

#include <algorithm>

#include "tegula/core/memory_rows.h"

namespace tegula {

bool runs_are_aligned(const SlicePlace& slice, std::size_t alignment) {
  const auto is_aligned = [&](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(size_of(slice.dtype)) % static_cast<std::int64_t>(alignment) == 0;
  };
  const std::vector<int> axes = axes_by_stride(slice.layout);
  const std::size_t inner = run_of(slice.layout, axes).first;
  return is_aligned(slice.first) && std::all_of(axes.begin() + static_cast<std::ptrdiff_t>(inner), axes.end(),
                                                [&](int axis) { return is_aligned(slice.layout.strides[axis]); });
}

}  // namespace tegula
