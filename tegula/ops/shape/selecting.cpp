#include "tegula/ops/shape/selecting.h"

#include <limits>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

void require_room(std::string_view op, std::int64_t most, const Line& where) {
  if (most < 0) ops::refuse(op, "room for " + std::to_string(most) + " elements", "at least 0", where);
}

/// The sources of the elements of a result that keeps some of n.
struct Kept {
  Tensor index;  // (most) i64; 0 behind the last
  Tensor holds;  // (most) boolean: not behind the last
  Tensor count;  // () i64
};

/// mask (n) boolean. Each element that is kept writes its position at its rank; the others write into a place behind the end.
Kept kept(const Tensor& mask, std::int64_t most) {
  const std::int64_t n = mask.numel();
  const Tensor rank = cumsum(mask, 0) - 1;
  const Tensor place = where(mask && rank < most, rank, most);
  const Tensor index = scatter(zeros({most + 1}, i64), 0, place, iota({n}, 0));
  const Tensor count = sum(cast(mask, i64));
  return {slice(index, 0, {.begin = 0, .end = most}), iota({most}, 0) < count, count};
}

Kept none(std::int64_t most) { return {zeros({most}, i64), zeros({most}, boolean), zeros({}, i64)}; }

Tensor is_set(const Tensor& x) { return x.dtype() == boolean ? x : x != 0; }

Selected compressed(std::string_view op, const Tensor& x, const Tensor& mask, std::int64_t most, int axis, const Line& where) {
  require_room(op, most, where);
  const std::int64_t n = x.shape()[axis];
  if (n == 0) {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths[static_cast<std::size_t>(axis)].high = most;
    return {pad(x, widths), zeros({}, i64)};
  }
  const Kept found = kept(is_set(mask), most);
  Shape along = Dims::filled(x.rank(), 1);
  along[axis] = most;
  const Tensor zero = graph::full({}, 0, x.dtype(), where);
  return {tegula::where(reshape(found.holds, along), take(x, found.index, axis), zero), found.count};
}

/// The element that changes nothing.
Tensor neutral(ScatterReduction reduction, DType dtype, const Line& where) {
  return graph::full({}, reduction == ScatterReduction::Product ? 1 : 0, dtype, where);
}

Tensor combined(ScatterReduction reduction, const Tensor& a, const Tensor& b) {
  switch (reduction) {
    case ScatterReduction::Sum: return a + b;
    case ScatterReduction::Product: return a * b;
    case ScatterReduction::Minimum: return minimum(a, b);
    case ScatterReduction::Maximum: return maximum(a, b);
  }
  return a;
}

/// The elements along the axis move up by `step`; `value` comes in.
Tensor moved(const Tensor& x, int axis, std::int64_t step, const Tensor& value) {
  Shape shape = x.shape();
  shape[axis] = step;
  return concat({expand(value, shape), slice(x, axis, {.begin = 0, .end = x.shape()[axis] - step})}, axis);
}

}  // namespace

Places nonzero(Arg x, std::int64_t most) {
  const In frame("nonzero", x.loc);
  const Tensor given = x.tensor("nonzero");
  require_room("nonzero", most, x.loc);
  const Tensor flat = reshape(given, {given.numel()});
  const Kept found = given.numel() == 0 ? none(most) : kept(is_set(flat), most);
  std::vector<Tensor> columns;
  std::int64_t stride = given.numel();
  for (const std::int64_t size : given.shape()) {
    stride = size == 0 ? 1 : stride / size;
    columns.push_back(size == 0 ? found.index : remainder(floor_divide(found.index, stride), size));
  }
  return {columns.empty() ? zeros({most, 0}, i64) : stack(columns, 1, x.loc), found.count};
}

Selected compress(Arg x, Arg mask, std::int64_t most, int axis) {
  const In frame("compress", x.loc);
  const Tensor given = x.tensor("compress"), which = mask.tensor("compress");
  const int at = ops::axis_of("compress", axis, given.shape(), x.loc);
  if (which.shape() != Shape{given.shape()[at]}) {
    ops::refuse("compress",
                "a mask of shape " + to_string(which.shape()) + " for axis " + std::to_string(at) + " of " + to_string(given.shape()),
                "one element for each of the " + std::to_string(given.shape()[at]) + " slices", x.loc);
  }
  return compressed("compress", given, which, most, at, x.loc);
}

Selected masked_select(Arg x, Arg mask, std::int64_t most) {
  const In frame("masked_select", x.loc);
  const Tensor given = x.tensor("masked_select");
  const Tensor which = expand(mask.tensor("masked_select"), given.shape());
  return compressed("masked_select", reshape(given, {given.numel()}), reshape(which, {given.numel()}), most, 0, x.loc);
}

UniqueValues unique(Arg x, std::int64_t most) {
  const In frame("unique", x.loc);
  const Tensor given = x.tensor("unique");
  require_room("unique", most, x.loc);
  const std::int64_t n = given.numel();
  if (n == 0) {
    const Tensor rows = zeros({most}, i64);
    return {graph::full({most}, 0, given.dtype(), x.loc), rows, zeros(given.shape(), i64), rows, zeros({}, i64)};
  }
  const Sorted sorted = sort(reshape(given, {n}), 0);  // stable: the first of equal elements comes first
  const Tensor values = stop_gradient(sorted.values);
  const Tensor begins =
      concat({ones({1}, boolean), slice(values, 0, {.begin = 1, .end = n}) != slice(values, 0, {.begin = 0, .end = n - 1})}, 0);
  const Kept found = kept(begins, most);
  const Tensor group = cumsum(begins, 0) - 1;
  const Tensor zero = graph::full({}, 0, given.dtype(), x.loc);
  const Tensor first = where(found.holds, take(sorted.indices, found.index, 0), 0);
  const Tensor inverse = scatter(zeros({n}, i64), 0, sorted.indices, group);
  const Tensor counts = scatter_add(zeros({most + 1}, i64), 0, minimum(group, most), ones({n}, i64));
  return {where(found.holds, take(reshape(given, {n}), first, 0), zero), first, reshape(inverse, given.shape()),
          slice(counts, 0, {.begin = 0, .end = most}), found.count};
}

Tensor scatter_reduce(Arg x, int axis, Arg index, Arg source, ScatterReduction reduction) {
  if (reduction == ScatterReduction::Sum) return scatter_add(x, axis, index, source);
  const In frame("scatter_reduce", x.loc);
  const Line& where = x.loc;
  const Tensor given = x.tensor("scatter_reduce"), raw = index.tensor("scatter_reduce"), parts = source.tensor("scatter_reduce");
  const int at = ops::axis_of("scatter_reduce", axis, given.shape(), where);
  if (is_float(raw.dtype()) || raw.dtype() == boolean || raw.rank() != given.rank() || parts.shape() != raw.shape()) {
    ops::refuse("scatter_reduce",
                "an index " + std::string(name(raw.dtype())) + " " + to_string(raw.shape()) + " and a source " + to_string(parts.shape()) +
                    " for x " + to_string(given.shape()),
                "integers of x's rank, and a source of their shape", where);
  }
  if (parts.dtype() != given.dtype()) {
    ops::refuse("scatter_reduce", "a source of " + std::string(name(parts.dtype())), std::string(name(given.dtype())) + ", as x", where);
  }
  const std::int64_t size = given.shape()[at], count = raw.shape()[at];
  if (raw.numel() == 0) return graph::distinct(given, given, where);
  const Tensor wide = graph::cast(raw, i64, where);
  // An index that is out of range stays so: gather below says it.
  const Tensor counted = tegula::where(wide < 0, wide + size, wide);
  const Sorted order = sort(tegula::where(counted < 0, std::numeric_limits<std::int64_t>::max(), counted), at);
  const Tensor places = order.values;
  // A running total within the elements of one place, by doubling: after the step of width w each has combined the 2w elements up to it.
  Tensor total = gather(parts, at, order.indices);
  const Tensor nothing = neutral(reduction, given.dtype(), where), nowhere = graph::full({}, -1, i64, where);
  for (std::int64_t step = 1; step < count; step *= 2) {
    const Tensor is_same = moved(places, at, step, nowhere) == places;
    total = tegula::where(is_same, combined(reduction, moved(total, at, step, nothing), total), total);
  }
  total = combined(reduction, gather(given, at, places), total);
  // The last element of each place has the total; the others go to a place behind the end.
  const Tensor next =
      count == 1
          ? expand(nowhere, places.shape())
          : concat({slice(places, at, {.begin = 1, .end = count}), expand(nowhere, slice(places, at, {.begin = 0, .end = 1}).shape())}, at);
  std::vector<PadWidth> widths(static_cast<std::size_t>(given.rank()));
  widths[static_cast<std::size_t>(at)].high = 1;
  const Tensor out = scatter(pad(given, widths), at, tegula::where(next == places, size, places), total);
  return slice(out, at, {.begin = 0, .end = size});
}

std::vector<OpCase> selecting_cases() {
  const auto scattered = [](ScatterReduction reduction) {
    return [reduction](const std::vector<Tensor>& x) { return scatter_reduce(x[0], 1, x[1], x[2], reduction); };
  };
  const CaseInput index{.shape = {2, 7, 3}, .low = -5, .high = 4, .dtype = i64};
  std::vector<OpCase> cases{
      {.op = "nonzero",
       .function = [](const auto& x) { return nonzero(x[0], 5).index; },
       .inputs = {{.shape = {3, 4}, .low = 0, .high = 1, .dtype = boolean}},
       .more_shapes = {{{0, 3}}, {{9}}, {{2, 1, 5}}},
       .gradient = false},
      {.op = "compress",
       .function = [](const auto& x) { return compress(x[0], x[1], 3, 1).values; },
       .inputs = {{{2, 5}}, {.shape = {5}, .low = 0, .high = 1, .dtype = boolean}},
       .dtypes = kComputed,
       .more_shapes = {{{3, 0}, {0}}, {{0, 4}, {4}}, {{2, 9, 3}, {9}}}},
      {.op = "masked_select",
       .function = [](const auto& x) { return masked_select(x[0], x[1], 6).values; },
       .inputs = {{{3, 5}}, {.shape = {5}, .low = 0, .high = 1, .dtype = boolean}},
       .dtypes = kComputed,
       .more_shapes = {{{0}, {0}}, {{2, 3, 4}, {3, 1}}}},
      {.op = "unique",
       .function = [](const auto& x) { return unique(x[0], 4).values; },
       .inputs = {{.shape = {13}, .low = -3, .high = 3}},
       .dtypes = kIntegers,
       .more_shapes = {{{0}}, {{}}, {{3, 5}}},
       .gradient = false},
  };
  for (const ScatterReduction reduction : {ScatterReduction::Product, ScatterReduction::Minimum, ScatterReduction::Maximum}) {
    cases.push_back({.op = "scatter_reduce",
                     .function = scattered(reduction),
                     .inputs = {{{2, 5, 3}}, index, {{2, 7, 3}}},
                     .dtypes = kNumbers,
                     .more_shapes = {{{4, 5, 3}, {2, 1, 3}, {2, 1, 3}}, {{2, 5, 0}, {2, 3, 0}, {2, 3, 0}}}});
  }
  return cases;
}

}  // namespace tegula
