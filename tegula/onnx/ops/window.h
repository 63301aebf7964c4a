#pragma once
// Windows as convolution and pooling have them: sizes, strides, pads of a node.

#include "tegula/onnx/call.h"
#include "tegula/ops/shape/join.h"

namespace tegula::onnx {

/// A node's windows, an entry for each spatial axis. Negative pads take elements away.
struct NodeWindow {
  Dims size, stride, dilation, low, high;

  int axes() const { return size.rank(); }
  /// Elements that a window reaches over.
  std::int64_t reach(int axis) const { return (size[axis] - 1) * dilation[axis] + 1; }
  bool has_negative_pads() const;
};

/// From kernel_shape (or `size`, of a weight), strides, dilations, pads and auto_pad, for x (N, C, spatial…). SAME_LOWER has its odd element in front; with a stride larger
/// than the window SAME takes elements away, as onnxruntime does in poolings. Throws Error for other counts.
NodeWindow window_of(const Call& call, const Shape& x, const Dims& size);
/// kernel_shape. Throws Error where there is none.
Dims kernel_shape(const Call& call, int axes);
/// An attribute of `axes` numbers, each at least `least`.
Dims per_axis(const Call& call, std::string_view attribute, int axes, std::int64_t otherwise, std::int64_t least);

/// x (N, C, spatial…) with `value` around it, or without what negative pads take away.
Tensor padded(const Tensor& x, const NodeWindow& window, const PadOptions& options = {});
/// The number of windows along an axis; with `ceil` the last may reach outside, but not begin there.
std::int64_t positions(const NodeWindow& window, int axis, std::int64_t size, bool ceil);

}  // namespace tegula::onnx
