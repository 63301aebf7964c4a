#include "tegula/ops/shape/shape.h"

#include <algorithm>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"

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
  return graph::distinct(graph::permute(t, order, x.loc), t, x.loc);
}

Tensor expanded(std::string_view op, Arg x, Shape shape) {
  const Tensor t = x.tensor(op);
  const int lead = shape.rank() - t.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && i >= lead && lead >= 0) shape[i] = t.shape()[i - lead];
  }
  const bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; });
  if (negative || broadcast(t.shape(), shape) != shape) {
    ops::refuse(op, "shape " + to_string(t.shape()) + " to expand to " + to_string(shape),
                "axes that agree or have size 1, counted from the last", x.loc);
  }
  return graph::distinct(graph::expand(t, shape, x.loc), t, x.loc);
}

}  // namespace

Tensor reshape(Arg x, const Shape& shape) {
  const Tensor t = x.tensor("reshape");
  Shape known = shape;
  int unknown = -1;
  std::int64_t rest = 1;
  const auto refuse = [&](std::string expected) {
    ops::refuse("reshape",
                "shape " + to_string(t.shape()) + " (" + std::to_string(t.numel()) + " elements) to reshape to " + to_string(shape),
                std::move(expected), x.loc, "one size may be given as -1 and is then computed");
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) refuse("at most one -1");
      unknown = i;
    } else if (shape[i] < 0) {
      refuse("sizes of at least 0");
    } else {
      if (__builtin_mul_overflow(rest, shape[i], &rest)) refuse("as many elements");
    }
  }
  if (unknown >= 0) {
    if (rest == 0 || t.numel() % rest != 0) refuse("sizes whose product divides the number of elements");
    known[unknown] = t.numel() / rest;
  }
  if (numel(known) != t.numel()) refuse("as many elements");
  return graph::distinct(graph::reshape(t, known, x.loc), t, x.loc);
}

Tensor flatten(Arg x, int start, int end) {
  const Tensor t = x.tensor("flatten");
  if (t.rank() == 0) return graph::reshape(t, {1}, x.loc);
  const int first = ops::axis_of("flatten", start, t.shape(), x.loc), last = ops::axis_of("flatten", end, t.shape(), x.loc);
  if (first > last)
    ops::refuse("flatten", "axes " + std::to_string(start) + " to " + std::to_string(end), "the first before the last", x.loc);
  Shape shape;
  for (int i = 0; i < t.rank(); ++i) {
    if (i > first && i <= last) shape[first] *= t.shape()[i];
    else shape.push_back(t.shape()[i]);
  }
  return graph::distinct(graph::reshape(t, shape, x.loc), t, x.loc);
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
  return graph::distinct(graph::permute(t, normal, x.loc), t, x.loc);
}

Tensor transpose(Arg x, int a, int b) { return swapped("transpose", x, a, b); }
Tensor swapaxes(Arg x, int a, int b) { return swapped("swapaxes", x, a, b); }

Tensor movedim(Arg x, int from, int to) {
  const Tensor t = x.tensor("movedim");
  const int source = ops::axis_of("movedim", from, t.shape(), x.loc), target = ops::axis_of("movedim", to, t.shape(), x.loc);
  Dims order = counting(t.rank());
  order.erase(source);
  order.insert(target, source);
  return graph::distinct(graph::permute(t, order, x.loc), t, x.loc);
}

Tensor squeeze(Arg x, const Axes& axes) {
  const Tensor t = x.tensor("squeeze");
  const Dims list = ops::axes_of("squeeze", axes, t.shape(), x.loc);
  Shape shape;
  for (int i = 0; i < t.rank(); ++i) {
    if (t.shape()[i] != 1 || !list.contains(i)) shape.push_back(t.shape()[i]);
  }
  return graph::distinct(graph::reshape(t, shape, x.loc), t, x.loc);
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

std::vector<OpCase> shape_cases() {
  std::vector<OpCase> cases;
  using Inputs = std::vector<Tensor>;
  const auto add = [&](std::string op, const Shape& shape, const std::function<Tensor(const Tensor&)>& function,
                       std::vector<std::vector<Shape>> more = {}) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const Inputs& x) { return function(x[0]); },
                     .inputs = {{shape}},
                     .dtypes = kEverything,
                     .more_shapes = std::move(more)});
  };
  add("reshape", {6, 35}, [](const Tensor& x) { return reshape(x, {5, -1, 7}); }, {{{2, 3, 35}}, {{210}}});
  add("flatten", {3, 5, 7}, [](const Tensor& x) { return flatten(x, 1); }, {{{0, 3}}});
  add("permute", {3, 5, 7}, [](const Tensor& x) { return permute(x, {2, 0, -2}); }, {{{3, 0, 7}}, {{1, 5, 1}}});
  add("transpose", {7, 33}, [](const Tensor& x) { return transpose(x); }, {{{2, 3, 5}}, {{0, 3}}});
  add("swapaxes", {3, 5, 7}, [](const Tensor& x) { return swapaxes(x, 0, -1); });
  add("movedim", {3, 5, 7, 2}, [](const Tensor& x) { return movedim(x, 0, -2); });
  add("squeeze", {3, 1, 7, 1}, [](const Tensor& x) { return squeeze(x, {1, 2}); }, {{{3, 1, 1, 1}}});
  add("expand_dims", {7, 33}, [](const Tensor& x) { return expand_dims(x, -2); });
  add("expand", {7, 1}, [](const Tensor& x) { return expand(x, {3, -1, 5}); }, {{{1, 1}}, {{0, 1}}, {{1, 5}}});
  add("slice", {9, 33}, [](const Tensor& x) { return slice(x, {{1, -1, 2}, {.step = -3}}); }, {{{2, 1}}, {{17, 3, 5}}, {{0, 5}}});
  add("select", {5, 7, 3}, [](const Tensor& x) { return select(x, 1, -2); }, {{{5, 2}}});
  add("flip", {5, 7, 3}, [](const Tensor& x) { return flip(x, {0, 2}); }, {{{1, 0, 3}}, {{1, 2, 1}}});
  add("diagonal", {7, 33}, [](const Tensor& x) { return diagonal(x, 2); }, {{{33, 7}}, {{3, 5, 5}}, {{1, 2}}});
  add("diagonal", {5, 3, 7}, [](const Tensor& x) { return diagonal(x, -1, -1, 0); });
  add("windows", {3, 11}, [](const Tensor& x) { return windows(x, {1}, {4}, {.stride = {2}, .dilation = {2}}); });
  add("windows", {2, 9, 7}, [](const Tensor& x) { return windows(x, {-1, 1}, {3, 2}, {.stride = {1, 2}}); });
  return cases;
}

}  // namespace tegula
