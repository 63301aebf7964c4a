#pragma once
// The elements of a slice in memory: rows with room between them, where the rest of the larger tensor is.

#include <optional>
#include <utility>
#include <vector>

#include "tegula/core/shape.h"

namespace tegula {

/// True if the layout has these strides; axes of size 1 do not count.
bool same_strides(const Layout& a, const Strides& b);

/// Elements in memory: `count` rows of `length` elements side by side, `distance` elements from one to the next.
struct MemoryRows {
  std::int64_t count = 1, length = 0, distance = 0;
};
/// Nothing where the axes cannot be counted so: they overlap, or lie at several distances. A dense tensor is one row.
std::optional<MemoryRows> memory_rows(const Layout& layout);
/// The same axes in the same order without the room between the rows.
Layout without_room(const Layout& layout, const MemoryRows& rows);

/// The axes of more than one element, the innermost in memory first.
std::vector<int> axes_by_stride(const Layout& layout);
/// The number of these axes that are side by side, and the number of elements along them.
std::pair<std::size_t, std::int64_t> run_of(const Layout& layout, const std::vector<int>& axes);

/// (N, C, spatial…): row-major but for room between the images, or channels-last but for room between the pixels. The layout with the strides of
/// axes of size 1 as they would be if they were larger.
std::optional<Layout> with_room_between_images(const Layout& layout);
std::optional<Layout> with_room_between_pixels(const Layout& layout);

}  // namespace tegula
