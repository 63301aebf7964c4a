// The kernels of indexing: gather_along reads the indexed elements, its adjoint scatter_sum adds to them, scatter_last overwrites them. All see
// their tensors as (outer, axis, inner).

#include <algorithm>
#include <typeinfo>

#include "tegula/core/error.h"
#include "tegula/graph/lines.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/lookups.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

using ops::Extents;
using ops::IndexForm;
using ops::RowKernel;
using tile::Value;

/// The offsets of the indexed elements, for one tile of a kernel over (outer * count, inner), or (outer, count) if inner is 1:
/// lines of inner elements move as a whole, and there are no tiles of one element.
struct Places {
  Value named;  // offset among the named elements
  Value full;  // offset in the tensor that the index points into
  Value mask;  // inside the tile and the tensor
};

std::int64_t tile_domain_rows(const Extents& e) { return e.inner == 1 ? e.outer : e.outer * e.count; }
std::int64_t tile_domain_columns(const Extents& e) { return e.inner == 1 ? e.count : e.inner; }

/// `index` is input 1.
Places find(RowKernel& kernel, const Extents& e, Value index, IndexForm form) {
  tile::Builder& b = kernel.builder();
  const Value row = kernel.row(), column = kernel.column();
  const Value length = kernel.number(e.length), count = kernel.number(e.count), inner = kernel.number(e.inner);
  Value outer, at, mask, named;  // at: what to read the index with
  if (e.inner == 1) {
    outer = row;
    named = row * count + column;
    at = form == IndexForm::Full ? named : column;
    mask = form == IndexForm::Full ? kernel.mask() : kernel.column_mask();
  } else {
    outer = e.outer == 1 ? b.constant(std::int64_t{0}, i64) : row / count;
    named = row * inner + column;
    at = form == IndexForm::Full ? named : e.outer == 1 ? row : row % count;
    mask = form == IndexForm::Full ? kernel.mask() : kernel.row_mask();
  }
  const Value given = tile::cast(kernel.load(1, index, at, mask), i64);
  const Value wrapped = tile::select(given < 0, given + length, given);
  const Value valid = wrapped >= 0 && wrapped < length;
  b.check(mask.is_empty() ? valid : valid || !mask, given, 0);
  const Value line = outer * length + wrapped;
  return {named, e.inner == 1 ? line : line * inner + column, RowKernel::both(kernel.mask(), valid)};
}

std::string out_of_range(std::int64_t index, std::int64_t length, int axis) {
  if (length == 0) return "index " + std::to_string(index) + " for axis " + std::to_string(axis) + ", which is empty";
  return "index " + std::to_string(index) + " for axis " + std::to_string(axis) + " of size " + std::to_string(length) +
         ", where it must lie in [-" + std::to_string(length) + ", " + std::to_string(length - 1) + "]";
}

/// Calls f(index among the named, index in the tensor), for the references.
template <class F>
void for_each_named(const Extents& e, IndexForm form, std::span<const double> index, F&& f) {
  for (std::int64_t i = 0; i < e.outer * e.count * e.inner; ++i) {
    const std::int64_t outer = i / (e.count * e.inner), k = i / e.inner % e.count;
    auto at = static_cast<std::int64_t>(index[static_cast<std::size_t>(form == IndexForm::Full ? i : k)]);
    if (at < 0) at += e.length;
    f(static_cast<std::size_t>(i), static_cast<std::size_t>((outer * e.length + at) * e.inner + i % e.inner));
  }
}

class IndexedOp : public KernelOp {
 public:
  IndexedOp(int axis, IndexForm form, std::int64_t length) : axis_(axis), form_(form), length_(length) {}
  void attributes(Attributes& a) override {
    a("axis", axis_);
    a.choice("index", form_, {"full", "shared"});
    if (const Signature* node = a.made_for()) {
      const Shape &x = node->inputs[0].shape, &index = node->inputs[1].shape;
      a.require(axis_ >= 0 && axis_ < x.rank() && index.rank() == (form_ == IndexForm::Full ? x.rank() : 1), "axis");
      length_ = x[axis_];
      Shape y = x;
      y[axis_] = index[form_ == IndexForm::Full ? axis_ : 0];
      a.require(node->results[0] == Result{y, node->inputs[0].dtype} && (form_ == IndexForm::Shared || index == y), "index");
      a.require(is_integer(node->inputs[1].dtype), "index");
    }
  }
  bool has_check() const override { return true; }
  std::string check_message(std::int64_t, std::int64_t value) const override { return out_of_range(value, length_, axis_); }

 protected:
  int axis_;
  IndexForm form_;
  std::int64_t length_;
};

class GatherOp final : public IndexedOp {
 public:
  using IndexedOp::IndexedOp;
  std::string_view name() const override { return "gather"; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {ops::scatter_sum(dy, axis_, Tensor(y.inputs()[1]), form_, length_, y.origin().where), Tensor()};
  }
  Numerics numerics() const override { return Numerics::Either; }
  bool takes_float8() const override { return true; }
  int input_read_by_index() const override { return 1; }
  int line_axis() const override { return form_ == IndexForm::Shared ? axis_ : -1; }
  void lower(KernelContext& context) const override {
    const Extents e(context.input(0).shape, context.output().shape, axis_);
    RowKernel kernel(context, "gather", tile_domain_rows(e), tile_domain_columns(e));
    const Value x = kernel.input(0), index = kernel.input_by_place(1), y = kernel.output();
    const Places places = find(kernel, e, index, form_);
    kernel.builder().store(y + places.named, kernel.builder().load(x + places.full, places.mask), kernel.mask());
    kernel.launch();
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    for_each_named(Extents(shapes[0], shape, axis_), form_, x[1], [&](std::size_t named, std::size_t full) { y[named] = x[0][full]; });
  }
};

/// The index counted from 0, checked: of `count` elements from there on all lie within.
class PlaceOp final : public ElementwiseOp {
 public:
  PlaceOp(std::string_view op, int axis, std::int64_t length, std::int64_t count) : op_(op), axis_(axis), length_(length), count_(count) {}
  std::string_view name() const override { return "place"; }
  std::string_view check_name() const override { return op_; }
  bool has_check() const override { return true; }
  void attributes(Attributes& a) override {
    a("of", op_);
    a("axis", axis_);
    a("length", length_);
    a("count", count_);
  }
  Value emit(tile::Builder& builder, std::span<const Value> x, DType) const override {
    // A u64 index that i64 cannot hold is out of range for every length.
    const Value held =
        x[0].dtype() == u64 ? tile::binary(tile::Word::Min, x[0], builder.constant(std::numeric_limits<std::int64_t>::max(), u64)) : x[0];
    const Value given = tile::cast(held, i64), length = builder.constant(length_, i64);
    const Value place = tile::select(given < 0, given + length, given);
    builder.check(place >= 0 && place < (count_ == 1 ? length : builder.constant(length_ - count_ + 1, i64)), given, 0);
    return place;
  }
  double reference(std::span<const double> x) const override { return x[0] < 0 ? x[0] + static_cast<double>(length_) : x[0]; }
  std::string check_message(std::int64_t, std::int64_t value) const override {
    if (count_ == 1) return out_of_range(value, length_, axis_);
    const ops::Outside outside = ops::outside(value, count_, length_, axis_);
    return outside.got + ", expected " + outside.expected;
  }

 private:
  std::string op_;
  int axis_;
  std::int64_t length_, count_;
};

/// Inputs (rows, source): the source as (outer, count, width), the same rows for each outer.
class ScatterSumOp final : public LibraryOp {
 public:
  using Form = runtime::ScatterSum;
  explicit ScatterSumOp(const Form& form) : form_(form) {}
  std::string_view name() const override { return "scatter_add"; }
  Numerics numerics() const override { return Numerics::Full; }
  void attributes(Attributes& a) override {
    a("outer", form_.outer);
    a("count", form_.count);
    a("length", form_.length);
    a("width", form_.width);
    if (const Signature* node = a.made_for()) {
      for (const std::int64_t size : {form_.outer, form_.count, form_.length, form_.width}) a.require(size >= 0, "count");
      a.require(node->inputs[0] == Result{{form_.count}, i64}, "count");
      const Shape lines{form_.outer, form_.count, form_.width}, result{form_.outer, form_.length, form_.width};
      a.require(countable(lines) && countable(result), "outer");
      a.require(numel(node->inputs[1].shape) == numel(lines) && numel(node->results[0].shape) == numel(result), "outer");
    }
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto& where = y.origin().where;
    const Tensor lines = graph::reshape(dy, {form_.outer, form_.length, form_.width}, where);
    return {Tensor(),
            graph::reshape(ops::gather_along(lines, 1, Tensor(y.inputs()[0]), IndexForm::Shared, where), y.input(1).shape(), where)};
  }
  runtime::CallDescription describe(const Setting& setting) const override {
    Form form = form_;
    form.dtype = setting.dtype;
    return form;
  }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  const Form& form() const { return form_; }
  double operations(std::span<const Shape> inputs, const Shape&) const override { return static_cast<double>(numel(inputs[1])); }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape>, std::span<double> y, const Shape&) const override {
    std::fill(y.begin(), y.end(), 0.0);
    for (std::int64_t i = 0; i < form_.outer * form_.count * form_.width; ++i) {
      const std::int64_t line = i / form_.width, outer = line / form_.count;
      const auto row = static_cast<std::int64_t>(x[0][static_cast<std::size_t>(line % form_.count)]);
      y[static_cast<std::size_t>((outer * form_.length + row) * form_.width + i % form_.width)] += x[1][static_cast<std::size_t>(i)];
    }
  }

 private:
  Form form_;  // the dtype is the node's
};

/// Inputs (x, index, source), along the last axis: an instance owns its rows and walks along them, so that the last of equal indices stays.
/// The index has been checked; devices that do not wait for checks write nothing where it is wrong.
class ScatterOp final : public KernelOp {
 public:
  explicit ScatterOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "scatter"; }
  void attributes(Attributes& a) override {
    a("axis", axis_);
    if (const Signature* node = a.made_for()) {
      const Shape &x = node->inputs[0].shape, &index = node->inputs[1].shape;
      a.require(axis_ >= 0 && axis_ + 1 == x.rank() && index.rank() == x.rank(), "axis");
      Shape y = x;
      y[axis_] = index[axis_];
      a.require(index == y && node->inputs[2] == Result{y, node->inputs[0].dtype} && node->inputs[1].dtype == i64, "axis");
    }
  }
  bool takes_float8() const override { return true; }
  int overwrites(int) const override { return 0; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    const auto& where = y.origin().where;
    const Tensor index(y.inputs()[1]);
    std::vector<Tensor> out(3);
    if (wanted[0]) {
      const Tensor zeros = graph::full(index.shape(), 0, dy.dtype(), where);
      out[0] = make_node(y.op_ref(), {dy, index, zeros}, dy.shape(), dy.dtype(), where);
    }
    if (wanted[2]) out[2] = ops::gather_along(dy, axis_, index, IndexForm::Full, where);
    return out;
  }
  void lower(KernelContext& context) const override {
    const Extents e(context.output().shape, context.input(1).shape, axis_);
    RowKernel kernel(context, "scatter", e.outer, e.count, ops::Columns::Looped);
    const Value index = kernel.input(1), source = kernel.input(2), y = kernel.output();
    const Value count = kernel.number(e.count), length = kernel.number(e.length);
    kernel.for_each_tile({}, [&](std::span<const Value>) -> std::vector<Value> {
      const Value named = kernel.row() * count + kernel.column();
      const Value place = kernel.builder().load(index + named, kernel.mask());
      const Value mask = RowKernel::both(kernel.mask(), place >= 0 && place < length);
      kernel.builder().store(y + (kernel.row() * length + place), kernel.builder().load(source + named, kernel.mask()), mask);
      return {};
    });
    kernel.launch();
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    std::copy(x[0].begin(), x[0].end(), y.begin());
    for_each_named(Extents(shape, shapes[1], axis_), IndexForm::Full, x[1],
                   [&](std::size_t named, std::size_t full) { y[full] = x[2][named]; });
  }

 private:
  int axis_;
};

}  // namespace

const LineOp* LineOp::of(const Op& op) { return typeid(op) == typeid(LineOp) ? static_cast<const LineOp*>(&op) : nullptr; }

std::string LineOp::check_message(std::int64_t, std::int64_t value) const { return out_of_range(value, length_, axis_); }

void LineOp::attributes(Attributes& a) {
  a("axis", axis_);
  a("length", length_);
}

Value LineOp::place(tile::Builder& builder, const Value& index) const {
  const Value length = builder.constant(length_, i64), zero = builder.constant(std::int64_t{0}, i64);
  const Value given = tile::cast(index, i64), from_start = tile::select(given < 0, given + length, given);
  builder.check(from_start >= 0 && from_start < length, given, 0);
  return tile::binary(tile::Word::Min, tile::binary(tile::Word::Max, from_start, zero), length - 1);
}

Value LineOp::emit(tile::Builder& builder, std::span<const Value> x, DType) const {
  place(builder, x[1]);
  return x[0];
}

TermSumOp::TermSumOp(runtime::GroupedSum form) : form_(std::move(form)) {
  for (const runtime::GroupedSum::Lines& one : form_.reads) lengths_.push_back(one.rows);
}

void TermSumOp::attributes(Attributes& a) {
  a("lengths", lengths_);
  std::string terms = runtime::to_string(form_.terms);
  a("terms", terms);
}

std::string TermSumOp::check_message(std::int64_t id, std::int64_t value) const {
  const auto matrix = static_cast<std::size_t>(id);
  return out_of_range(value, matrix < lengths_.size() ? lengths_[matrix] : 0, 0);
}

double TermSumOp::operations(std::span<const Shape>, const Shape&) const { return runtime::work_of(form_).operations; }

void TermSumOp::reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const {
  throw Error({.op = "term_sum", .got = "a graph with folded terms", .expected = "the graph before this pass"});
}

Tensor ops::gather_along(const Tensor& x, int axis, const Tensor& index, IndexForm form, const Line& where) {
  Shape shape = x.shape();
  shape[axis] = index.shape()[form == IndexForm::Full ? axis : 0];
  return make_node(Ref<const Op>(new GatherOp(axis, form, x.shape()[axis])), {x, index}, shape, x.dtype(), where);
}

ops::Outside ops::outside(std::int64_t first, std::int64_t count, std::int64_t length, int axis) {
  return {std::to_string(count) + " elements from " + std::to_string(first) + " on along axis " + std::to_string(axis) + " of size " +
              std::to_string(length),
          "them to begin in [-" + std::to_string(length) + ", " + std::to_string(length - count) + "]"};
}

Tensor ops::checked_place(std::string_view op, const Tensor& index, int axis, std::int64_t length, std::int64_t count, const Line& where) {
  return make_node(Ref<const Op>(new PlaceOp(op, axis, length, count)), {index}, index.shape(), i64, where);
}

Tensor ops::scatter_sum(const Tensor& source, int axis, const Tensor& index, IndexForm form, std::int64_t length, const Line& where) {
  Shape shape = source.shape();
  shape[axis] = length;
  const Extents e(shape, source.shape(), axis);
  Tensor rows = checked_place("scatter_add", index, axis, length, 1, where);
  runtime::ScatterSum sums{.outer = e.outer, .count = e.count, .length = length, .width = e.inner};
  if (form == IndexForm::Full) {  // each element is a line of its own
    sums = {.outer = 1, .count = e.outer * e.count * e.inner, .length = e.outer * length * e.inner, .width = 1};
    Layout first = Layout::dense(shape);  // offsets of the elements if all indices were 0
    first.shape[axis] = e.count, first.strides[axis] = 0;
    rows = graph::reshape(rows * e.inner + graph::index(first, where), {sums.count}, where);
  }
  return make_node(Ref<const Op>(new ScatterSumOp(sums)), {rows, source}, shape, source.dtype(), where);
}

std::optional<ops::AddedRows> ops::added_rows(const Tensor& sums) {
  const Node& node = *sums.node();
  const auto* const op = dynamic_cast<const ScatterSumOp*>(&node.op());
  if (!op || node.inputs().empty() || node.shape().rank() == 0) return {};  // a history that was given up has none
  const auto& form = op->form();
  const bool rows = form.outer == 1 && node.shape()[0] == form.length && node.input(1).shape()[0] == form.count &&
                    form.width == numel(node.shape(), 1, node.shape().rank());
  if (!rows) return {};
  return AddedRows{Tensor(node.inputs()[0]), Tensor(node.inputs()[1])};
}

Tensor ops::sum_of(const AddedRows& rows, std::int64_t length, const Line& where) {
  Shape shape = rows.values.shape();
  shape[0] = length;
  const runtime::ScatterSum sums{.count = rows.values.shape()[0], .length = length, .width = numel(shape, 1, shape.rank())};
  return make_node(Ref<const Op>(new ScatterSumOp(sums)), {rows.index, rows.values}, shape, rows.values.dtype(), where);
}

Tensor ops::scatter_last(const Tensor& x, const Tensor& index, const Tensor& source, const Line& where) {
  const int axis = x.rank() - 1;
  const Tensor place = checked_place("scatter", index, axis, x.shape()[axis], 1, where);
  return make_node(Ref<const Op>(new ScatterOp(axis)), {x, place, source}, x.shape(), x.dtype(), where);
}

void add_gather_ops(OpTable& table) {
  table.add_class<GatherOp>("gather", 2, 0, IndexForm::Full, 0);
  table.add_class<LineOp>("line", 2);
  table.add_class<TermSumOp>("term_sum", OpTable::kAnyInputs);
  table.add_class<PlaceOp>("place", 1, std::string(), 0, 0, 0);
  table.add_class<ScatterSumOp>("scatter_add", 2, ScatterSumOp::Form());
  table.add_class<ScatterOp>("scatter", 3, 0);
}

}  // namespace tegula
