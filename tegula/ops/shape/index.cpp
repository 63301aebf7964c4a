#include "tegula/ops/shape/index.h"

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using ops::IndexForm;

Tensor index_of(std::string_view op, const Arg& index, const Line& where) {
  const Tensor t = index.tensor(op);
  if (!is_integer(t.dtype())) {
    ops::refuse(op, "an index of dtype " + std::string(name(t.dtype())), "an integer dtype", where,
                t.dtype() == boolean ? "the number of true elements is not known when the graph is built: use where() or masked_fill()"
                                     : "cast(index, i64)");
  }
  return t;
}

/// Index and source as they must be beside x: of x's rank, and apart from the axis not longer than x.
void check_beside(std::string_view op, const Tensor& x, int axis, const Tensor& index, const Line& where) {
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || index.shape()[i] <= x.shape()[i];
  if (!fits) {
    ops::refuse(op, "an index of shape " + to_string(index.shape()) + " for shape " + to_string(x.shape()),
                "the same rank, and apart from axis " + std::to_string(axis) + " sizes that are not greater", where);
  }
}

/// The first elements of every axis but one.
Tensor corner(const Tensor& x, int axis, const Shape& shape, const Line& where) {
  Shape count = shape;
  count[axis] = x.shape()[axis];
  return ops::strided(x, Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 1), count, where);
}

Tensor taken(std::string_view op, const Tensor& x, int axis, const Tensor& index, const Line& where) {
  if (x.rank() - 1 + index.rank() > kMaxRank) {
    ops::refuse(op, "shapes " + to_string(x.shape()) + " and " + to_string(index.shape()), "a result of at most 8 dimensions", where);
  }
  const Tensor flat = graph::reshape(index, {index.numel()}, where);
  const Tensor y = ops::gather_along(x, axis, flat, IndexForm::Shared, where);
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.shape()[i]);
  for (const auto size : index.shape()) shape.push_back(size);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return graph::reshape(y, shape, where);
}

/// The source of a scatter in x's dtype and the index's shape; a number fills it.
Tensor source_like(std::string_view op, const Arg& source, const Tensor& x, const Shape& shape, const Line& where) {
  Tensor t = source.tensor(op, x.dtype());
  if (t.rank() == 0) return graph::expand(t, shape, where);
  if (t.shape() != shape) {
    ops::refuse(op, "a source of shape " + to_string(t.shape()), "a number, or the index's shape " + to_string(shape), where);
  }
  return t;
}

/// Σ of the sources at their indices, of x's shape.
Tensor sums_like(const Tensor& x, int axis, const Tensor& index, const Tensor& source, const Line& where) {
  const Tensor sums = ops::scatter_sum(source, axis, index, IndexForm::Full, x.shape()[axis], where);
  return ops::embed(sums, Dims::filled(x.rank(), 0), Dims::filled(x.rank(), 1), x.shape(), 0, where);
}

void refuse_boolean(std::string_view op, const Tensor& x, const Line& where) {
  if (x.dtype() == boolean) ops::refuse(op, "a boolean tensor", "numbers to add", where);
}

}  // namespace

Tensor take(Arg x, Arg index, std::optional<int> axis) {
  const In frame("take", x.loc);
  Tensor t = x.tensor("take");
  const Tensor i = index_of("take", index, x.loc);
  if (!axis) t = graph::reshape(t, {t.numel()}, x.loc);
  return taken("take", t, ops::axis_of("take", axis.value_or(0), t.shape(), x.loc), i, x.loc);
}

Tensor index(Arg x, Arg index) {
  const In frame("index", x.loc);
  const Tensor t = x.tensor("index");
  return taken("index", t, ops::axis_of("index", 0, t.shape(), x.loc), index_of("index", index, x.loc), x.loc);
}

Tensor index_select(Arg x, int axis, Arg index) {
  const In frame("index_select", x.loc);
  const Tensor t = x.tensor("index_select"), i = index_of("index_select", index, x.loc);
  if (i.rank() > 1) ops::refuse("index_select", "an index of shape " + to_string(i.shape()), "rank 1", x.loc, "take() accepts any shape");
  const int a = ops::axis_of("index_select", axis, t.shape(), x.loc);
  return ops::gather_along(t, a, graph::reshape(i, {i.numel()}, x.loc), IndexForm::Shared, x.loc);
}

Tensor gather(Arg x, int axis, Arg index) {
  const In frame("gather", x.loc);
  const Tensor t = x.tensor("gather"), i = index_of("gather", index, x.loc);
  const int a = ops::axis_of("gather", axis, t.shape(), x.loc);
  check_beside("gather", t, a, i, x.loc);
  return ops::gather_along(corner(t, a, i.shape(), x.loc), a, i, IndexForm::Full, x.loc);
}

Tensor take_along_axis(Arg x, Arg index, int axis) {
  const In frame("take_along_axis", x.loc);
  const Tensor t = x.tensor("take_along_axis"), i = index_of("take_along_axis", index, x.loc);
  const int a = ops::axis_of("take_along_axis", axis, t.shape(), x.loc);
  Shape left = t.shape(), right = i.shape();
  const bool ranks = left.rank() == right.rank();
  if (ranks) left[a] = right[a] = 1;
  const auto both = ranks ? broadcast(left, right) : std::nullopt;
  if (!both) {
    ops::refuse("take_along_axis", "shapes " + to_string(t.shape()) + " and " + to_string(i.shape()),
                "the same rank, and sizes that broadcast apart from axis " + std::to_string(a), x.loc);
  }
  left = right = *both;
  left[a] = t.shape()[a];
  right[a] = i.shape()[a];
  return ops::gather_along(graph::expand(t, left, x.loc), a, graph::expand(i, right, x.loc), IndexForm::Full, x.loc);
}

Tensor scatter(Arg x, int axis, Arg index, Arg source) {
  const In frame("scatter", x.loc);
  const Tensor t = x.tensor("scatter"), i = index_of("scatter", index, x.loc);
  const int a = ops::axis_of("scatter", axis, t.shape(), x.loc);
  check_beside("scatter", t, a, i, x.loc);
  const Tensor from = source_like("scatter", source, t, i.shape(), x.loc);
  // The corner that the index covers is changed and put back over the rest.
  const Tensor part = corner(t, a, i.shape(), x.loc);
  Tensor changed = movedim(ops::scatter_last(movedim(part, a, -1), movedim(i, a, -1), movedim(from, a, -1), x.loc), -1, a);
  if (part.shape() == t.shape()) return changed;
  const Dims zero = Dims::filled(t.rank(), 0), one = Dims::filled(t.rank(), 1);
  const Tensor covered = ops::embed(graph::full(part.shape(), 1, boolean, x.loc), zero, one, t.shape(), 0, x.loc);
  return where(covered, ops::embed(changed, zero, one, t.shape(), 0, x.loc), t);
}

Tensor scatter_add(Arg x, int axis, Arg index, Arg source) {
  const In frame("scatter_add", x.loc);
  const Tensor t = x.tensor("scatter_add"), i = index_of("scatter_add", index, x.loc);
  refuse_boolean("scatter_add", t, x.loc);
  const int a = ops::axis_of("scatter_add", axis, t.shape(), x.loc);
  check_beside("scatter_add", t, a, i, x.loc);
  return t + sums_like(t, a, i, source_like("scatter_add", source, t, i.shape(), x.loc), x.loc);
}

Tensor index_add(Arg x, int axis, Arg index, Arg source) {
  const In frame("index_add", x.loc);
  const Tensor t = x.tensor("index_add"), i = index_of("index_add", index, x.loc);
  refuse_boolean("index_add", t, x.loc);
  const int a = ops::axis_of("index_add", axis, t.shape(), x.loc);
  if (i.rank() != 1) ops::refuse("index_add", "an index of shape " + to_string(i.shape()), "rank 1", x.loc);
  Shape shape = t.shape();
  shape[a] = i.numel();
  const Tensor from = source_like("index_add", source, t, shape, x.loc);
  return t + ops::scatter_sum(from, a, i, IndexForm::Shared, t.shape()[a], x.loc);
}

Tensor masked_fill(Arg x, Arg mask, Arg value) {
  const In frame("masked_fill", x.loc);
  const Tensor t = x.tensor("masked_fill"), m = mask.tensor("masked_fill");
  if (m.dtype() != boolean) ops::refuse("masked_fill", "a mask of dtype " + std::string(name(m.dtype())), "booleans", x.loc);
  return where(m, value.tensor("masked_fill", t.dtype()), t);
}

Tensor one_hot(Arg index, std::int64_t classes, DType dtype) {
  const In frame("one_hot", index.loc);
  const Tensor i = index_of("one_hot", index, index.loc);
  if (classes < 0) ops::refuse("one_hot", std::to_string(classes) + " classes", "at least 0", index.loc);
  Shape shape = i.shape();
  shape.push_back(classes);
  Layout pattern{shape, Dims::filled(shape.rank(), 0), 0};
  pattern.strides[shape.rank() - 1] = 1;
  return graph::cast(expand_dims(graph::cast(i, i64, index.loc), -1) == graph::index(pattern, index.loc), dtype, index.loc);
}

std::vector<OpCase> index_cases() {
  std::vector<OpCase> cases;
  using Inputs = std::vector<Tensor>;
  const auto add = [&](std::string op, std::vector<CaseInput> inputs, const std::vector<DType>& dtypes,
                       std::function<Tensor(const Inputs&)> function, std::vector<std::vector<Shape>> more = {}) {
    cases.push_back({.op = std::move(op),
                     .function = std::move(function),
                     .inputs = std::move(inputs),
                     .dtypes = dtypes,
                     .more_shapes = std::move(more),
                     .tolerance = 64});
  };
  const auto indices = [](const Shape& shape, double size) {
    return CaseInput{.shape = shape, .low = -size, .high = size - 1, .dtype = i64};
  };
  add("take", {{{11, 33}}, indices({5, 7}, 11)}, kEverything, [](const Inputs& x) { return take(x[0], x[1], 0); },
      {{{11}, {1023}}, {{11, 0}, {3}}, {{11, 2}, {0}}, {{11, 3000}, {3}}});
  add("take", {{{3, 11, 5}}, indices({7}, 11)}, kEverything, [](const Inputs& x) { return take(x[0], x[1], 1); }, {{{3, 11}, {9}}});
  add("take", {{{3, 5}}, indices({7, 2}, 15)}, kEverything, [](const Inputs& x) { return take(x[0], x[1]); });
  add("index", {{{11, 3}}, indices({}, 11)}, kEverything, [](const Inputs& x) { return index(x[0], cast(x[1], i32)); });
  add("index_select", {{{3, 11}}, indices({7}, 11)}, kEverything, [](const Inputs& x) { return index_select(x[0], -1, x[1]); });
  add("gather", {{{7, 11}}, indices({7, 5}, 11)}, kEverything, [](const Inputs& x) { return gather(x[0], 1, x[1]); },
      {{{9, 11}, {4, 30}}, {{3, 11}, {3, 4000}}, {{1023, 11}, {1023, 1}}});
  add("gather", {{{4, 11, 6}}, indices({4, 5, 6}, 11)}, kEverything, [](const Inputs& x) { return gather(x[0], 1, x[1]); },
      {{{4, 11, 6}, {2, 13, 3}}});
  add("take_along_axis", {{{4, 11, 6}}, indices({1, 5, 6}, 11)}, kEverything,
      [](const Inputs& x) { return take_along_axis(x[0], x[1], 1); });
  add("scatter_add", {{{7, 5}}, indices({7, 11}, 5), {{7, 11}}}, kNumbers, [](const Inputs& x) { return scatter_add(x[0], 1, x[1], x[2]); },
      {{{9, 5}, {4, 3}, {4, 3}}, {{1, 5}, {1, 3000}, {1, 3000}}});
  add("scatter_add", {{{4, 5, 6}}, indices({4, 11, 6}, 5), {{4, 11, 6}}}, kNumbers,
      [](const Inputs& x) { return scatter_add(x[0], 1, x[1], x[2]); });
  add("index_add", {{{5, 6}}, indices({11}, 5), {{11, 6}}}, kNumbers, [](const Inputs& x) { return index_add(x[0], 0, x[1], x[2]); },
      {{{5, 1}, {1023}, {1023, 1}}});
  // Without equal indices: every third index, from either end.
  const auto apart = [](const Tensor& x, std::int64_t count) { return graph::index({{x.shape()[0], count}, {1, -3}, -1}); };
  add("scatter", {{{3, 11}}, {{3, 3}}}, kEverything, [=](const Inputs& x) { return scatter(x[0], 1, apart(x[0], 3), x[1]); });
  add("scatter", {{{11, 4}}, {{3, 2}}}, kEverything,
      [=](const Inputs& x) { return scatter(x[0], 0, transpose(graph::index({{2, 3}, {1, -3}, -1})), x[1]); });
  add("masked_fill", {{{7, 33}}, {.shape = {33}, .dtype = boolean}}, kEverything,
      [](const Inputs& x) { return masked_fill(x[0], x[1], 3); });
  add("one_hot", {indices({7, 5}, 9)}, {i64}, [](const Inputs& x) { return one_hot(x[0], 9); });
  return cases;
}

}  // namespace tegula
