#include "tegula/onnx/out/sizes.h"

namespace tegula::onnx {

std::int64_t OpenSizes::value(const Size& size, std::size_t trace) const {
  if (size.is_constant()) return size.plus;
  std::int64_t product = size.factor;
  for (std::size_t axis = 0; axis < count(); ++axis)
    if (size.of >> axis & 1) product *= this->size(axis, trace);
  return product + size.plus;
}

std::optional<Size> OpenSizes::common(std::span<const std::int64_t> values) const {
  Size out(values[0]);
  for (std::size_t axis = 0; axis < count(); ++axis)
    if (values[axis + 1] != values[0]) out.of |= 1u << axis;
  if (!out.is_constant()) {
    // The factor is that of the first axis that it depends on: the others' product times the factor is what one more of it adds.
    std::size_t chosen = 0;
    while (!(out.of >> chosen & 1)) ++chosen;
    std::int64_t others = 1, all = 1;
    for (std::size_t axis = 0; axis < count(); ++axis) {
      if (!(out.of >> axis & 1)) continue;
      all *= first_[axis];
      if (axis != chosen) others *= first_[axis];
    }
    const std::int64_t added = values[chosen + 1] - values[0];
    if (added % others != 0) return std::nullopt;
    out.factor = added / others;
    out.plus = values[0] - out.factor * all;
  }
  for (std::size_t trace = 0; trace < values.size(); ++trace)
    if (value(out, trace) != values[trace]) return std::nullopt;
  return out;
}

}  // namespace tegula::onnx
