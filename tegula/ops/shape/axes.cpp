#include "tegula/ops/shape/axes.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"

namespace tegula::ops {

void refuse(std::string_view op, std::string got, std::string expected, const Line& where, std::string advice) {
  throw Error({.op = std::string(op),
               .got = std::move(got),
               .expected = std::move(expected),
               .advice = std::move(advice),
               .where = origin_at(where).where});
}

int axis_of(std::string_view op, std::int64_t axis, const Shape& shape, const Line& where) {
  const auto found = normalize_axis(axis, shape.rank());
  if (found) return *found;
  const std::string rank = std::to_string(shape.rank());
  refuse(op, "axis " + std::to_string(axis) + " for shape " + to_string(shape),
         shape.empty() ? "a tensor with axes" : "an axis from -" + rank + " to " + std::to_string(shape.rank() - 1), where);
}

Dims axes_of(std::string_view op, const Axes& axes, const Shape& shape, const Line& where) {
  Dims out;
  if (axes.list().empty()) {
    for (int i = 0; i < shape.rank(); ++i) out.push_back(i);
    return out;
  }
  if (shape.empty()) {  // a number counts as having one axis
    for (const auto axis : axes.list()) {
      if (axis != 0 && axis != -1) axis_of(op, axis, shape, where);
    }
    return out;
  }
  for (const auto axis : axes.list()) {
    const int found = axis_of(op, axis, shape, where);
    if (out.contains(found)) refuse(op, "axes " + to_string(axes.list()) + " for shape " + to_string(shape), "each axis once", where);
    out.push_back(found);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tegula::ops
