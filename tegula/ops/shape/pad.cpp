// Padding. One kernel adds constants around and between the elements; the other modes join slices.

#include <algorithm>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/join.h"

namespace tegula {
namespace {

using tile::Value;

/// One axis, or several that the kernel may treat as one.
struct Axis {
  std::int64_t out, in, begin, step;
  bool whole() const { return out == in && begin == 0 && step == 1; }
};

/// y[begin + i * step] = x[i], value elsewhere.
class PadOp final : public KernelOp, public Embeds {
 public:
  PadOp(const Dims& begin, const Dims& step, Number value) : begin_(begin), step_(step), value_(value) {}
  std::string_view name() const override { return "pad"; }
  void attributes(Attributes& a) override {
    a("begin", begin_);
    a("step", step_);
    a("value", value_);
    if (const Signature* node = a.made_for()) {
      const Shape &x = node->inputs[0].shape, &y = node->results[0].shape;
      a.require(x.rank() == y.rank() && begin_.rank() == x.rank() && step_.rank() == x.rank(), "begin");
      constexpr std::int64_t kFar = std::int64_t{1} << 40;
      a.require(std::ranges::all_of(step_, [](std::int64_t step) { return step > 0 && step < kFar; }), "step");
      a.require(std::ranges::all_of(begin_, [](std::int64_t begin) { return begin > -kFar && begin < kFar; }), "begin");
      for (int i = 0; i < x.rank() && embedded_at(); ++i) a.require(begin_[i] + x[i] <= y[i], "begin");
    }
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {ops::strided(dy, begin_, step_, y.input(0).shape(), y.origin().where)};
  }

  const Embeds* embedding() const override { return this; }
  std::optional<Dims> embedded_at() const override {
    const bool whole = std::ranges::all_of(step_, [](std::int64_t step) { return step == 1; });
    const bool inside = std::ranges::all_of(begin_, [](std::int64_t begin) { return begin >= 0; });
    return whole && inside && value_.real() == 0 ? std::optional(begin_) : std::nullopt;
  }
  Ref<const Op> joined(int axis, std::vector<std::int64_t> begins) const override {
    return ops::join_between_zeros(axis, std::move(begins));
  }

  Numerics numerics() const override { return Numerics::Either; }
  bool takes_float8() const override { return true; }
  void lower(KernelContext& context) const override {
    const std::vector<Axis> axes = merged(context.input(0).shape, context.output().shape);
    std::int64_t rows = 1;
    for (std::size_t a = 0; a + 1 < axes.size(); ++a) rows *= axes[a].out;
    ops::RowKernel kernel(context, "pad", rows, axes.back().out);
    const Value x = kernel.input(0), y = kernel.output(), value = kernel.real(value_, context.output().dtype);
    const Value width = kernel.number(axes.back().out);
    Value mask = kernel.mask();
    const auto source = [&](const Axis& axis, Value at) {  // the element of x there; the mask excludes elements outside of x
      if (axis.whole()) return at;
      Value i = at;
      if (axis.begin != 0) {
        i = at - kernel.number(axis.begin);
        mask = ops::RowKernel::both(mask, i >= 0);
      }
      if (axis.step != 1) {
        const Value step = kernel.number(axis.step);
        mask = ops::RowKernel::both(mask, i % step == 0);
        i = i / step;
      }
      mask = ops::RowKernel::both(mask, i < kernel.number(axis.in));
      return i;
    };
    Value rest = kernel.row(), stride = kernel.number(axes.back().in), from = source(axes.back(), kernel.column());
    for (std::size_t a = axes.size() - 1; a-- > 0;) {
      Value at = rest;
      if (a > 0) {
        const Value out = kernel.number(axes[a].out);
        at = rest % out;
        rest = rest / out;
      }
      from = from + source(axes[a], at) * stride;
      if (a > 0) stride = stride * kernel.number(axes[a].in);
    }
    tile::Builder& b = kernel.builder();
    const Value other = mask.is_empty() ? Value() : value;
    b.store(y + (kernel.row() * width + kernel.column()), b.load(x + from, mask, other), kernel.mask());
    kernel.launch();
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    std::fill(y.begin(), y.end(), value_.real());
    const Strides strides = dense_strides(shape), from = dense_strides(shapes[0]);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x[0].size()); ++i) {
      std::int64_t at = 0;
      for (int d = 0; d < shape.rank(); ++d) at += (begin_[d] + i / from[d] % shapes[0][d] * step_[d]) * strides[d];
      y[static_cast<std::size_t>(at)] = x[0][static_cast<std::size_t>(i)];
    }
  }

 private:
  // An axis that is taken whole belongs to the one before it, unless that has gaps.
  std::vector<Axis> merged(const Shape& in, const Shape& out) const {
    std::vector<Axis> axes;
    for (int i = 0; i < out.rank(); ++i) {
      const Axis next{out[i], in[i], begin_[i], step_[i]};
      if (!axes.empty() && next.whole() && axes.back().step == 1) {
        Axis& last = axes.back();
        last = {last.out * next.out, last.in * next.in, last.begin * next.out, 1};
      } else {
        axes.push_back(next);
      }
    }
    return axes;
  }

  Dims begin_, step_;
  Number value_;
};

Tensor cropped(const Tensor& x, std::span<PadWidth> widths, const Line& where) {
  Dims begin = Dims::filled(x.rank(), 0);
  Shape count = x.shape();
  for (int i = 0; i < x.rank(); ++i) {
    auto& [low, high] = widths[static_cast<std::size_t>(i)];
    begin[i] = std::max<std::int64_t>(-low, 0);
    count[i] -= begin[i] + std::max<std::int64_t>(-high, 0);
    low = std::max<std::int64_t>(low, 0);
    high = std::max<std::int64_t>(high, 0);
    if (count[i] < 0)
      ops::refuse("pad", "widths that take more than there is of axis " + std::to_string(i) + " of shape " + to_string(x.shape()),
                  "at most its size", where);
  }
  return ops::strided(x, begin, Dims::filled(x.rank(), 1), count, where);
}

/// `count` elements next to the low or the high end of the axis, as the mode continues it.
enum class End : std::uint8_t { Low, High };
Tensor continued(const Tensor& x, int axis, End end, std::int64_t count, PadMode mode, const Line& where) {
  const std::int64_t size = x.shape()[axis];
  const bool low = end == End::Low;
  if (mode == PadMode::Replicate) {
    Shape shape = x.shape();
    shape[axis] = count;
    return graph::expand(ops::part(x, axis, low ? 0 : size - 1, 1, where), shape, where);
  }
  if (mode == PadMode::Circular) return ops::part(x, axis, low ? size - count : 0, count, where);
  return flip(ops::part(x, axis, low ? 1 : size - 1 - count, count, where), axis);
}

}  // namespace

Tensor ops::embed(const Tensor& x, const Dims& begin, const Dims& step, const Shape& shape, Number value, const Line& where) {
  bool whole = shape == x.shape();
  for (int i = 0; i < shape.rank(); ++i) whole = whole && (begin[i] == 0 || x.shape()[i] == 0);
  if (whole) return x;
  // A step matters only where there is a second element.
  Dims steps = step;
  for (int i = 0; i < shape.rank(); ++i) {
    if (x.shape()[i] <= 1) steps[i] = 1;
  }
  if (x.dtype() == boolean) value = value.as<bool>();
  return make_node(Ref<const Op>(new PadOp(begin, steps, value)), {x}, shape, x.dtype(), where);
}

Tensor pad(Arg x, std::span<const PadWidth> widths, const PadOptions& options) {
  const In frame("pad", x.loc);
  Tensor t = x.tensor("pad");
  if (static_cast<int>(widths.size()) != t.rank()) {
    ops::refuse("pad", std::to_string(widths.size()) + " widths for shape " + to_string(t.shape()), "one {low, high} for each axis", x.loc);
  }
  std::vector<PadWidth> left(widths.begin(), widths.end());
  constexpr std::int64_t kMost = std::int64_t{1} << 60;  // sums of three of these fit
  for (const auto& [low, high] : left) {
    if (low < -kMost || low > kMost || high < -kMost || high > kMost)
      ops::refuse("pad", "widths " + std::to_string(low) + " and " + std::to_string(high), "at most 2^60", x.loc);
  }
  t = cropped(t, left, x.loc);
  if (options.mode == PadMode::Constant) {
    Dims begin;
    Shape shape = t.shape();
    for (int i = 0; i < t.rank(); ++i) {
      begin.push_back(left[static_cast<std::size_t>(i)].low);
      shape[i] += left[static_cast<std::size_t>(i)].low + left[static_cast<std::size_t>(i)].high;
    }
    return graph::distinct(ops::embed(t, begin, Dims::filled(t.rank(), 1), shape, options.value, x.loc), x.tensor("pad"), x.loc);
  }
  for (int i = 0; i < t.rank(); ++i) {
    const auto [low, high] = left[static_cast<std::size_t>(i)];
    if (low == 0 && high == 0) continue;
    const std::int64_t size = t.shape()[i];
    const std::int64_t most = options.mode == PadMode::Reflect    ? size - 1
                              : options.mode == PadMode::Circular ? size
                              : size > 0                          ? low + high
                                                                  : 0;
    if (low > most || high > most) {
      ops::refuse("pad",
                  "widths " + std::to_string(low) + " and " + std::to_string(high) + " for axis " + std::to_string(i) + " of size " +
                      std::to_string(size),
                  "at most " + std::to_string(std::max<std::int64_t>(most, 0)) + " in this mode", x.loc);
    }
    std::vector<Tensor> pieces;
    if (low > 0) pieces.push_back(continued(t, i, End::Low, low, options.mode, x.loc));
    pieces.push_back(t);
    if (high > 0) pieces.push_back(continued(t, i, End::High, high, options.mode, x.loc));
    t = ops::joined(pieces, i, x.loc);
  }
  return graph::distinct(t, x.tensor("pad"), x.loc);
}

Tensor pad(Arg x, std::initializer_list<PadWidth> widths, const PadOptions& options) {
  return pad(x, std::span(widths.begin(), widths.size()), options);
}

void add_pad_ops(OpTable& table) { table.add_class<PadOp>("pad", 1, Dims(), Dims(), Number()); }

}  // namespace tegula
