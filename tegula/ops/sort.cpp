#include "tegula/ops/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/compare.h"
#include "tegula/ops/logic.h"
#include "tegula/ops/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/reduce.h"
#include "tegula/ops/row_kernel.h"
#include "tegula/ops/shape.h"

namespace tegula {
namespace {

using tile::Value;

/// Positions that sort the last axis; a tile holds whole lines.
class ArgSortOp final : public KernelOp {
 public:
  explicit ArgSortOp(Order order) : order_(order) {}
  std::string_view name() const override { return "argsort"; }
  std::string details() const override { return order_ == Order::Descending ? "descending" : ""; }
  void attributes(Words& words) const override { words.push_back(static_cast<std::uint64_t>(order_)); }

  void lower(KernelContext& context) const override {
    const Shape& shape = context.output().shape;
    const std::int64_t columns = shape.back();
    ops::RowKernel kernel(context, "argsort", numel(shape) / columns, columns, ops::Columns::Whole);
    const Value x = kernel.input(0), y = kernel.output(), width = kernel.number(columns);
    const Value at = kernel.row() * width + kernel.column();
    Value values = kernel.builder().load(x + at, kernel.mask());
    if (values.dtype() == boolean) values = tile::cast(values, i32);
    kernel.builder().store(y + at, tile::argsort(values, 1, order_ == Order::Descending), kernel.mask());
    kernel.launch();
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const auto columns = static_cast<std::size_t>(shapes[0].back());
    const auto before = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    for (std::size_t begin = 0; begin < y.size(); begin += columns) {
      const double* line = x[0].data() + begin;
      std::vector<std::size_t> order(columns);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const double first = order_ == Order::Descending ? line[b] : line[a], second = order_ == Order::Descending ? line[a] : line[b];
        return before(first, second) || (!before(second, first) && a < b);
      });
      for (std::size_t i = 0; i < columns; ++i) y[begin + i] = static_cast<double>(order[i]);
    }
  }

 private:
  Order order_;
};

/// x with the axis last, and the positions that sort it.
struct Lines {
  Tensor x, order;
  int axis;
  /// The first `count` elements from `begin` in that order, with the axis back in its place.
  Sorted take(std::int64_t begin, std::int64_t count, const std::source_location& where) const {
    const int last = x.rank() - 1;
    const Tensor indices = ops::part(order, last, begin, count, where);
    return {movedim(ops::gather_along(x, last, indices, ops::IndexForm::Full, where), last, axis), movedim(indices, last, axis)};
  }
  std::int64_t length() const { return x.shape().back(); }
};

Lines lines_of(std::string_view op, const Arg& arg, int axis, Order order) {
  Tensor x = arg.tensor(op);
  if (x.rank() == 0) {
    ops::axes_of(op, axis, x.shape(), arg.loc);
    x = graph::reshape(x, {1}, arg.loc);
  }
  const int a = ops::axis_of(op, axis, x.shape(), arg.loc);
  const Tensor last = movedim(x, a, -1);
  return {last, make_node(Ref<const Op>(new ArgSortOp(order)), {last}, last.shape(), i64, arg.loc), a};
}

Sorted without_axis(const Sorted& sorted, int axis) { return {squeeze(sorted.values, axis), squeeze(sorted.indices, axis)}; }

}  // namespace

Sorted sort(Arg x, int axis, Order order) {
  const In frame("sort", x.loc);
  const Lines lines = lines_of("sort", x, axis, order);
  Sorted sorted = lines.take(0, lines.length(), x.loc);
  if (x.tensor("sort").rank() == 0) return without_axis(sorted, 0);
  return sorted;
}

Tensor argsort(Arg x, int axis, Order order) {
  const In frame("argsort", x.loc);
  const Lines lines = lines_of("argsort", x, axis, order);
  return graph::reshape(movedim(lines.order, -1, lines.axis), x.tensor("argsort").shape(), x.loc);
}

Sorted topk(Arg x, std::int64_t k, int axis, Order order) {
  const In frame("topk", x.loc);
  const Lines lines = lines_of("topk", x, axis, order);
  if (k < 0 || k > lines.length()) {
    ops::refuse("topk",
                "k = " + std::to_string(k) + " along axis " + std::to_string(axis) + " of shape " + to_string(x.tensor("topk").shape()),
                "at most the axis's size, " + std::to_string(lines.length()), x.loc);
  }
  return lines.take(0, k, x.loc);
}

Sorted kthvalue(Arg x, std::int64_t k, int axis) {
  const In frame("kthvalue", x.loc);
  const Lines lines = lines_of("kthvalue", x, axis, Order::Ascending);
  if (k < 1 || k > lines.length()) {
    ops::refuse("kthvalue",
                "k = " + std::to_string(k) + " along axis " + std::to_string(axis) + " of shape " + to_string(x.tensor("kthvalue").shape()),
                "from 1 to the axis's size", x.loc);
  }
  return without_axis(lines.take(k - 1, 1, x.loc), lines.axis);
}

Tensor median(Arg x, int axis, Keep keep) {
  const In frame("median", x.loc);
  const Lines lines = lines_of("median", x, axis, Order::Ascending);
  if (lines.length() == 0)
    ops::refuse("median", "shape " + to_string(x.tensor("median").shape()), "at least one element along the axis", x.loc);
  Tensor y = lines.take((lines.length() - 1) / 2, 1, x.loc).values;
  if (is_float(y.dtype()))
    y = where(any(isnan(x), lines.axis, Keep::Yes), graph::scalar(std::nan(""), y.dtype(), x.loc), y);  // NaN is sorted last
  return keep == Keep::Yes ? y : squeeze(y, lines.axis);
}

Tensor searchsorted(Arg sorted, Arg values, Side side) {
  const In frame("searchsorted", values.loc);
  const Tensor line = sorted.tensor("searchsorted"), v = values.tensor("searchsorted");
  if (line.rank() != 1) ops::refuse("searchsorted", "sorted values of shape " + to_string(line.shape()), "rank 1", values.loc);
  const Tensor x = expand_dims(v, -1);
  const Tensor before = side == Side::Left ? line < x || (isnan(x) && !isnan(line)) : line <= x || isnan(x);
  return sum(before, -1);
}

std::vector<OpCase> sort_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string op, bool gradient, const std::function<Tensor(const Tensor&)>& function) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const auto& x) { return function(x[0]); },
                     .inputs = {{{7, 33}, -100, 100}},
                     .dtypes = kEverything,
                     .more_shapes = {{{41}}, {{5, 9, 7}}},
                     .gradient = gradient,
                     .second = false});
  };
  add("sort", true, [](const Tensor& x) { return sort(x).values; });
  add("sort", true, [](const Tensor& x) { return sort(x, 0, Order::Descending).values; });
  add("argsort", false, [](const Tensor& x) { return argsort(x, 0); });
  add("argsort", false, [](const Tensor& x) { return argsort(x, -1, Order::Descending); });
  add("topk", true, [](const Tensor& x) { return topk(x, 3).values; });
  add("topk", false, [](const Tensor& x) { return topk(x, 2, 0, Order::Ascending).indices; });
  add("kthvalue", true, [](const Tensor& x) { return kthvalue(x, 2).values; });
  add("median", true, [](const Tensor& x) { return median(x); });
  // Long lines have neighbours too close for finite differences.
  cases.push_back({.op = "sort",
                   .function = [](const auto& x) { return tegula::sort(x[0]).values; },
                   .inputs = {{{3, 3000}}},
                   .dtypes = kEverything,
                   .more_shapes = {{{9000}}, {{3000, 2}}, {{0, 3}}},
                   .gradient = false});
  cases.push_back({.op = "searchsorted",
                   .function = [](const auto& x) { return searchsorted(tegula::sort(x[0]).values, x[1], Side::Right); },
                   .inputs = {{{33}}, {{7, 5}}},
                   .dtypes = kNumbers,
                   .gradient = false});
  return cases;
}

}  // namespace tegula
