#include "tegula/ops/rows/reduce.h"

#include <cmath>
#include <limits>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/ir.h"

namespace tegula {
namespace {

using tile::Reduction;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t count_of(const Shape& shape, const Dims& axes) {
  std::int64_t n = 1;
  for (const auto axis : axes) n *= shape[static_cast<int>(axis)];
  return n;
}

Shape with_ones(Shape shape, const Dims& axes) {
  for (const auto axis : axes) shape[static_cast<int>(axis)] = 1;
  return shape;
}

/// y, which lost `axes` of `shape`, over all of it again.
Tensor spread(const Tensor& y, const Shape& shape, const Dims& axes) {
  return graph::expand(graph::reshape(y, with_ones(shape, axes)), shape);
}

/// Halves are computed with in f32.
Tensor wide(const Tensor& x) { return graph::cast(x, is_half(x.dtype()) ? f32 : x.dtype()); }

class AxesReduceOp : public ReduceOp {
 public:
  AxesReduceOp(const Dims& axes, Reduction kind) : axes_(axes), kind_(kind) {}
  std::string_view name() const override { return tile::name(kind_); }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    a("axes", axes_);
  }
  Reduction kind() const override { return kind_; }
  const Dims& axes() const override { return axes_; }

 protected:
  Dims axes_;
  Reduction kind_;
};

class ExtremeOp final : public AxesReduceOp {
 public:
  using AxesReduceOp::AxesReduceOp;
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const Tensor x(y.inputs()[0]);
    const Tensor equal = graph::cast(x == spread(beside(y), x.shape(), axes_), dy.dtype());
    return {equal * spread(dy / graph::sum(equal, axes_), x.shape(), axes_)};
  }

 private:
  /// y, computed from the elements that it is compared with. If y is computed before and x must be computed again, other kernels (or another routine of LAPACK) do
  /// that, whose results may differ by a rounding: the extreme is then computed again, too. In one plan both are one item.
  static Tensor beside(const Node& y) {
    if (y.input(0).has_value() || Trace::current()) return Tensor(Ref<Node>(const_cast<Node*>(&y)));
    return make_node(y.op_ref(), {Tensor(y.inputs()[0])}, y.shape(), y.dtype(), y.origin().where);
  }
};

class ProdOp final : public AxesReduceOp {
 public:
  using AxesReduceOp::AxesReduceOp;
  // Each element gets the product of those before and after it, which needs no division.
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto& where = y.origin().where;
    const Tensor x(y.inputs()[0]);
    Dims order, back = Dims::filled(x.rank(), 0);
    for (int i = 0; i < x.rank(); ++i)
      if (!axes_.contains(i)) order.push_back(i);
    for (const auto axis : axes_) order.push_back(axis);
    for (int i = 0; i < x.rank(); ++i) back[static_cast<int>(order[i])] = i;
    const Tensor permuted = graph::permute(x, order, where);
    const std::int64_t n = count_of(x.shape(), axes_);
    if (x.numel() == 0) return {graph::full(x.shape(), 0, x.dtype(), where)};
    const Tensor lines = wide(graph::reshape(permuted, {x.numel() / n, n}, where));  // (outer, n)
    const auto before = [&](const Tensor& t) {
      return ops::embed(ops::part(cumprod(t, 1), 1, 0, n - 1, where), {0, 1}, {1, 1}, t.shape(), 1, where);
    };
    const Tensor others = before(lines) * flip(before(flip(lines, 1)), 1);
    const Tensor dx = graph::cast(others, x.dtype(), where) * expand_dims(graph::reshape(dy, {x.numel() / n}, where), 1);
    return {graph::permute(graph::reshape(dx, permuted.shape(), where), back, where)};
  }
};

/// The checked arguments of a reduction.
struct Call {
  Tensor x;
  Dims axes;
  Keep keep;
  Line where;
  Call(std::string_view op, const Arg& arg, const Axes& list, Keep asked)
      : x(arg.tensor(op)),
        axes(ops::axes_of(op, list, x.shape(), arg.loc)),
        keep(asked),
        where(arg.loc) {}

  std::int64_t count() const { return count_of(x.shape(), axes); }
  /// The result as it was asked for.
  Tensor finish(const Tensor& y) const {
    return graph::distinct(keep == Keep::Yes ? graph::reshape(y, with_ones(x.shape(), axes), where) : y, x, where);
  }
  Tensor reduced(const Tensor& t, Reduction kind) const { return axes.empty() ? t : graph::reduce(t, axes, kind, where); }
  Tensor spread(const Tensor& y) const { return tegula::spread(y, x.shape(), axes); }
};

void refuse_integers(std::string_view op, const Tensor& x, const Line& where) {
  if (!is_float(x.dtype())) ops::refuse(op, "dtype " + std::string(name(x.dtype())), "a float type", where, "cast(x, f32)");
}

Tensor summable(const Tensor& x) { return graph::cast(x, as_sum(x.dtype())); }

Tensor truth(const Tensor& x) { return x.dtype() == boolean ? x : x != 0; }

Tensor extreme_along(const Tensor& x, const Dims& axes, Reduction kind, const Line& where) {
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!axes.contains(i)) shape.push_back(x.shape()[i]);
  return make_node(Ref<const Op>(new ExtremeOp(axes, kind)), {x}, shape, x.dtype(), where);
}

Tensor extreme(std::string_view op, const Arg& arg, const Axes& axes, Keep keep, Reduction kind) {
  const In frame(op, arg.loc);
  const Call call(op, arg, axes, keep);
  if (call.count() == 0) {
    ops::refuse(op, "shape " + to_string(call.x.shape()) + " over axes " + to_string(call.axes), "at least one element", arg.loc);
  }
  if (call.axes.empty()) return call.finish(call.x);
  if (call.x.dtype() == boolean) return call.finish(call.reduced(call.x, kind == Reduction::Max ? Reduction::Any : Reduction::All));
  return call.finish(extreme_along(call.x, call.axes, kind, arg.loc));
}

/// sqrt whose gradient is 0 at 0.
Tensor flat_sqrt(const Tensor& x) {
  const Tensor zero = x == 0;
  return where(zero, 0.0, sqrt(where(zero, 1.0, x)));
}

Tensor average(const Call& call) { return graph::sum(wide(call.x), call.axes, call.where) / static_cast<double>(call.count()); }

Tensor variance(const Call& call, double correction, const Tensor& mean, DType dtype) {
  const Tensor x = wide(call.x);
  const auto n = static_cast<double>(call.count());
  const Tensor centred = graph::cast(x - call.spread(mean), dtype);
  const double divisor = std::max(n - correction, 0.0);
  return graph::sum(square(centred), call.axes, call.where) / divisor;
}

}  // namespace

Tensor sum(Arg x, const Axes& axes, Keep keep) {
  const In frame("sum", x.loc);
  const Call call("sum", x, axes, keep);
  return call.finish(graph::sum(summable(call.x), call.axes, x.loc));
}

Tensor prod(Arg x, const Axes& axes, Keep keep) {
  const In frame("prod", x.loc);
  const Call call("prod", x, axes, keep);
  Tensor from = summable(call.x);
  if (call.axes.empty()) return call.finish(from);
  Shape shape;
  for (int i = 0; i < from.rank(); ++i)
    if (!call.axes.contains(i)) shape.push_back(from.shape()[i]);
  return call.finish(make_node(Ref<const Op>(new ProdOp(call.axes, Reduction::Prod)), {from}, shape, from.dtype(), x.loc));
}

Tensor mean(Arg x, const Axes& axes, Keep keep) {
  const In frame("mean", x.loc);
  const Call call("mean", x, axes, keep);
  refuse_integers("mean", call.x, x.loc);
  return call.finish(graph::cast(average(call), call.x.dtype(), x.loc));
}

Tensor max(Arg x, const Axes& axes, Keep keep) { return extreme("max", x, axes, keep, Reduction::Max); }
Tensor min(Arg x, const Axes& axes, Keep keep) { return extreme("min", x, axes, keep, Reduction::Min); }

Tensor any(Arg x, const Axes& axes, Keep keep) {
  const In frame("any", x.loc);
  const Call call("any", x, axes, keep);
  return call.finish(call.reduced(truth(call.x), Reduction::Any));
}

Tensor all(Arg x, const Axes& axes, Keep keep) {
  const In frame("all", x.loc);
  const Call call("all", x, axes, keep);
  return call.finish(call.reduced(truth(call.x), Reduction::All));
}

Tensor count_nonzero(Arg x, const Axes& axes, Keep keep) {
  const In frame("count_nonzero", x.loc);
  const Call call("count_nonzero", x, axes, keep);
  return call.finish(graph::sum(graph::cast(truth(call.x), i64), call.axes, x.loc));
}

Tensor var(Arg x, const Axes& axes, const VarianceOptions& options) {
  const In frame("var", x.loc);
  const Call call("var", x, axes, options.keep);
  refuse_integers("var", call.x, x.loc);
  return call.finish(graph::cast(variance(call, options.correction, average(call), wide(call.x).dtype()), call.x.dtype(), x.loc));
}

VarMean var_mean(Arg x, const Axes& axes, const VarianceOptions& options) {
  const In frame("var_mean", x.loc);
  const Call call("var_mean", x, axes, options.keep);
  refuse_integers("var_mean", call.x, x.loc);
  const Tensor mean = average(call);
  const auto finish = [&](const Tensor& y) { return call.finish(graph::cast(y, call.x.dtype(), x.loc)); };
  return {finish(variance(call, options.correction, mean, mean.dtype())), finish(mean)};
}

Tensor stddev(Arg x, const Axes& axes, const VarianceOptions& options) {
  const In frame("stddev", x.loc);
  const Call call("stddev", x, axes, options.keep);
  refuse_integers("stddev", call.x, x.loc);
  return call.finish(graph::cast(flat_sqrt(variance(call, options.correction, average(call), f64)), call.x.dtype(), x.loc));
}

Tensor norm(Arg x, double p, const Axes& axes, Keep keep) {
  const In frame("norm", x.loc);
  const Call call("norm", x, axes, keep);
  refuse_integers("norm", call.x, x.loc);
  // Powers of numbers of f32 have room in f64: the norm is right wherever it is a number of f32.
  const bool powers = p != 0 && p != 1 && !std::isinf(p);
  const Tensor t = powers ? graph::cast(call.x, f64, x.loc) : wide(call.x);
  const auto total = [&](const Tensor& terms) { return graph::sum(terms, call.axes, x.loc); };
  Tensor y;
  if (std::isinf(p)) {
    if (call.count() == 0 && p > 0) y = total(t);
    else y = p > 0 ? max(abs(t), call.axes.empty() ? Axes() : Axes(call.axes)) : min(abs(t), call.axes.empty() ? Axes() : Axes(call.axes));
  } else if (p == 0) {
    y = total(graph::cast(t != 0, t.dtype()));
  } else if (p == 1) {
    y = total(abs(t));
  } else if (p == 2) {
    y = flat_sqrt(total(square(t)));
  } else {
    // Elements that are 0 add nothing and get no gradient; |0|^(p - 1) could be infinite.
    const Tensor none = t == 0;
    const Tensor sums = total(where(none, p > 0 ? 0.0 : kInfinity, pow(where(none, 1.0, abs(t)), p)));
    const Tensor zero = sums == 0;
    y = where(zero, p > 0 ? 0.0 : kInfinity, pow(where(zero, 1.0, sums), 1 / p));
  }
  return call.finish(graph::cast(y, call.x.dtype(), x.loc));
}

Tensor logsumexp(Arg x, const Axes& axes, Keep keep) {
  const In frame("logsumexp", x.loc);
  const Call call("logsumexp", x, axes, keep);
  refuse_integers("logsumexp", call.x, x.loc);
  if (call.axes.empty()) return graph::identity(call.x, x.loc);
  const Tensor t = wide(call.x);
  if (call.count() == 0) return call.finish(graph::sum(call.x, call.axes, x.loc) - kInfinity);
  const Tensor greatest = graph::stop_gradient(extreme_along(t, call.axes, Reduction::Max, x.loc), x.loc);
  // Finite, so that a row of -inf has the sum 0, and finite values beside +inf add 0 to an infinite sum.
  const double most = t.dtype() == f64 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  const Tensor shift = clamp(greatest, -most, most);
  const Tensor total = graph::sum(exp(t - call.spread(shift)), call.axes, x.loc);
  const Tensor none = total == 0;
  const Tensor y = where(none, -kInfinity, log(where(none, 1.0, total))) + shift;
  return call.finish(graph::cast(y, call.x.dtype(), x.loc));
}

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases;
  using Reduce = std::function<Tensor(const Tensor&, const Axes&)>;
  const std::vector<std::vector<Shape>> filled{{{1023}}, {{}}, {{1, 1}}, {{3, 3000}}, {{70, 9, 5}}},
      with_empty{{{1023}}, {{}}, {{0, 3}}, {{3, 0}}, {{3, 3000}}};
  const auto add = [&](const std::string& op, const std::vector<DType>& dtypes, const std::vector<std::vector<Shape>>& more,
                       const CaseInput& input, const Reduce& f) {
    OpCase one{.op = op,
               .function = [=](const auto& x) { return f(x[0], {}); },
               .inputs = {input},
               .dtypes = dtypes,
               .more_shapes = more,
               .tolerance = 64};
    one.inputs[0].shape = {7, 33};
    cases.push_back(one);
    for (const Axes& axes : {Axes(1), Axes{0, -1}, Axes(0)}) {
      one.function = [=](const auto& x) { return f(x[0], axes); };
      one.inputs[0].shape = {5, 9, 7};
      one.more_shapes = {};
      cases.push_back(one);
    }
  };
  add("sum", kComputed, with_empty, {}, [](const Tensor& x, const Axes& axes) { return sum(x, axes); });
  add("prod", kComputed, {{{40}}, {{}}, {{0, 3}}, {{3, 0}}}, {.low = 0.5, .high = 1.6},
      [](const Tensor& x, const Axes& axes) { return prod(x, axes, Keep::Yes); });
  add("mean", kFloats, filled, {}, [](const Tensor& x, const Axes& axes) { return mean(x, axes); });
  add("max", kComputed, filled, {}, [](const Tensor& x, const Axes& axes) { return max(x, axes); });
  add("min", kComputed, filled, {}, [](const Tensor& x, const Axes& axes) { return min(x, axes, Keep::Yes); });
  add("any", kEverything, with_empty, {}, [](const Tensor& x, const Axes& axes) { return any(x, axes); });
  add("all", kEverything, with_empty, {}, [](const Tensor& x, const Axes& axes) { return all(x, axes); });
  add("count_nonzero", kEverything, with_empty, {}, [](const Tensor& x, const Axes& axes) { return count_nonzero(x, axes); });
  add("var", kFloats, {{{1023}}, {{3, 3000}}}, {}, [](const Tensor& x, const Axes& axes) { return var(x, axes); });
  add("var_mean", kFloats, {{{3, 3000}}}, {}, [](const Tensor& x, const Axes& axes) {
    const auto [variance, mean] = var_mean(x, axes);
    return variance * mean;
  });
  add("stddev", kFloats, {{{1023}}}, {}, [](const Tensor& x, const Axes& axes) { return stddev(x, axes, {.correction = 0}); });
  add("norm", kFloats, with_empty, {}, [](const Tensor& x, const Axes& axes) { return norm(x, 2, axes); });
  add("norm 1", kFloats, with_empty, {.kinks = {0}}, [](const Tensor& x, const Axes& axes) { return norm(x, 1, axes); });
  add("norm 3", kFloats, {{{1023}}}, {.kinks = {0}}, [](const Tensor& x, const Axes& axes) { return norm(x, 3, axes); });
  add("norm inf", kFloats, with_empty, {}, [](const Tensor& x, const Axes& axes) { return norm(x, kInfinity, axes); });
  add("logsumexp", kFloats, with_empty, {.low = -9, .high = 9}, [](const Tensor& x, const Axes& axes) { return logsumexp(x, axes); });
  for (OpCase& one : cases) {
    if (one.op == "any" || one.op == "all" || one.op == "count_nonzero") one.gradient = false;
    if (one.op == "max" || one.op == "min" || one.op == "norm inf") one.second = false;
  }
  for (const bool greatest : {true, false}) {
    for (const int axis : {0, 1, -1}) {
      cases.push_back({.op = greatest ? "argmax" : "argmin",
                       .function = [=](const auto& x) { return greatest ? argmax(x[0], axis) : argmin(x[0], axis, Keep::Yes); },
                       .inputs = {{{5, 9, 7}}},
                       .dtypes = kComputed,
                       .more_shapes = {{{3, 5000}}, {{7, 1}}, {{3000, 2}}},
                       .gradient = false});
    }
    cases.push_back({.op = greatest ? "argmax" : "argmin",
                     .function = [=](const auto& x) { return greatest ? argmax(x[0]) : argmin(x[0]); },
                     .inputs = {{{5, 9, 7}}},
                     .dtypes = kComputed,
                     .more_shapes = {{{}}, {{9000}}},
                     .gradient = false});
  }
  return cases;
}

void add_reduce_ops(OpTable& table) {
  table.add_class<ExtremeOp>("max", 1, Dims(), Reduction::Max);
  table.add_class<ExtremeOp>("min", 1, Dims(), Reduction::Min);
  table.add_class<ProdOp>("prod", 1, Dims(), Reduction::Prod);
}

}  // namespace tegula
