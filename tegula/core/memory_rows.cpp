#include "tegula/core/memory_rows.h"

#include <algorithm>

namespace tegula {
bool same_strides(const Layout& a, const Strides& b) {
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != 1 && a.strides[i] != b[i]) return false;
  }
  return true;
}

std::vector<int> axes_by_stride(const Layout& layout) {
  std::vector<int> axes;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] != 1) axes.push_back(i);
  }
  std::ranges::stable_sort(axes, {}, [&](int axis) { return layout.strides[axis]; });
  return axes;
}

std::pair<std::size_t, std::int64_t> run_of(const Layout& layout, const std::vector<int>& axes) {
  std::int64_t length = 1;
  std::size_t count = 0;
  for (; count < axes.size() && layout.strides[axes[count]] == length; ++count) length *= layout.shape[axes[count]];
  return {count, length};
}

std::optional<MemoryRows> memory_rows(const Layout& layout) {
  if (numel(layout.shape) == 0) return MemoryRows{0, 0, 0};
  const std::vector<int> axes = axes_by_stride(layout);
  const auto [inner, length] = run_of(layout, axes);
  MemoryRows rows{1, length, length};
  for (std::size_t i = inner; i < axes.size(); ++i) {
    const std::int64_t stride = layout.strides[axes[i]];
    if (i == inner) rows.distance = stride;
    if (stride != rows.distance * rows.count || rows.distance < length) return std::nullopt;
    rows.count *= layout.shape[axes[i]];
  }
  return rows;
}

Layout without_room(const Layout& layout, const MemoryRows& rows) {
  Layout out = layout;
  for (int i = 0; i < out.shape.rank(); ++i) {
    if (out.shape[i] != 1 && rows.distance > 0 && out.strides[i] >= rows.distance)
      out.strides[i] = out.strides[i] / rows.distance * rows.length;
  }
  return out;
}

std::optional<Layout> with_room_between_images(const Layout& layout) {
  const Shape& shape = layout.shape;
  if (shape.rank() < 3) return std::nullopt;
  Layout out = Layout::dense(shape);
  if (shape[0] != 1 && layout.strides[0] >= out.strides[0]) out.strides[0] = layout.strides[0];
  return same_strides(layout, out.strides) ? std::optional(out) : std::nullopt;
}

std::optional<Layout> with_room_between_pixels(const Layout& layout) {
  const Shape& shape = layout.shape;
  if (shape.rank() < 3) return std::nullopt;
  std::int64_t step = shape[1];
  for (const int axis : axes_by_stride(layout)) {  // the first one beside the channels' says how far pixels are from each other
    if (axis == 1) continue;
    step = std::max(step, layout.strides[axis]);
    break;
  }
  Layout out{shape, Dims::filled(shape.rank(), 1), 0};
  for (int i = shape.rank() - 1; i >= 2; --i) {
    out.strides[i] = step;
    step *= shape[i];
  }
  out.strides[0] = step;
  return same_strides(layout, out.strides) ? std::optional(out) : std::nullopt;
}

}  // namespace tegula
