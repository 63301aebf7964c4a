#include "tegula/ops/shape.h"

#include <algorithm>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

Dims counting(int rank) {
  Dims order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  return order;
}

Tensor swapped(std::string_view op, Arg x, int a, int b) {
  const Tensor t = x.tensor(op);
  Dims order = counting(t.rank());
  std::swap(order[ops::axis_of(op, a, t.shape(), x.loc)], order[ops::axis_of(op, b, t.shape(), x.loc)]);
  return graph::permute(t, order, x.loc);
}

Tensor expanded(std::string_view op, Arg x, Shape shape) {
  const Tensor t = x.tensor(op);
  const int lead = shape.rank() - t.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && i >= lead && lead >= 0) shape[i] = t.shape()[i - lead];
  }
  const bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; });
  if (negative || broadcast(t.shape(), shape) != shape) {
    ops::refuse(op, "shape " + to_string(t.shape()) + " to expand to " + to_string(shape), "axes that agree or have size 1, counted from the last",
                x.loc);
  }
  return graph::expand(t, shape, x.loc);
}

}  // namespace

Tensor reshape(Arg x, const Shape& shape) {
  const Tensor t = x.tensor("reshape");
  Shape known = shape;
  int unknown = -1;
  std::int64_t rest = 1;
  const auto refuse = [&](std::string expected) {
    ops::refuse("reshape", "shape " + to_string(t.shape()) + " (" + std::to_string(t.numel()) + " elements) to reshape to " + to_string(shape),
                std::move(expected), x.loc, "one size may be given as -1 and is then computed");
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) refuse("at most one -1");
      unknown = i;
    } else if (shape[i] < 0) {
      refuse("sizes of at least 0");
    } else {
      rest *= shape[i];
    }
  }
  if (unknown >= 0) {
    if (rest == 0 || t.numel() % rest != 0) refuse("sizes whose product divides the number of elements");
    known[unknown] = t.numel() / rest;
  }
  if (numel(known) != t.numel()) refuse("as many elements");
  return graph::reshape(t, known, x.loc);
}

Tensor flatten(Arg x, int start, int end) {
  const Tensor t = x.tensor("flatten");
  if (t.rank() == 0) return graph::reshape(t, {1}, x.loc);
  const int first = ops::axis_of("flatten", start, t.shape(), x.loc), last = ops::axis_of("flatten", end, t.shape(), x.loc);
  if (first > last) ops::refuse("flatten", "axes " + std::to_string(start) + " to " + std::to_string(end), "the first before the last", x.loc);
  Shape shape;
  for (int i = 0; i < t.rank(); ++i) {
    if (i > first && i <= last) shape[first] *= t.shape()[i];
    else shape.push_back(t.shape()[i]);
  }
  return graph::reshape(t, shape, x.loc);
}

Tensor permute(Arg x, const Dims& order) {
  const Tensor t = x.tensor("permute");
  Dims normal;
  for (const auto axis : order) {
    const auto found = normalize_axis(axis, t.rank());
    if (found && !normal.contains(*found)) normal.push_back(*found);
  }
  if (normal.rank() != t.rank() || order.rank() != t.rank()) {
    ops::refuse("permute", "order " + to_string(order) + " for shape " + to_string(t.shape()), "each axis once", x.loc);
  }
  return graph::permute(t, normal, x.loc);
}

Tensor transpose(Arg x, int a, int b) { return swapped("transpose", x, a, b); }
Tensor swapaxes(Arg x, int a, int b) { return swapped("swapaxes", x, a, b); }

Tensor movedim(Arg x, int from, int to) {
  const Tensor t = x.tensor("movedim");
  const int source = ops::axis_of("movedim", from, t.shape(), x.loc), target = ops::axis_of("movedim", to, t.shape(), x.loc);
  Dims order = counting(t.rank());
  order.erase(source);
  order.insert(target, source);
  return graph::permute(t, order, x.loc);
}

Tensor squeeze(Arg x, const Axes& axes) {
  const Tensor t = x.tensor("squeeze");
  const Dims list = ops::axes_of("squeeze", axes, t.shape(), x.loc);
  Shape shape;
  for (int i = 0; i < t.rank(); ++i) {
    if (t.shape()[i] != 1 || !list.contains(i)) shape.push_back(t.shape()[i]);
  }
  return graph::reshape(t, shape, x.loc);
}

Tensor expand_dims(Arg x, int axis) {
  const Tensor t = x.tensor("expand_dims");
  Shape shape = t.shape();
  const auto place = normalize_axis(axis, t.rank() + 1);
  if (!place) {
    const std::string most = std::to_string(t.rank());
    ops::refuse("expand_dims", "axis " + std::to_string(axis) + " for shape " + to_string(shape),
                "a place from -" + std::to_string(t.rank() + 1) + " to " + most, x.loc);
  }
  shape.insert(*place, 1);
  return graph::reshape(t, shape, x.loc);
}

Tensor unsqueeze(Arg x, int axis) { return expand_dims(x, axis); }

Tensor expand(Arg x, const Shape& shape) { return expanded("expand", x, shape); }
Tensor broadcast_to(Arg x, const Shape& shape) { return expanded("broadcast_to", x, shape); }

}  // namespace tegula
