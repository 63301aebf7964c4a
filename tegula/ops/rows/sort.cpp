#include "tegula/ops/rows/sort.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/sort_order.h"

namespace tegula {
namespace {

using tile::Value;

constexpr int kValues = 0, kIndices = 1;  // the results

/// The elements of the last axis in order, and their positions: `count` of them from the one at `begin` on. A tile holds whole lines.
class SortOp final : public KernelOp {
 public:
  SortOp(Order order, std::int64_t begin, std::int64_t count) : order_(order), begin_(begin), count_(count) {}
  std::string_view name() const override { return "sort"; }
  void attributes(Attributes& a) override {
    bool descending = order_ == Order::Descending;
    a("descending", descending);
    a("begin", begin_);
    a("count", count_);
    if (const Signature* node = a.made_for()) {
      order_ = descending ? Order::Descending : Order::Ascending;
      Shape shape = node->inputs[0].shape;
      a.require(shape.rank() > 0 && begin_ >= 0 && count_ >= 0 && begin_ <= shape.back() && count_ <= shape.back() - begin_, "begin");
      shape[shape.rank() - 1] = count_;
      a.require(node->results.size() == 2 && node->results[0] == Result{shape, node->inputs[0].dtype}, "count");
      a.require(node->results[1] == Result{shape, i64}, "count");
    }
  }
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>&) const override {
    const Shape& shape = y.input(0).shape();
    return {
        ops::scatter_sum(dys[kValues], shape.rank() - 1, graph::part(y, kIndices), ops::IndexForm::Full, shape.back(), y.origin().where)};
  }

  void lower(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape;
    const std::int64_t columns = shape.back();
    if (columns > context.longest_sort()) return sort_in_pieces(context);
    ops::RowKernel kernel(context, "sort", numel(shape) / columns, columns, ops::Columns::Whole);
    const Value x = kernel.input(0), line = kernel.row() * kernel.number(columns);
    Value values = plain(kernel.builder().load(x + (line + kernel.column()), kernel.mask()));
    if (!kernel.column_mask().is_empty()) values = outside_last(kernel.builder(), kernel.column_mask(), values);
    store(context, kernel, x + line, argsort_of(context, kernel.builder(), values, columns), kernel.column(), columns);
    kernel.launch();
  }

  void references(std::span<const std::span<const double>> x, std::span<const Shape> shapes,
                  std::span<const std::span<double>> ys) const override {
    const auto columns = static_cast<std::size_t>(shapes[0].back()), count = static_cast<std::size_t>(count_);
    const auto before = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    for (std::size_t row = 0; row * count < ys[kValues].size(); ++row) {
      const double* line = x[0].data() + row * columns;
      std::vector<std::size_t> order(columns);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const double first = order_ == Order::Descending ? line[b] : line[a], second = order_ == Order::Descending ? line[a] : line[b];
        return before(first, second) || (!before(second, first) && a < b);
      });
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = order[static_cast<std::size_t>(begin_) + i];
        ys[kValues][row * count + i] = line[from];
        ys[kIndices][row * count + i] = static_cast<double>(from);
      }
    }
  }

 private:
  /// True if a comes before b whatever their positions; NaN counts as the largest.
  Value before(Value a, Value b) const {
    if (order_ == Order::Descending) std::swap(a, b);
    return is_float(a.dtype()) ? a < b || (b != b && a == a) : a < b;
  }
  /// The order of a tile's lines, of few elements of long ones the first alone: on devices for which another count is not another kernel to
  /// wait for.
  Value argsort_of(const KernelContext& context, tile::Builder& b, Value values, std::int64_t columns) const {
    const std::int64_t last = begin_ + count_;
    const bool few = context.longest_sort() == std::numeric_limits<std::int64_t>::max() && columns > 64 && 4 * last <= columns && last > 0;
    return b.emit(tile::Word::ArgSort, {i64, false, values.shape()}, {values.id()}, 1, tile::Reduction::Sum,
                  tile::SortOrder{order_ == Order::Descending, few ? last : 0}.packed());
  }
  // Stores the requested results for the elements at `order` of the lines at `x`, whose indices among all are `places`.
  void store(const KernelContext& context, ops::RowKernel& kernel, Value x, Value order, Value places, std::int64_t columns) const {
    tile::Builder& b = kernel.builder();
    Value at = kernel.row() * kernel.number(count_) + places, mask = kernel.mask();
    if (count_ != columns) {
      const Value first = kernel.number(begin_);
      at = at - first;
      mask = ops::RowKernel::both(mask, places >= first && places < first + kernel.number(count_));
    }
    if (context.wanted(kValues)) b.store(kernel.output(kValues) + at, b.load(x + order, kernel.mask()), mask);
    if (context.wanted(kIndices)) b.store(kernel.output(kIndices) + at, order, mask);
  }
  /// Sorts elements outside last; among equal ones those inside, which come first, stay first.
  Value outside_last(tile::Builder& b, Value inside, Value values) const {
    const tile::Reduction least = order_ == Order::Descending ? tile::Reduction::Max : tile::Reduction::Min;
    Value last = tile::identity_of(b, least, values.dtype());
    if (is_float(values.dtype()) && order_ == Order::Ascending) last = b.constant(std::nan(""), values.dtype());
    return tile::select(inside, values, last);
  }
  static Value plain(const Value& x) { return x.dtype() == boolean ? tile::cast(x, i32) : x; }

  /// Pieces of a line, each in one tile, then ever longer runs merged in pairs: the index of an element is its own in its run plus its
  /// rank in the run beside it, of which the first run's elements come first among equals.
  void sort_in_pieces(KernelContext& context) const {
    const std::int64_t columns = context.input(0).shape.back(), lines = numel(context.input(0).shape) / columns;
    const std::int64_t piece = context.longest_sort();
    int merges = 0;
    for (std::int64_t run = piece; run < columns; run *= 2) ++merges;
    const std::int64_t bytes = lines * columns * static_cast<std::int64_t>(size_of(i64));
    const std::array<int, 2> buffers{context.scratch(bytes), merges > 1 ? context.scratch(bytes) : -1};
    const auto buffer_after = [&](int merge) { return buffers[static_cast<std::size_t>(merge % 2)]; };
    sort_pieces(context, lines, columns, piece, buffer_after(0));
    std::int64_t run = piece;
    for (int merge = 1; merge <= merges; ++merge, run *= 2) {
      ops::RowKernel kernel(context, "merge", lines, columns);
      const Value from = kernel.scratch(buffer_after(merge - 1), i64, false);
      const auto [x, order, places] = merge_runs(kernel, from, columns, run);
      if (merge == merges) {
        store(context, kernel, x, order, places, columns);
      } else {
        const Value to = kernel.scratch(buffer_after(merge), i64, true);
        kernel.builder().store(to + (kernel.row() * kernel.number(columns) + places), order, kernel.mask());
      }
      kernel.launch();
    }
  }

  void sort_pieces(KernelContext& context, std::int64_t lines, std::int64_t columns, std::int64_t piece, int buffer) const {
    const std::int64_t pieces = (columns + piece - 1) / piece;
    ops::RowKernel kernel(context, "sort", lines * pieces, piece, ops::Columns::Whole);
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), order = kernel.scratch(buffer, i64, true), width = kernel.number(columns);
    const Value first = kernel.row() % kernel.number(pieces) * kernel.number(piece);
    const Value begin = kernel.row() / kernel.number(pieces) * width + first;
    const Value inside = first + kernel.column() < width;
    const Value mask = ops::RowKernel::both(kernel.mask(), inside);
    Value values = plain(b.load(x + (begin + kernel.column()), mask));
    values = outside_last(b, inside, values);
    b.store(order + (begin + kernel.column()), first + tile::cast(tile::argsort(values, 1, order_ == Order::Descending), i64), mask);
    kernel.launch();
  }

  /// The lines of x, and at which indices which of their elements come.
  struct Merged {
    Value x, order, places;
  };
  Merged merge_runs(ops::RowKernel& kernel, Value from, std::int64_t columns, std::int64_t run) const {
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), width = kernel.number(columns), runs = kernel.number(run);
    const Value line = kernel.row() * width, place = kernel.column();
    const auto at_most = [](const Value& a, const Value& limit) { return tile::select(a < limit, a, limit); };
    const Value begin = place / (runs * 2.0) * (runs * 2.0), middle = at_most(begin + runs, width),
                end = at_most(begin + runs * 2.0, width);
    const Value is_first = place < middle;
    const Value own_begin = tile::select(is_first, begin, middle), other_begin = tile::select(is_first, middle, begin);
    const Value index = b.load(from + (line + place), kernel.mask());
    const Value value = plain(b.load(x + (line + index), kernel.mask()));
    int steps = 1;
    for (std::int64_t size = run; size > 0; size /= 2) ++steps;
    const Shape tile_shape = value.shape();
    const auto bounds = b.for_(b.constant(std::int64_t{0}, i64), b.constant(std::int64_t{steps}, i64), b.constant(std::int64_t{1}, i64),
                               {tile::broadcast(other_begin, tile_shape), tile::broadcast(tile::select(is_first, end, middle), tile_shape)},
                               [&](Value, std::span<const Value> carried) -> std::vector<Value> {
                                 const Value low = carried[0], high = carried[1], open = low < high;
                                 const Value half = (low + high) / 2.0;
                                 const Value mask = ops::RowKernel::both(kernel.mask(), open);
                                 const Value other = plain(b.load(x + (line + b.load(from + (line + half), mask)), mask));
                                 const Value goes_on = tile::select(is_first, before(other, value), !before(value, other));
                                 return {tile::select(open && goes_on, half + 1.0, low), tile::select(open && !goes_on, half, high)};
                               });
    return {x + line, index, begin + (place - own_begin) + (bounds[0] - other_begin)};
  }

  Order order_;
  std::int64_t begin_, count_;
};

/// x with the axis last.
struct Lines {
  Tensor x;
  int axis;
  Order order;
  /// The first `count` elements from `begin` in that order, with the axis back in its place.
  Sorted take(std::int64_t begin, std::int64_t count, const Line& where) const {
    Shape shape = x.shape();
    shape[x.rank() - 1] = count;
    const Result results[] = {{shape, x.dtype()}, {shape, i64}};
    const auto parts = make_nodes(make<const SortOp>(order, begin, count), std::span(&x, 1), results, where);
    return {movedim(parts[kValues], -1, axis), movedim(parts[kIndices], -1, axis)};
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
  return {last, a, order};
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
  return graph::reshape(lines.take(0, lines.length(), x.loc).indices, x.tensor("argsort").shape(), x.loc);
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

std::vector<OpCase> sort_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string op, bool gradient, const std::function<Tensor(const Tensor&)>& function) {
    cases.push_back({.op = std::move(op),
                     .function = [=](const auto& x) { return function(x[0]); },
                     .inputs = {{{7, 33}, -100, 100}},
                     .dtypes = kComputed,
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
                   .dtypes = kComputed,
                   .more_shapes = {{{9000}}, {{2, 5000}}, {{3000, 2}}, {{0, 3}}},
                   .gradient = false});
  return cases;
}

void add_sort_ops(OpTable& table) { table.add_several<SortOp>("sort", 1, Order::Ascending, 0, 0); }

}  // namespace tegula
