#pragma once
// Functions on (N, C, spatial…) tensors for the sources of convolution and pooling.

#include "tegula/core/memory_rows.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/shape/window.h"

namespace tegula {

/// The spatial part of (N, C, spatial…).
inline Dims spatial(const Shape& shape) { return Dims(std::span(shape.begin() + 2, static_cast<std::size_t>(shape.rank() - 2))); }

inline bool lies_channels_last(const Layout& layout) {
  const Strides strides = Layout::channels_last(layout.shape).strides;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] != 1 && layout.strides[i] != strides[i]) return false;
  }
  return true;
}

/// The same layout with the meaningless strides of size-1 axes set as for larger ones, and without the offset.
inline Layout settle(const Layout& layout) {
  if (layout.is_dense()) return Layout::dense(layout.shape);
  if (const auto last = with_room_between_pixels(layout)) return *last;
  return with_room_between_images(layout).value_or(Layout::dense(layout.shape));
}

inline Tensor with_batch(const Tensor& x, const Line& where) {
  Shape shape = x.shape();
  shape.insert(0, 1);
  return graph::reshape(x, shape, where);
}
inline Tensor without_batch(const Tensor& x, const Line& where) {
  Shape shape = x.shape();
  shape.erase(0);
  return graph::reshape(x, shape, where);
}

}  // namespace tegula
