#include "tegula/ops/shape/image_axes.h"

#include "tegula/graph/structural.h"

namespace tegula::ops {
namespace {

/// Axis `from` moves to place `to`, the others keep their order.
Tensor move_axis(const Tensor& x, int from, int to, const Line& where) {
  Dims order;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(to, from);
  return graph::permute(x, order, where);
}

bool is_permuted(const Tensor& x, int axes, AxisOrder order) {
  return order == AxisOrder::NHWC && axes > 0 && (x.rank() == axes + 1 || x.rank() == axes + 2);
}

}  // namespace

Tensor channels_first(const Tensor& x, int axes, AxisOrder order, const Line& where) {
  return is_permuted(x, axes, order) ? move_axis(x, x.rank() - 1, x.rank() - 1 - axes, where) : x;
}

Tensor channels_as(const Tensor& y, int axes, AxisOrder order, const Line& where) {
  return is_permuted(y, axes, order) ? move_axis(y, y.rank() - 1 - axes, y.rank() - 1, where) : y;
}

}  // namespace tegula::ops
