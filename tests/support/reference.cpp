#include "tests/support/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/regions/composed.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/tile/ir.h"

namespace tegula {
namespace {

/// Offsets of the elements of a layout, row-major.
std::vector<std::int64_t> offsets_of(const Layout& layout) {
  std::vector<std::int64_t> out;
  const std::int64_t count = numel(layout.shape);
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n, offset = layout.offset;
    for (int d = layout.shape.rank() - 1; d >= 0; --d) {
      offset += rest % layout.shape[d] * layout.strides[d];
      rest /= layout.shape[d];
    }
    out.push_back(offset);
  }
  return out;
}

/// The value in an integer or boolean dtype; floats keep all their digits.
double stored(double value, DType dtype) {
  if (is_float(dtype)) return value;
  if (dtype == boolean) return value != 0;
  if (std::isnan(value)) return 0;
  return visit(dtype, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(value)));
    else return value;
  });
}

template <class T>
T combine(tile::Reduction kind, T a, T b) {
  using tile::Reduction;
  switch (kind) {
    case Reduction::Sum: return a + b;
    case Reduction::Prod: return a * b;
    case Reduction::Min: return std::isnan(a) || a < b ? a : b;
    case Reduction::Max: return std::isnan(a) || a > b ? a : b;
    case Reduction::Any: return a != 0 || b != 0;
    default: return a != 0 && b != 0;
  }
}

double initial(tile::Reduction kind) {
  using tile::Reduction;
  switch (kind) {
    case Reduction::Prod:
    case Reduction::All: return 1;
    case Reduction::Min: return HUGE_VAL;
    case Reduction::Max: return -HUGE_VAL;
    default: return 0;
  }
}

double epsilon(DType dtype) { return dtype == f64 ? 0x1p-52 : dtype == f32 ? 0x1p-23 : dtype == f16 ? 0x1p-10 : 0x1p-7; }

double greatest(DType dtype) {
  return dtype == f64 ? std::numeric_limits<double>::max() : dtype == f16 ? 65504 : std::numeric_limits<float>::max();
}

DType wide(DType dtype) { return dtype == f64 ? f64 : f32; }

/// The spacing of the smallest numbers, which are no longer relative.
double spacing(DType dtype) { return dtype == f64 ? 0 : dtype == f16 ? 0x1p-24 : 0x1p-126; }

/// Returns the number of an operand's rows: a reduction is along the last axis, or shorter.
std::size_t rows(const Shape& shape) {
  return shape.rank() == 0 || numel(shape) == 0 ? 1 : static_cast<std::size_t>(numel(shape) / shape.back());
}

/// In [-1, 1], the same for the same number.
double chance(double value, std::uint64_t noise) {
  std::uint64_t x = std::bit_cast<std::uint64_t>(value) + noise * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-52 - 1;
}

bool representable(double value, DType dtype) {
  return visit(dtype, [&](auto zero) { return as_double(from_double<decltype(zero)>(value)) == value; });
}

bool any_of_them(std::span<const double> x, double value) {
  return std::any_of(x.begin(), x.end(), [&](double each) { return each == value; });
}

/// The error scale of one op: for single operations, half a unit of the result, as IEEE 754 says; for formulas, the tolerance of their declared
/// cases, which is relative to 1 (1 + erf(-2) has lost digits); for a sum of terms, units of the greatest.
double error_scale(std::string_view op, std::span<const double> x, double value) {
  static const std::unordered_set<std::string_view> single{"add",     "subtract",   "multiply", "multiply_add", "divide", "negate",
                                                           "square",  "reciprocal", "abs",      "sqrt",         "rsqrt",  "minimum",
                                                           "maximum", "cast",       "where",    "exp"};
  if (single.contains(op)) return std::fabs(value);
  double scale = std::max(op == "add_n" ? 0 : 1.0, std::fabs(value));
  if (op == "add_n") {
    for (double each : x) scale = std::max(scale, std::fabs(each));
  }
  return scale;
}

constexpr std::uint64_t kStoredOnly = 2, kCancels = 4;  // noises of their own

bool differences(std::string_view op) { return op == "subtract" || op == "add" || op == "add_n"; }
bool steps(std::string_view op) {
  return op == "sign" || op == "floor" || op == "ceil" || op == "round" || op == "trunc" || op == "floor_divide";
}

/// The dtype in which the node's result may be stored (assign_precision.h): its own, or its precision's half.
DType stored_as(const Node& node) {
  const DType half = storage_of(node.precision());
  const bool may_be_half = node.results().empty() ? node.dtype() == f32 : node.results()[0].dtype == f32;
  return may_be_half && node.op().numerics() != Numerics::Full ? half : node.dtype();
}
bool multiplies(const Node& node) { return node.op().numerics() == Numerics::TensorCore; }

/// Kernels whose elements are sums or products of many.
bool accumulates(std::string_view op) {
  return op == "cumsum" || op == "cumprod" || op == "logcumsumexp" || op == "scatter_add" || op.starts_with("conv");
}

/// Returns the count of the most frequent number: the terms of the longest sum by index.
double most_often(const std::vector<double>& index) {
  std::map<double, double> times;
  double most = 0;
  for (const double place : index) most = std::max(most, ++times[place]);
  return most;
}

}  // namespace

std::vector<double> reference_of(const Tensor& y) { return Reference().of(y); }

void Reference::define(const Tensor& leaf, Values values) { known_[leaf.node()] = std::move(values); }

const Reference::Values& Reference::of(const Tensor& y) {
  std::vector<Ref<Node>> stack{y.node()};
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    bool ready = true;
    for (const auto& input : node->inputs()) {
      if (known_.contains(input)) continue;
      stack.push_back(input);
      ready = false;
    }
    if (!ready) continue;
    stack.pop_back();
    if (known_.contains(node)) continue;
    if (!node->results().empty()) results_[node] = several(*node);
    known_[node] = node->results().empty() ? compute(*node) : Values();
  }
  return known_.at(y.node());
}

/// A possible rounded result for a value, or for the term of a sum at `place`, that is computed in this dtype.
double Reference::rounded(double value, DType dtype, std::uint64_t place) const { return rounded(value, dtype, place, std::fabs(value)); }

double Reference::rounded(double value, DType dtype, std::uint64_t place, double scale) const {
  if (noise_ == 0 || !is_float(dtype) || value == 0 || !std::isfinite(value)) return value;
  // Every second noise ends on the numbers that the dtype has, as stored results do: what differs by less becomes equal.
  const bool stores = noise_ % 2 == 0;
  if (noise_ != kStoredOnly) value += std::max(epsilon(dtype) * scale, spacing(dtype)) * chance(value, noise_ + 1000003 * place);
  if (stores && place == 0) value = visit(dtype, [&](auto zero) { return as_double(from_double<decltype(zero)>(value)); });
  return std::fabs(value) > greatest(dtype) ? std::copysign(HUGE_VAL, value) : value;
}

/// A sum of n terms may be off by n units of each, in the worst order; by far less in any order that is used.
double Reference::of_sum(double term, DType dtype, std::uint64_t place, double terms) const {
  return rounded(term, dtype, place, std::fabs(term) * (1 + terms / 16));
}

/// A number that may be stored as this half.
double Reference::as_half(double value, DType half) const {
  return noise_ == 0 || representable(value, half) ? value : rounded(value, half);
}

Reference::Values Reference::compute(const Node& node) const {
  switch (node.has_value() && node.inputs().empty() ? Role::Leaf : node.op().role()) {
    case Role::Leaf: return Tensor(Ref<Node>(const_cast<Node*>(&node))).to_host<double>();
    case Role::Scalar: {
      const double value = static_cast<const ScalarOp&>(node.op()).value().real();
      return {representable(value, node.dtype()) ? value : rounded(value, node.dtype())};
    }
    case Role::Index: {
      Values out;
      for (auto offset : offsets_of(static_cast<const IndexOp&>(node.op()).layout())) out.push_back(static_cast<double>(offset));
      return out;
    }
    case Role::Elementwise: return elementwise(node);
    case Role::View:
    case Role::Barrier:
    case Role::Stop:
    case Role::Same: return view(node);
    case Role::Reduce: return reduce(node);
    case Role::Part: return results_.at(node.inputs()[0])[static_cast<std::size_t>(static_cast<const PartOp&>(node.op()).index())];
    case Role::Library: return loops(node, static_cast<const LibraryOp&>(node.op()), !node.op().name().starts_with("max_pool"));
    default: return loops(node, static_cast<const KernelOp&>(node.op()), accumulates(node.op().name()));
  }
}

Reference::Values Reference::elementwise(const Node& node) const {
  const auto& op = static_cast<const ElementwiseOp&>(node.op());
  Values out(static_cast<std::size_t>(numel(node.shape()))), x(node.inputs().size());
  std::vector<const Values*> inputs;
  std::vector<std::size_t> step;  // 0 for a scalar
  bool narrows = false;
  const DType held = stored_as(node);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Node& in = node.input(static_cast<int>(i));
    inputs.push_back(&input(node, i));
    step.push_back(in.shape().rank() == 0 ? 0 : 1);
    narrows = narrows || (is_float(in.dtype()) && is_float(node.dtype()) && epsilon(in.dtype()) < epsilon(node.dtype()));
  }
  for (std::size_t n = 0; n < out.size(); ++n) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (*inputs[i])[n * step[i]];
    out[n] = stored(op.reference(x), node.dtype());
    if (noise_ == 0) continue;
    // The difference of equal values may be nothing.
    if (noise_ == kCancels && differences(op.name()) && std::fabs(out[n]) < 16 * epsilon(node.dtype()) * std::fabs(x[0])) out[n] = 0;
    if (steps(op.name())) continue;
    const bool exact = narrows || x.size() == 1 ? representable(out[n], node.dtype()) && any_of_them(x, out[n]) : any_of_them(x, out[n]);
    if (!exact) out[n] = rounded(out[n], node.dtype(), 0, error_scale(op.name(), x, out[n]));
    if (held == node.dtype()) continue;
    // The addend in a product's epilogue is stored as a half, too.
    double scale = std::fabs(out[n]);
    if (op.word() == tile::Word::Add) {
      for (const double each : x) scale = std::max(scale, representable(each, held) ? 0 : std::fabs(each));
    }
    if (scale > std::fabs(out[n]) || !representable(out[n], held)) out[n] = rounded(out[n], held, 0, scale);
  }
  return out;
}

Reference::Values Reference::view(const Node& node) const {
  const auto layout = shown(node.op(), Layout::dense(node.input(0).shape()));
  if (!layout)
    throw Error({.op = "reference",
                 .got = "a view that refuses a dense layout: " + std::string(node.op().name()),
                 .expected = "one that takes it"});
  Values out;
  for (auto offset : offsets_of(*layout)) out.push_back(input(node, 0)[static_cast<std::size_t>(offset)]);
  return out;
}

Reference::Values Reference::reduce(const Node& node) const {
  const auto& op = static_cast<const ReduceOp&>(node.op());
  const Shape& from = node.input(0).shape();
  Layout target{from, Dims::filled(from.rank(), 0), 0};  // the place to which each input element is added
  std::int64_t stride = 1;
  for (int d = from.rank() - 1; d >= 0; --d) {
    if (op.axes().contains(d)) continue;
    target.strides[d] = stride;
    stride *= from[d];
  }
  const auto places = offsets_of(target);
  const Values& x = input(node, 0);
  const auto count = static_cast<std::size_t>(numel(node.shape()));
  const bool selects = op.kind() != tile::Reduction::Sum && op.kind() != tile::Reduction::Prod, one = x.size() == count;
  // Wider than f64, so that the reference of many terms is not less accurate than the tested sum.
  std::vector<long double> sums(count, initial(op.kind()));
  std::vector<double> greatest_product(op.kind() == tile::Reduction::Prod ? count : 0, 1.0);
  const double terms = count == 0 ? 1 : static_cast<double>(x.size()) / static_cast<double>(count);
  for (std::size_t n = 0; n < places.size(); ++n) {
    const auto place = static_cast<std::size_t>(places[n]);
    const double each = x[n];
    const double term = selects || one ? each : of_sum(each, node.dtype(), n + 1, terms);
    sums[place] = combine<long double>(op.kind(), sums[place], term);
    if (!greatest_product.empty()) greatest_product[place] *= std::max(1.0, std::fabs(term));
  }
  Values out(count);
  for (std::size_t n = 0; n < count; ++n) {
    out[n] = stored(static_cast<double>(sums[n]), node.dtype());
    if (!selects && !one) out[n] = rounded(out[n], node.dtype());
    // Taken in another order, a product overflows on its way (and meets a zero: NaN). Halves are multiplied in f32.
    if (noise_ != 0 && !greatest_product.empty() && is_float(node.dtype()) && greatest_product[n] > greatest(wide(node.dtype())))
      out[n] = std::nan("");
  }
  return out;
}

std::vector<Reference::Values> Reference::several(const Node& node) const {
  std::vector<Values> out;
  if (node.op().role() == Role::Same) {
    for (std::size_t k = 0; k < node.results().size(); ++k) out.push_back(input(node, k));
    return out;
  }
  const auto* const op = node.op().role() == Role::Library ? static_cast<const LibraryOp*>(&node.op()) : nullptr;
  if (const Composed* const composed = op ? op->composed() : nullptr) {
    Trace trace(node.origin().where);
    Reference inner(noise_);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Node& in = node.input(static_cast<int>(i));
      inner.define(trace.argument(in.shape(), in.dtype()), input(node, i));
    }
    for (const Tensor& result : composed->composition(trace.arguments())) out.push_back(inner.of(result));
    return out;
  }
  for (const Result& result : node.results()) out.emplace_back(static_cast<std::size_t>(numel(result.shape)));
  std::vector<std::span<const double>> x;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    x.emplace_back(input(node, i));
    shapes.push_back(node.input(static_cast<int>(i)).shape());
  }
  const DType held = stored_as(node);
  const bool has_half = !out.empty() && held != node.results()[0].dtype;
  std::vector<Values> halves;
  if (has_half && multiplies(node)) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      halves.emplace_back(x[i].begin(), x[i].end());
      if (!is_float(node.input(static_cast<int>(i)).dtype())) continue;
      for (double& value : halves.back()) value = as_half(value, held);
    }
    x.assign(halves.begin(), halves.end());
  }
  std::vector<std::span<double>> ys(out.begin(), out.end());
  if (node.op().role() == Role::Library) static_cast<const LibraryOp&>(node.op()).references(x, shapes, ys);
  else static_cast<const KernelOp&>(node.op()).references(x, shapes, ys);
  if (has_half) {
    for (double& value : out[0]) value = as_half(value, held);
  }
  return out;
}

template <class O>
Reference::Values Reference::loops(const Node& node, const O& op, bool sums) const {
  Values out(static_cast<std::size_t>(numel(node.shape())));
  std::vector<Values> moved(node.inputs().size());
  std::vector<std::span<const double>> x;
  const DType held = stored_as(node);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Node& in = node.input(static_cast<int>(i));
    moved[i] = input(node, i);
    if (held != node.dtype() && multiplies(node) && is_float(in.dtype())) {
      for (double& value : moved[i]) value = as_half(value, held);
    }
    double terms =
        out.empty() ? 1 : std::max(1.0, static_cast<double>(moved[i].size()) / static_cast<double>(std::min(out.size(), rows(in.shape()))));
    const bool by_index = op.name() == "scatter_add";
    if (by_index) terms = std::max(terms, most_often(moved[0]));
    if (sums && noise_ != 0 && is_float(in.dtype())) {
      // Equal numbers that are added one after the other are all rounded to one side: they move together.
      for (std::size_t n = 0; n < moved[i].size(); ++n) moved[i][n] = of_sum(moved[i][n], node.dtype(), by_index ? 1 : n + 1, terms);
    }
    x.emplace_back(moved[i]);
    shapes.push_back(in.shape());
  }
  op.reference(x, shapes, out, node.shape());
  if (sums) {
    for (double& value : out) value = rounded(value, node.dtype());
  }
  if (held != node.dtype()) {
    for (double& value : out) value = as_half(value, held);
  }
  return out;
}

}  // namespace tegula
