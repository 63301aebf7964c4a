// Slices whose index is a number in memory: dynamic_slice reads one, update_slice, its adjoint, overwrites one.

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/kernel_context.h"

namespace tegula {
namespace {

using ops::Extents;
using ops::RowKernel;
using tile::Value;

/// The places of one tile's elements in both tensors. An index that failed its check names nothing; not every device waits for checks.
struct Places {
  Value slice, whole, mask;
  /// `row_of_slice`: from one of its rows to the next.
  Places(RowKernel& kernel, const Extents& lines, int at, std::int64_t row_of_slice) {
    tile::Builder& b = kernel.builder();
    const Value first = kernel.load(at, kernel.input_by_place(at), b.constant(std::int64_t{0}, i64), {}),
                inner = kernel.number(lines.inner);
    slice = kernel.row() * kernel.number(row_of_slice) + kernel.column();
    whole = kernel.row() * kernel.number(lines.length * lines.inner) + first * inner + kernel.column();
    mask = RowKernel::both(kernel.mask(), tile::broadcast(first >= 0 && first <= kernel.number(lines.length - lines.count), slice.shape()));
  }
};

/// f(index in the slice, index in the whole) for all elements of the slice; for none where it does not lie within.
template <class F>
void for_each_element(const Extents& lines, double at, F&& f) {
  if (!(at >= 0 && at <= static_cast<double>(lines.length - lines.count))) return;
  const std::int64_t width = lines.count * lines.inner, first = static_cast<std::int64_t>(at) * lines.inner;
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < width; ++i)
      f(static_cast<std::size_t>(o * width + i), static_cast<std::size_t>(o * lines.length * lines.inner + first + i));
  }
}

Tensor slice_at(const Tensor& x, const Tensor& at, std::int64_t size, int axis, const Line& where);
Tensor updated(const Tensor& x, const Tensor& source, const Tensor& at, int axis, const Line& where);

/// True if `slice` has the shape of `whole` but for an axis, along which it fits, and `at` is an index.
bool is_slice_of(const Result& slice, const Result& whole, const Result& at, int axis) {
  Shape like = whole.shape;
  if (axis < 0 || axis >= like.rank() || slice.shape.rank() != like.rank() || slice.shape[axis] > like[axis]) return false;
  like[axis] = slice.shape[axis];
  return slice.shape == like && slice.dtype == whole.dtype && at == Result{{}, i64};
}

/// Inputs (x, at); at has been checked.
class DynamicSliceOp final : public KernelOp {
 public:
  explicit DynamicSliceOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "dynamic_slice"; }
  void attributes(Attributes& a) override {
    a("axis", axis_);
    if (const Signature* node = a.made_for()) a.require(is_slice_of(node->results[0], node->inputs[0], node->inputs[1], axis_), "axis");
  }
  Numerics numerics() const override { return Numerics::Either; }
  bool takes_float8() const override { return true; }
  int input_read_by_index() const override { return 1; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const Tensor zeros = graph::full(y.input(0).shape(), 0, dy.dtype(), y.origin().where);
    return {updated(zeros, dy, Tensor(y.inputs()[1]), axis_, y.origin().where), Tensor()};
  }
  void lower(KernelContext& context) const override {
    const Extents lines(context.input(0).shape, context.output().shape, axis_);
    RowKernel kernel(context, "dynamic_slice", lines.outer, lines.count * lines.inner);
    const Value x = kernel.input(0), y = kernel.output();
    const Places places(kernel, lines, 1, lines.count * lines.inner);
    kernel.builder().store(y + places.slice, kernel.builder().load(x + places.whole, places.mask), kernel.mask());
    kernel.launch();
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    for_each_element(Extents(shapes[0], shape, axis_), x[1][0], [&](std::size_t slice, std::size_t whole) { y[slice] = x[0][whole]; });
  }

 private:
  int axis_;
};

/// Inputs (x, source, at); at has been checked.
class UpdateSliceOp final : public KernelOp {
 public:
  explicit UpdateSliceOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "update_slice"; }
  bool takes_float8() const override { return true; }
  void attributes(Attributes& a) override {
    a("axis", axis_);
    if (const Signature* node = a.made_for())
      a.require(node->inputs[0] == node->results[0] && is_slice_of(node->inputs[1], node->inputs[0], node->inputs[2], axis_), "axis");
  }
  int overwrites(int) const override { return 0; }
  int inserted_slice_axis() const override { return axis_; }
  int input_read_by_index() const override { return 2; }
  /// The source may be rows within wider ones, as a part of a projection is.
  bool accepts(int index, const Layout& layout) const override {
    if (index != 1) return layout.is_dense();
    const auto rows = rows_of(layout);
    return rows && (rows->shape[1] <= 1 || rows->strides[1] == 1);
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    const auto& where = y.origin().where;
    const Tensor at(y.inputs()[2]);
    const Shape& slice = y.input(1).shape();
    std::vector<Tensor> out(3);
    if (wanted[0]) out[0] = updated(dy, graph::full(slice, 0, dy.dtype(), where), at, axis_, where);
    if (wanted[1]) out[1] = slice_at(dy, at, slice[axis_], axis_, where);
    return out;
  }
  void lower(KernelContext& context) const override {
    const Extents lines(context.output().shape, context.input(1).shape, axis_);
    RowKernel kernel(context, "update_slice", lines.outer, lines.count * lines.inner);
    const Value source = kernel.input(1), y = kernel.output();
    const Places places(kernel, lines, 2, rows_of({context.input(1).shape, context.input(1).strides})->strides[0]);
    kernel.builder().store(y + places.whole, kernel.builder().load(source + places.slice, kernel.mask()), places.mask);
    kernel.launch();
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    std::copy(x[0].begin(), x[0].end(), y.begin());
    for_each_element(Extents(shape, shapes[1], axis_), x[2][0], [&](std::size_t slice, std::size_t whole) { y[whole] = x[1][slice]; });
  }

 private:
  /// The source as (outer, the elements for one line of x).
  std::optional<Layout> rows_of(const Layout& source) const {
    const std::int64_t outer = numel(source.shape, 0, axis_);
    return tegula::reshape(source, {outer, numel(source.shape, axis_, source.shape.rank())});
  }
  int axis_;
};

Tensor slice_at(const Tensor& x, const Tensor& at, std::int64_t size, int axis, const Line& where) {
  Shape shape = x.shape();
  shape[axis] = size;
  return make_node(Ref<const Op>(new DynamicSliceOp(axis)), {x, at}, shape, x.dtype(), where);
}

Tensor updated(const Tensor& x, const Tensor& source, const Tensor& at, int axis, const Line& where) {
  return make_node(Ref<const Op>(new UpdateSliceOp(axis)), {x, source, at}, x.shape(), x.dtype(), where);
}

/// The checked begin of a slice of `count`: for a number checked now, for a tensor when it runs.
Tensor place_of(std::string_view op, const Arg& at, int axis, std::int64_t length, std::int64_t count, const Line& where) {
  const Tensor t = at.tensor(op, i64);
  if (!is_integer(t.dtype()) || t.numel() != 1) {
    ops::refuse(op, "a place of shape " + to_string(t.shape()) + " and dtype " + std::string(name(t.dtype())), "one integer", where,
                "a slice along several axes is one along each");
  }
  if (t.node()->op().role() != Role::Scalar) return ops::checked_place(op, graph::reshape(t, {}, where), axis, length, count, where);
  const std::int64_t given = static_cast<const ScalarOp&>(t.node()->op()).value().integer(), place = given < 0 ? given + length : given;
  if (place < 0 || place > length - count) {
    const ops::Outside outside = ops::outside(given, count, length, axis);
    ops::refuse(op, outside.got, outside.expected, where);
  }
  return graph::scalar(place, i64, where);
}

}  // namespace

Tensor ops::update_at(const Tensor& x, const Tensor& source, const Tensor& place, int axis, const Line& where) {
  return updated(x, source, place, axis, where);
}

Tensor dynamic_slice(Arg x, Arg at, std::int64_t size, int axis) {
  const In frame("dynamic_slice", x.loc);
  const Tensor t = x.tensor("dynamic_slice");
  const int a = ops::axis_of("dynamic_slice", axis, t.shape(), x.loc);
  if (size < 0 || size > t.shape()[a]) {
    ops::refuse("dynamic_slice",
                "a slice of " + std::to_string(size) + " along axis " + std::to_string(a) + " of shape " + to_string(t.shape()),
                "a size from 0 to " + std::to_string(t.shape()[a]), x.loc);
  }
  return slice_at(t, place_of("dynamic_slice", at, a, t.shape()[a], size, x.loc), size, a, x.loc);
}

Tensor update_slice(Arg x, Arg source, Arg at, int axis) {
  const In frame("update_slice", x.loc);
  const Tensor t = x.tensor("update_slice"), from = source.tensor("update_slice", t.dtype());
  const int a = ops::axis_of("update_slice", axis, t.shape(), x.loc);
  bool fits = from.rank() == t.rank();
  for (int i = 0; fits && i < t.rank(); ++i) fits = i == a ? from.shape()[i] <= t.shape()[i] : from.shape()[i] == t.shape()[i];
  if (!fits || from.dtype() != t.dtype()) {
    ops::refuse("update_slice", "a source of shape " + to_string(from.shape()) + " and dtype " + std::string(name(from.dtype())),
                "dtype " + std::string(name(t.dtype())) + " and the shape " + to_string(t.shape()) + ", at most as long along axis " +
                    std::to_string(a),
                x.loc, "cast() and reshape() the source");
  }
  return updated(t, from, place_of("update_slice", at, a, t.shape()[a], from.shape()[a], x.loc), a, x.loc);
}

std::vector<OpCase> dynamic_slice_cases() {
  std::vector<OpCase> cases;
  using Inputs = std::vector<Tensor>;
  const auto place = [](double first, double last) { return CaseInput{.shape = {}, .low = first, .high = last, .dtype = i64}; };
  cases.push_back({.op = "dynamic_slice",
                   .function = [](const Inputs& x) { return dynamic_slice(x[0], x[1], 3, 1); },
                   .inputs = {{{5, 11, 6}}, place(-11, -3)},
                   .dtypes = kEverything,
                   .more_shapes = {{{2, 11}, {}}, {{0, 11}, {}}, {{1, 11, 1500}, {}}, {{700, 11, 1}, {}}}});
  cases.push_back({.op = "dynamic_slice",
                   .function = [](const Inputs& x) { return dynamic_slice(x[0], cast(x[1], i32), x[0].shape()[0], 0); },
                   .inputs = {{{11, 6}}, place(0, 0)},
                   .dtypes = {f32, i64}});
  cases.push_back({.op = "dynamic_slice",  // at a number
                   .function = [](const Inputs& x) { return dynamic_slice(x[0], -4, 2, -1); },
                   .inputs = {{{7, 33}}},
                   .dtypes = kNumbers});
  cases.push_back(
      {.op = "update_slice",
       .function = [](const Inputs& x) { return update_slice(x[0], x[1], x[2], 1); },
       .inputs = {{{5, 11, 6}}, {{5, 3, 6}}, place(0, 8)},
       .dtypes = kEverything,
       .more_shapes = {{{2, 11}, {2, 3}, {}}, {{2, 11}, {2, 0}, {}}, {{1, 11, 1500}, {1, 2, 1500}, {}}, {{700, 11}, {700, 1}, {}}}});
  cases.push_back({.op = "update_slice",  // gradient by the updated tensor
                   .function =
                       [](const Inputs& x) {
                         const Tensor y = update_slice(x[0] * 2, x[1], x[2]);
                         return update_slice(y, x[1] + 1, x[2] + 1) + 1;
                       },
                   .inputs = {{{11, 6}}, {{2, 6}}, place(0, 8)},
                   .dtypes = kNumbers});
  return cases;
}

void add_dynamic_slice_ops(OpTable& table) {
  table.add_class<DynamicSliceOp>("dynamic_slice", 2, 0);
  table.add_class<UpdateSliceOp>("update_slice", 3, 0);
}

}  // namespace tegula
