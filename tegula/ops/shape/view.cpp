// Views of some of the elements: slices, diagonals, windows. A view's gradient puts the elements back where they came from.

#include <algorithm>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

class SliceOp final : public ViewOp {
 public:
  SliceOp(const Dims& begin, const Dims& step, const Shape& count) : begin_(begin), step_(step), count_(count) {}
  std::string_view name() const override { return "slice"; }
  void attributes(Attributes& a) override {
    a("begin", begin_);
    a("step", step_);
    if (const Signature* node = a.made_for()) {
      count_ = node->results[0].shape;
      a.require(begin_.rank() == count_.rank() && step_.rank() == count_.rank() && node->inputs[0].shape.rank() == count_.rank(), "begin");
    }
  }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout out{count_, input.strides, input.offset};
    for (int i = 0; i < count_.rank(); ++i) {
      out.strides[i] *= step_[i];
      if (numel(count_) > 0) out.offset += begin_[i] * input.strides[i];
    }
    return out;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    // A slice that runs backwards is turned round first.
    Dims begin = begin_, step = step_, first = Dims::filled(count_.rank(), 0), direction = Dims::filled(count_.rank(), 1);
    for (int i = 0; i < count_.rank(); ++i) {
      if (step_[i] > 0) continue;
      step[i] = -step_[i];
      begin[i] = begin_[i] + std::max<std::int64_t>(count_[i] - 1, 0) * step_[i];
      first[i] = std::max<std::int64_t>(count_[i] - 1, 0);
      direction[i] = -1;
    }
    const auto& where = y.origin().where;
    return {ops::embed(ops::strided(dy, first, direction, count_, where), begin, step, y.input(0).shape(), 0, where)};
  }

 private:
  Dims begin_, step_;
  Shape count_;
};

/// The last two axes to one: element k is at (row + k, column + k).
class DiagonalOp final : public ViewOp {
 public:
  DiagonalOp(std::int64_t row, std::int64_t column, const Shape& shape) : row_(row), column_(column), shape_(shape) {}
  std::string_view name() const override { return "diagonal"; }
  void attributes(Attributes& a) override {
    a("row", row_);
    a("column", column_);
    if (const Signature* node = a.made_for()) {
      shape_ = node->results[0].shape;
      a.require(row_ >= 0 && column_ >= 0 && shape_.rank() >= 1 && node->inputs[0].shape.rank() == shape_.rank() + 1, "row");
    }
  }
  std::optional<Layout> apply(const Layout& input) const override {
    const int a = input.shape.rank() - 2, b = a + 1;
    Layout out{shape_, input.strides, input.offset};
    out.strides.erase(b);
    out.strides[a] = input.strides[a] + input.strides[b];
    if (numel(shape_) > 0) out.offset += row_ * input.strides[a] + column_ * input.strides[b];
    return out;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto& where = y.origin().where;
    const Shape& shape = y.input(0).shape();
    const int a = shape.rank() - 2, b = a + 1;
    // dy as a row of each column's diagonal element, kept where the diagonal is.
    Shape row = shape_;
    row[a] = shape[b];
    Dims begin = Dims::filled(b, 0);
    begin[a] = column_;
    const Tensor columns = expand_dims(ops::embed(dy, begin, Dims::filled(b, 1), row, 0, where), a);
    Layout pattern{shape, Dims::filled(shape.rank(), 0), 0};
    pattern.strides[a] = -1;
    pattern.strides[b] = 1;
    return {tegula::where(graph::index(pattern, where) == column_ - row_, graph::expand(columns, shape, where), 0.0)};
  }

 private:
  std::int64_t row_, column_;
  Shape shape_;
};

/// One axis (size) to two: positions in its place, the window as a new last axis.
class WindowsOp final : public ViewOp {
 public:
  WindowsOp(int axis, std::int64_t stride, std::int64_t dilation, const Shape& shape)
      : axis_(axis),
        stride_(stride),
        dilation_(dilation),
        shape_(shape) {}
  std::string_view name() const override { return "windows"; }
  void attributes(Attributes& a) override {
    a("axis", axis_);
    a("stride", stride_);
    a("dilation", dilation_);
    if (const Signature* node = a.made_for()) {
      shape_ = node->results[0].shape;
      a.require(node->inputs[0].shape.rank() + 1 == shape_.rank() && axis_ >= 0 && axis_ + 1 < shape_.rank(), "axis");
      a.require(stride_ > 0 && dilation_ > 0, "stride");
    }
  }
  std::optional<Layout> apply(const Layout& input) const override {
    Layout out{shape_, input.strides, input.offset};
    out.strides.push_back(input.strides[axis_] * dilation_);
    out.strides[axis_] *= stride_;
    return out;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto& where = y.origin().where;
    return {ops::overlaid(movedim(dy, -1, axis_), axis_, stride_, dilation_, y.input(0).shape()[axis_], where)};
  }

 private:
  int axis_;
  std::int64_t stride_, dilation_;
  Shape shape_;
};

/// Python's rule for begin:end:step on an axis.
struct Resolved {
  std::int64_t begin, count;
};
Resolved resolve(const Slice& range, std::int64_t size, const Line& where) {
  if (range.step == 0) ops::refuse("slice", "a step of 0", "a step that moves", where);
  const bool back = range.step < 0;
  const std::int64_t lowest = back ? -1 : 0, highest = back ? size - 1 : size;
  const auto settle = [&](std::int64_t position) { return std::clamp(position < 0 ? position + size : position, lowest, highest); };
  const std::int64_t begin = range.begin ? settle(*range.begin) : back ? highest : lowest;
  const std::int64_t end = range.end ? settle(*range.end) : back ? lowest : highest;
  const std::int64_t distance = back ? begin - end : end - begin;
  const auto step = back ? 0 - static_cast<std::uint64_t>(range.step) : static_cast<std::uint64_t>(range.step);
  return {begin, distance > 0 ? static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / step + 1) : 0};
}

Tensor sliced(const Tensor& x, int first_axis, std::span<const Slice> slices, const Line& where) {
  Dims begin = Dims::filled(x.rank(), 0), step = Dims::filled(x.rank(), 1);
  Shape count = x.shape();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const int axis = first_axis + static_cast<int>(i);
    const Resolved range = resolve(slices[i], x.shape()[axis], where);
    begin[axis] = range.begin;
    step[axis] = range.count > 1 ? slices[i].step : 1;  // one element knows no step
    count[axis] = range.count;
  }
  return graph::distinct(ops::strided(x, begin, step, count, where), x, where);
}

}  // namespace

Tensor ops::strided(const Tensor& x, const Dims& begin, const Dims& step, const Shape& count, const Line& where) {
  bool whole = count == x.shape();
  for (int i = 0; i < count.rank(); ++i) whole = whole && (begin[i] == 0 || count[i] == 0) && (step[i] == 1 || count[i] <= 1);
  if (whole) return x;
  return make_node(Ref<const Op>(new SliceOp(begin, step, count)), {x}, count, x.dtype(), where);
}

Tensor ops::part(const Tensor& x, int axis, std::int64_t begin, std::int64_t count, const Line& where) {
  Dims first = Dims::filled(x.rank(), 0);
  Shape shape = x.shape();
  first[axis] = begin;
  shape[axis] = count;
  return strided(x, first, Dims::filled(x.rank(), 1), shape, where);
}

Tensor ops::overlaid(const Tensor& x, int axis, std::int64_t stride, std::int64_t dilation, std::int64_t size, const Line& where) {
  const std::int64_t window = x.shape()[axis], positions = x.shape()[axis + 1];
  constexpr std::int64_t kLongestSum = 32;  // a longer window has its elements scattered
  Shape flat = x.shape();
  flat.erase(axis + 1);
  if (window > kLongestSum) {
    flat[axis] = window * positions;
    const Tensor index = graph::reshape(graph::index({{window, positions}, {dilation, stride}, 0}, where), {flat[axis]}, where);
    return scatter_sum(graph::reshape(x, flat, where), axis, index, IndexForm::Shared, size, where);
  }
  Shape line = flat, whole = flat;
  line[axis] = positions, whole[axis] = size;
  Dims begin = Dims::filled(whole.rank(), 0), step = Dims::filled(whole.rank(), 1);
  step[axis] = positions > 1 ? stride : 1;
  std::vector<Tensor> terms;
  for (std::int64_t i = 0; i < window; ++i) {
    begin[axis] = i * dilation;
    terms.push_back(embed(graph::reshape(part(x, axis, i, 1, where), line, where), begin, step, whole, 0, where));
  }
  return graph::add_n(terms, where);
}

Tensor slice(Arg x, std::span<const Slice> slices) {
  const Tensor t = x.tensor("slice");
  if (static_cast<int>(slices.size()) > t.rank()) {
    ops::refuse("slice", std::to_string(slices.size()) + " slices for shape " + to_string(t.shape()), "at most one for each axis", x.loc);
  }
  return sliced(t, 0, slices, x.loc);
}

Tensor slice(Arg x, std::initializer_list<Slice> slices) { return slice(x, std::span(slices.begin(), slices.size())); }

Tensor slice(Arg x, int axis, Slice range) {
  const Tensor t = x.tensor("slice");
  return sliced(t, ops::axis_of("slice", axis, t.shape(), x.loc), std::span(&range, 1), x.loc);
}

Tensor select(Arg x, int axis, std::int64_t index) {
  const Tensor t = x.tensor("select");
  const int a = ops::axis_of("select", axis, t.shape(), x.loc);
  const std::int64_t size = t.shape()[a];
  if (index < -size || index >= size) {
    ops::refuse("select", "index " + std::to_string(index) + " for axis " + std::to_string(axis) + " of shape " + to_string(t.shape()),
                size == 0 ? "an axis with elements" : "an index from -" + std::to_string(size) + " to " + std::to_string(size - 1), x.loc);
  }
  Shape shape = t.shape();
  shape.erase(a);
  return graph::reshape(ops::part(t, a, index < 0 ? index + size : index, 1, x.loc), shape, x.loc);
}

Tensor flip(Arg x, const Axes& axes) {
  const Tensor t = x.tensor("flip");
  Dims begin = Dims::filled(t.rank(), 0), step = Dims::filled(t.rank(), 1);
  for (const auto axis : ops::axes_of("flip", axes, t.shape(), x.loc)) {
    const int a = static_cast<int>(axis);
    begin[a] = std::max<std::int64_t>(t.shape()[a] - 1, 0);
    step[a] = -1;
  }
  return graph::distinct(ops::strided(t, begin, step, t.shape(), x.loc), t, x.loc);
}

Tensor diagonal(Arg x, std::int64_t offset, int a, int b) {
  const In frame("diagonal", x.loc);
  const Tensor t = x.tensor("diagonal");
  const int rows = ops::axis_of("diagonal", a, t.shape(), x.loc), columns = ops::axis_of("diagonal", b, t.shape(), x.loc);
  if (rows == columns) ops::refuse("diagonal", "axis " + std::to_string(a) + " twice", "two axes", x.loc);
  Dims order;
  for (int i = 0; i < t.rank(); ++i) {
    if (i != rows && i != columns) order.push_back(i);
  }
  order.push_back(rows);
  order.push_back(columns);
  const Tensor matrices = graph::permute(t, order, x.loc);
  Shape shape = matrices.shape();
  offset = std::clamp(offset, -shape[t.rank() - 2], shape[t.rank() - 1]);  // beyond them there is nothing either
  const std::int64_t row = std::max<std::int64_t>(-offset, 0), column = std::max<std::int64_t>(offset, 0);
  const std::int64_t length = std::min(shape[t.rank() - 2] - row, shape[t.rank() - 1] - column);
  shape.erase(t.rank() - 1);
  shape[t.rank() - 2] = std::max<std::int64_t>(length, 0);
  return make_node(Ref<const Op>(new DiagonalOp(row, column, shape)), {matrices}, shape, t.dtype(), x.loc);
}

Tensor windows(Arg x, const Dims& axes, const Dims& window, const WindowOptions& options) {
  const In frame("windows", x.loc);
  Tensor t = x.tensor("windows");
  const Dims stride = options.stride.empty() ? Dims::filled(axes.rank(), 1) : options.stride;
  const Dims dilation = options.dilation.empty() ? Dims::filled(axes.rank(), 1) : options.dilation;
  if (window.rank() != axes.rank() || stride.rank() != axes.rank() || dilation.rank() != axes.rank()) {
    ops::refuse(
        "windows",
        "axes " + to_string(axes) + ", window " + to_string(window) + ", stride " + to_string(stride) + ", dilation " + to_string(dilation),
        "as many numbers as axes", x.loc);
  }
  const Shape whole = t.shape();
  Dims seen;
  for (int i = 0; i < axes.rank(); ++i) {
    const int axis = ops::axis_of("windows", axes[i], whole, x.loc);
    if (seen.contains(axis)) ops::refuse("windows", "axes " + to_string(axes), "each axis once", x.loc);
    seen.push_back(axis);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(dilation[i], window[i] - 1, &reach) || __builtin_add_overflow(reach, 1, &reach)) reach = whole[axis] + 1;
    if (window[i] < 1 || stride[i] < 1 || dilation[i] < 1 || reach > whole[axis]) {
      ops::refuse("windows",
                  "window " + to_string(window) + ", stride " + to_string(stride) + ", dilation " + to_string(dilation) + " over axes " +
                      to_string(axes) + " of shape " + to_string(whole),
                  "windows that fit, and strides and dilations of at least 1", x.loc);
    }
    Shape shape = t.shape();
    shape[axis] = (whole[axis] - reach) / stride[i] + 1;
    shape.push_back(window[i]);
    t = make_node(Ref<const Op>(new WindowsOp(axis, stride[i], dilation[i], shape)), {t}, shape, t.dtype(), x.loc);
  }
  return t;
}

void add_view_ops(OpTable& table) {
  table.add_class<SliceOp>("slice", 1, Dims(), Dims(), Shape());
  table.add_class<DiagonalOp>("diagonal", 1, 0, 0, Shape());
  table.add_class<WindowsOp>("windows", 1, 0, 1, 1, Shape());
}

}  // namespace tegula
