#include "tegula/ops/rows/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

using tile::Reduction;
using tile::Value;

Tensor scan_last(const Tensor& x, Reduction kind, const Line& where);

/// Σ of the elements from each one on, along the last axis.
Tensor sum_from_here(const Tensor& x, const Line& where) { return flip(scan_last(flip(x, -1), Reduction::Sum, where), -1); }

/// Each element is y's predecessor along the last axis; `first` stands before them all.
Tensor predecessor(const Tensor& y, double first, const Line& where) {
  const int axis = y.rank() - 1;
  Dims begin = Dims::filled(y.rank(), 0);
  begin[axis] = 1;
  const Tensor rest = ops::part(y, axis, 0, std::max<std::int64_t>(y.shape()[axis] - 1, 0), where);
  return ops::embed(rest, begin, Dims::filled(y.rank(), 1), y.shape(), first, where);
}

/// Along the last axis.
class ScanOp final : public KernelOp {
 public:
  explicit ScanOp(Reduction kind) : kind_(kind) {}
  std::string_view name() const override {
    return kind_ == Reduction::Sum ? "cumsum" : kind_ == Reduction::Prod ? "cumprod" : kind_ == Reduction::Max ? "cummax" : "cummin";
  }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    if (const Signature* node = a.made_for()) a.require(node->results[0].shape.rank() > 0 && node->inputs[0] == node->results[0], "shape");
  }

  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto& where = y.origin().where;
    const Tensor x(y.inputs()[0]), result(Ref<Node>(const_cast<Node*>(&y)));
    if (kind_ == Reduction::Sum) return {sum_from_here(dy, where)};
    if (kind_ == Reduction::Prod) return {product_gradient(x, result, dy, where)};
    // To the element that became the new extreme: its index is the running maximum of such indices.
    const bool max = kind_ == Reduction::Max;
    const double worst = max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    const Tensor before = predecessor(result, worst, where);
    const Tensor place = tegula::where(max ? x > before : x < before, places(x, where), 0);
    const int axis = x.rank() - 1;
    return {ops::scatter_sum(dy, axis, scan_last(place, Reduction::Max, where), ops::IndexForm::Full, x.shape()[axis], where)};
  }

  void lower(KernelContext& context) const override {
    const Shape& shape = context.output().shape;
    const std::int64_t columns = shape.back();
    ops::RowKernel kernel(context, std::string(name()), numel(shape) / columns, columns, ops::Columns::Looped);
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), y = kernel.output(), width = kernel.number(columns);
    // Sums and products of f32 go on in f64: their error does not grow with their number, and none overflows before the result does.
    const DType dtype = tile::compute_type(context.output().dtype);
    const DType wide = dtype == f32 && (kind_ == Reduction::Sum || kind_ == Reduction::Prod) ? f64 : dtype;
    const Value nothing = tile::identity_of(b, kind_, wide);
    kernel.for_each_tile({tile::broadcast(nothing, {kernel.tile_rows(), 1})}, [&](std::span<const Value> carried) -> std::vector<Value> {
      const Value at = kernel.row() * width + kernel.column();
      Value values = tile::cast(b.load(x + at, kernel.mask()), wide);
      if (!kernel.column_mask().is_empty()) values = tile::select(kernel.column_mask(), values, nothing);
      values = tile::broadcast(values, {kernel.tile_rows(), kernel.tile_columns()});
      b.store(y + at, tile::cast(tile::combine(kind_, carried[0], tile::scan(values, 1, kind_)), dtype), kernel.mask());
      return {tile::combine(kind_, carried[0], tile::reduce(values, 1, kind_))};
    });
    kernel.launch();
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const auto columns = static_cast<std::size_t>(shapes[0].back());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double next = x[0][i];
      if (i % columns == 0 || std::isnan(next)) y[i] = next;
      else if (kind_ == Reduction::Sum) y[i] = y[i - 1] + next;
      else if (kind_ == Reduction::Prod) y[i] = y[i - 1] * next;
      else if (std::isnan(y[i - 1])) y[i] = y[i - 1];
      else y[i] = kind_ == Reduction::Max ? std::max(y[i - 1], next) : std::min(y[i - 1], next);
    }
  }

 private:
  static Tensor places(const Tensor& x, const Line& where) {
    Layout pattern{x.shape(), Dims::filled(x.rank(), 0), 0};
    pattern.strides[x.rank() - 1] = 1;
    return graph::index(pattern, where);
  }

  // dx_k = Σ_{j >= k} dy_j Π_{i <= j, i != k} x_i = y_{k-1} s_k with s_k = dy_k + x_{k+1} s_{k+1}. No division, so that zeros need no care and
  // derivatives of every order are right. The recurrence in log n rounds: each joins the stretch from k on with the one behind it
  // (Hillis and Steele, "Data parallel algorithms", 1986); `factor` is the product that leads from one to the other.
  static Tensor product_gradient(const Tensor& x, const Tensor& y, const Tensor& dy, const Line& where) {
    const DType dtype = x.dtype(), fine = is_half(dtype) ? f32 : dtype;
    const int axis = x.rank() - 1;
    const std::int64_t length = x.shape()[axis];
    const Dims begin = Dims::filled(x.rank(), 0), step = Dims::filled(x.rank(), 1);
    const auto behind = [&](const Tensor& t, std::int64_t reach, double beyond) {  // the element `reach` indices on
      return ops::embed(ops::part(t, axis, reach, length - reach, where), begin, step, t.shape(), beyond, where);
    };
    Tensor sums = graph::cast(dy, fine, where);
    Tensor factor = length > 1 ? behind(graph::cast(x, fine, where), 1, 0) : sums;
    for (std::int64_t reach = 1; reach < length; reach *= 2) {
      sums = sums + factor * behind(sums, reach, 0);
      if (2 * reach < length) factor = factor * behind(factor, reach, 0);
    }
    const Tensor before = length > 0 ? predecessor(y, 1, where) : y;
    return graph::cast(graph::cast(before, fine, where) * sums, dtype, where);
  }

  Reduction kind_;
};

Tensor scan_last(const Tensor& x, Reduction kind, const Line& where) {
  return make_node(Ref<const Op>(new ScanOp(kind)), {x}, x.shape(), x.dtype(), where);
}

Tensor scan(std::string_view op, const Arg& arg, int axis, Reduction kind) {
  const In frame(op, arg.loc);
  Tensor x = arg.tensor(op);
  const bool total = kind == Reduction::Sum || kind == Reduction::Prod;
  if (total) x = graph::cast(x, as_sum(x.dtype()), arg.loc);
  if (!total && x.dtype() == boolean) ops::refuse(op, "a boolean tensor", "numbers", arg.loc);
  if (x.rank() == 0) {
    ops::axes_of(op, axis, x.shape(), arg.loc);
    return graph::identity(x, arg.loc);
  }
  const int a = ops::axis_of(op, axis, x.shape(), arg.loc);
  return movedim(scan_last(movedim(x, a, -1), kind, arg.loc), -1, a);
}

}  // namespace

Tensor cumsum(Arg x, int axis) { return scan("cumsum", x, axis, Reduction::Sum); }
Tensor cumprod(Arg x, int axis) { return scan("cumprod", x, axis, Reduction::Prod); }
Tensor cummax(Arg x, int axis) { return scan("cummax", x, axis, Reduction::Max); }
Tensor cummin(Arg x, int axis) { return scan("cummin", x, axis, Reduction::Min); }

Tensor logcumsumexp(Arg x, int axis) {
  const In frame("logcumsumexp", x.loc);
  const Tensor given = x.tensor("logcumsumexp");
  Tensor t = given;
  if (!is_float(t.dtype())) ops::refuse("logcumsumexp", "dtype " + std::string(name(t.dtype())), "a float type", x.loc, "cast(x, f32)");
  if (t.rank() == 0) return graph::identity(t, x.loc);
  const int a = ops::axis_of("logcumsumexp", axis, t.shape(), x.loc);
  const DType dtype = t.dtype();
  t = graph::cast(t, is_half(dtype) ? f32 : dtype, x.loc);
  // Each round adds the totals that end `reach` before (Hillis and Steele, "Data parallel algorithms", 1986), every sum with a shift of its own.
  const double nothing = -std::numeric_limits<double>::infinity();
  for (std::int64_t reach = 1; reach < t.shape()[a]; reach *= 2) {
    Dims begin = Dims::filled(t.rank(), 0);
    begin[a] = reach;
    const Tensor before =
        ops::embed(ops::part(t, a, 0, t.shape()[a] - reach, x.loc), begin, Dims::filled(t.rank(), 1), t.shape(), nothing, x.loc);
    const Tensor greatest = graph::stop_gradient(maximum(t, before), x.loc);
    const Tensor shift = where(isinf(greatest), 0.0, greatest);
    const Tensor total = exp(t - shift) + exp(before - shift);
    const Tensor none = total == 0;
    t = where(none, nothing, log(where(none, 1.0, total))) + shift;
  }
  return graph::distinct(graph::cast(t, dtype, x.loc), given, x.loc);
}

std::vector<OpCase> scan_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](const std::string& op, Tensor (*function)(Arg, int), const std::vector<DType>& dtypes, CaseInput input) {
    for (const int axis : {-1, 0}) {
      OpCase one{.op = op,
                 .function = [=](const auto& x) { return function(x[0], axis); },
                 .inputs = {input},
                 .dtypes = dtypes,
                 .more_shapes = {{{1023}}, {{0, 3}}, {{3, 0}}, {{3, 5000}}, {{5, 9, 7}}},
                 .tolerance = 2000};
      one.inputs[0].shape = {7, 33};
      cases.push_back(std::move(one));
    }
  };
  add("cumsum", cumsum, kComputed, {});
  add("cumprod", cumprod, kFloats, {.low = 0.97, .high = 1.03});
  add("cummax", cummax, kNumbers, {});
  add("cummin", cummin, kNumbers, {});
  add("logcumsumexp", logcumsumexp, kFloats, {.low = -9, .high = 9});
  for (OpCase& one : cases) {
    if (one.op == "cummax" || one.op == "cummin") one.second = false;
    if (one.op == "logcumsumexp") one.more_shapes = {{{300}}, {{0, 3}}, {{3, 0}}, {{5, 9, 7}}};  // differences of longer sums are noise
  }
  return cases;
}

void add_scan_ops(OpTable& table) {
  for (const Reduction kind : {Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min})
    table.add_class<ScanOp>(std::string(ScanOp(kind).name()), 1, kind);
}

}  // namespace tegula
