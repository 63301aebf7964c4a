#include "tegula/onnx/ops/window.h"

#include <algorithm>

namespace tegula::onnx {

bool NodeWindow::has_negative_pads() const {
  for (int i = 0; i < axes(); ++i)
    if (low[i] < 0 || high[i] < 0) return true;
  return false;
}

Dims per_axis(const Call& call, std::string_view attribute, int axes, std::int64_t otherwise, std::int64_t least) {
  if (!call.has(attribute)) return Dims::filled(axes, otherwise);
  const auto values = call.integers(attribute);
  if (static_cast<int>(values.size()) != axes)
    call.refuse(std::string(attribute) + " of " + std::to_string(values.size()) + " numbers", std::to_string(axes));
  for (const std::int64_t value : values)
    if (value < least || value > (std::int64_t{1} << 32))
      call.refuse(std::string(attribute) + " of " + std::to_string(value), "at least " + std::to_string(least));
  return dims_of(call, values);
}

Dims kernel_shape(const Call& call, int axes) {
  if (!call.has("kernel_shape")) call.refuse("no kernel_shape", "one");
  return per_axis(call, "kernel_shape", axes, 1, 1);
}

NodeWindow window_of(const Call& call, const Shape& x, const Dims& size) {
  const int axes = size.rank();
  NodeWindow out{size, per_axis(call, "strides", axes, 1, 1), per_axis(call, "dilations", axes, 1, 1), Dims::filled(axes, 0),
                 Dims::filled(axes, 0)};
  const std::string rule = call.text("auto_pad", "NOTSET");
  if (rule == "NOTSET" || rule.empty()) {
    if (!call.has("pads")) return out;
    const auto pads = call.integers("pads");
    if (static_cast<int>(pads.size()) != 2 * axes)
      call.refuse("pads of " + std::to_string(pads.size()) + " numbers", std::to_string(2 * axes));
    for (int i = 0; i < axes; ++i) out.low[i] = pads[static_cast<std::size_t>(i)], out.high[i] = pads[static_cast<std::size_t>(i + axes)];
    return out;
  }
  if (rule == "VALID") return out;
  if (rule != "SAME_UPPER" && rule != "SAME_LOWER") call.refuse("auto_pad = " + rule, "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  for (int i = 0; i < axes; ++i) {
    const std::int64_t in = x[i + 2], count = (in + out.stride[i] - 1) / out.stride[i];
    const std::int64_t total = (count - 1) * out.stride[i] + out.reach(i) - in;
    out.low[i] = rule == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
    out.high[i] = total - out.low[i];
  }
  return out;
}

Tensor padded(const Tensor& x, const NodeWindow& window, const PadOptions& options) {
  std::vector<PadWidth> widths(2);
  bool changes = false;
  for (int i = 0; i < window.axes(); ++i) {
    widths.push_back({window.low[i], window.high[i]});
    changes = changes || window.low[i] != 0 || window.high[i] != 0;
  }
  return changes ? pad(x, widths, options) : x;
}

std::int64_t positions(const NodeWindow& window, int axis, std::int64_t size, bool ceil) {
  const std::int64_t room = size + window.low[axis] + window.high[axis] - window.reach(axis), stride = window.stride[axis];
  if (room < 0) return 0;
  std::int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (count - 1) * stride >= size + window.low[axis]) --count;
  return count;
}

}  // namespace tegula::onnx
