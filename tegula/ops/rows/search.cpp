#include "tegula/ops/rows/search.h"

#include <algorithm>
#include <cmath>

#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

/// True where an element of the line comes before the value.
Tensor before(const Tensor& element, const Tensor& value, Side side) {
  return side == Side::Left ? element < value || (isnan(value) && !isnan(element)) : element <= value || isnan(value);
}

/// Lines longer than this are searched by halves; shorter ones are compared as a whole, which is one fused program.
constexpr std::int64_t kLongestCounted = 128;

/// line (rows, n), values (rows, m): the largest step first, each is taken where the element before the position it leads to stands before the value.
Tensor by_halves(const Tensor& line, const Tensor& values, Side side, const Line& where) {
  const std::int64_t n = line.shape()[1];
  std::int64_t step = 1;
  while (step <= n / 2) step *= 2;
  Tensor place = graph::full(values.shape(), 0, i64, where);
  for (; step > 0; step /= 2) {
    const Tensor next = place + step;
    const Tensor element = ops::gather_along(line, 1, minimum(next, n) - 1, ops::IndexForm::Full, where);
    place = tegula::where(next <= n && before(element, values, side), next, place);
  }
  return place;
}

Tensor search(std::string_view op, const Arg& sorted, const Arg& arg, Side side) {
  const In frame(op, arg.loc);
  const Tensor line = sorted.tensor(op), values = arg.tensor(op);
  Shape leading = values.shape();
  if (line.rank() > 1 && !leading.empty()) leading[leading.rank() - 1] = line.shape().back();
  if (line.rank() == 0 || (line.rank() > 1 && leading != line.shape())) {
    ops::refuse(op, "a sorted tensor of shape " + to_string(line.shape()) + " for values of shape " + to_string(values.shape()),
                "rank 1, or the values' leading axes", arg.loc);
  }
  const std::int64_t n = line.shape().back();
  if (n <= kLongestCounted) {
    const Tensor lines = line.rank() == 1 ? line : expand_dims(line, -2);
    return sum(before(lines, expand_dims(values, -1), side), -1);
  }
  const std::int64_t rows = line.numel() / n;
  const Tensor flat = graph::reshape(values, {rows, rows > 0 ? values.numel() / rows : 0}, arg.loc);
  return graph::reshape(by_halves(graph::reshape(line, {rows, n}, arg.loc), flat, side, arg.loc), values.shape(), arg.loc);
}

/// sorted: ascending along axis 0, at least one element.
Tensor at_rank(const Tensor& sorted, double q, QuantileMethod method, const Line& where) {
  const double rank = q * static_cast<double>(sorted.shape()[0] - 1), lower = std::floor(rank), fraction = rank - lower;
  const auto element = [&](double place) { return select(Arg(sorted, where), 0, static_cast<std::int64_t>(place)); };
  switch (method) {
    case QuantileMethod::Lower: return element(lower);
    case QuantileMethod::Higher: return element(std::ceil(rank));
    case QuantileMethod::Nearest: return element(std::nearbyint(rank));
    default: break;
  }
  if (fraction == 0) return element(lower);
  const double share = method == QuantileMethod::Midpoint ? 0.5 : fraction;
  const Tensor a = ops::widen(element(lower)), b = ops::widen(element(lower + 1));
  const Tensor between = share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);  // exact at both ends
  // Their difference overflows only where the signs differ; that from an infinity is one, with either sign.
  const Tensor apart = (a < 0) != (b < 0) || isinf(a) || isinf(b);
  const Tensor mixed = tegula::where(apart, a * (1 - share) + b * share, between);
  return ops::narrow(tegula::where(a == b, a, mixed), sorted.dtype());  // equal infinities have no difference
}

Tensor quantiles(const Arg& arg, std::span<const double> qs, std::optional<int> axis, const QuantileOptions& options, bool several) {
  const In frame("quantile", arg.loc);
  const auto& where = arg.loc;
  Tensor x = ops::float_tensor("quantile", arg);
  const Shape whole = x.shape();
  if (!axis) x = graph::reshape(x, {x.numel()}, where);
  const int a = axis ? ops::axis_of("quantile", *axis, whole, where) : 0;
  if (x.rank() == 0) x = graph::reshape(x, {1}, where);
  for (const double q : qs) {
    if (!(q >= 0 && q <= 1)) ops::refuse("quantile", "q = " + number_text(q), "a number from 0 to 1", where);
  }
  if (x.shape()[a] == 0) ops::refuse("quantile", "shape " + to_string(whole), "at least one element along the axis", where);
  if (qs.empty()) ops::refuse("quantile", "no q", "at least one", where);
  const Tensor lines = movedim(x, a, 0);
  const Tensor sorted = tegula::sort(lines, 0).values;
  const Tensor has_nan = any(isnan(lines), 0), nan = graph::scalar(std::nan(""), x.dtype(), where);
  std::vector<Tensor> parts;
  for (const double q : qs) {
    const Tensor y = tegula::where(has_nan, nan, at_rank(sorted, q, options.method, where));
    Shape shape = y.shape();
    if (options.keep == Keep::Yes) {
      if (axis && !whole.empty()) shape.insert(a, 1);
      else shape = Dims::filled(whole.rank(), 1);
    }
    parts.push_back(graph::reshape(y, shape, where));
  }
  return several ? stack(parts, 0) : parts[0];
}

/// The values as an index whose range is checked.
Tensor counted(const Arg& arg, std::int64_t length) {
  const Tensor values = arg.tensor("bincount");
  if (!is_integer(values.dtype()) || values.rank() != 1) {
    ops::refuse("bincount", std::string(name(values.dtype())) + " of shape " + to_string(values.shape()), "integers of rank 1", arg.loc);
  }
  if (length < 0) ops::refuse("bincount", "length " + std::to_string(length), "at least 0", arg.loc);
  return graph::cast(values, i64, arg.loc);
}

Tensor sums_by_value(const Tensor& values, const Tensor& weights, std::int64_t length, const Line& where) {
  const Tensor index = ops::check_labels("bincount", values, values, {.count = length}, where);
  return ops::scatter_sum(weights, 0, index, ops::IndexForm::Shared, length, where);
}

}  // namespace

Tensor searchsorted(Arg sorted, Arg values, Side side) { return search("searchsorted", sorted, values, side); }
Tensor bucketize(Arg values, Arg boundaries, Side side) {
  if (const int rank = boundaries.tensor("bucketize").rank(); rank != 1) {
    ops::refuse("bucketize", "boundaries of rank " + std::to_string(rank), "rank 1", values.loc,
                "searchsorted() takes a line for each row");
  }
  return search("bucketize", boundaries, values, side);
}

Tensor quantile(Arg x, double q, std::optional<int> axis, const QuantileOptions& options) {
  return quantiles(x, std::span(&q, 1), axis, options, false);
}
Tensor quantile(Arg x, const std::vector<double>& qs, std::optional<int> axis, const QuantileOptions& options) {
  return quantiles(x, qs, axis, options, true);
}

Tensor bincount(Arg values, std::int64_t length) {
  const In frame("bincount", values.loc);
  const Tensor index = counted(values, length);
  return sums_by_value(index, graph::full(index.shape(), 1, i64, values.loc), length, values.loc);
}

Tensor bincount(Arg values, std::int64_t length, Arg weights) {
  const In frame("bincount", values.loc);
  const Tensor index = counted(values, length), w = weights.tensor("bincount");
  if (w.shape() != index.shape() || w.dtype() == boolean) {
    ops::refuse("bincount", "weights " + std::string(name(w.dtype())) + to_string(w.shape()) + " for values " + to_string(index.shape()),
                "a number for each value", values.loc);
  }
  return sums_by_value(index, w, length, values.loc);
}

std::vector<OpCase> search_cases() {
  using Inputs = std::vector<Tensor>;
  std::vector<OpCase> cases;
  const auto sorted = [](const Tensor& x) { return tegula::sort(x).values; };
  cases.push_back({.op = "searchsorted",
                   .function = [=](const Inputs& x) { return searchsorted(sorted(x[0]), x[1], Side::Right); },
                   .inputs = {{{33}}, {{7, 5}}},
                   .dtypes = kNumbers,
                   .more_shapes = {{{2000}, {7, 5}}, {{3, 33}, {3, 5}}, {{3, 700}, {3, 11}}, {{0}, {3}}, {{300}, {}}},
                   .gradient = false});
  cases.push_back({.op = "bucketize",
                   .function = [=](const Inputs& x) { return bucketize(x[0], sorted(x[1])); },
                   .inputs = {{{7, 5}}, {{33}}},
                   .dtypes = kNumbers,
                   .more_shapes = {{{11}, {1023}}},
                   .gradient = false});
  const auto add = [&](std::vector<std::vector<Shape>> more, std::function<Tensor(const Tensor&)> function) {
    cases.push_back({.op = "quantile",
                     .function = [=](const Inputs& x) { return function(x[0]); },
                     .inputs = {{{7, 33}, -100, 100}},
                     .more_shapes = std::move(more),
                     .second = false});
  };
  add({{{1}}, {{5, 9, 7}}}, [](const Tensor& x) { return quantile(x, 0.3); });
  add({{{41}}, {{5, 9, 7}}}, [](const Tensor& x) { return quantile(x, {0.0, 0.25, 0.77, 1.0}, -1, {.keep = Keep::Yes}); });
  add({}, [](const Tensor& x) { return quantile(x, 0.4, 0, {.method = QuantileMethod::Midpoint}); });
  add({}, [](const Tensor& x) { return quantile(x, 0.4, 0, {.method = QuantileMethod::Nearest}); });
  const CaseInput values{.shape = {33}, .low = 0, .high = 8, .dtype = i64};
  cases.push_back({.op = "bincount",
                   .function = [](const Inputs& x) { return bincount(x[0], 11); },
                   .inputs = {values},
                   .dtypes = {i64},
                   .more_shapes = {{{0}}, {{1023}}}});
  cases.push_back({.op = "bincount",
                   .function = [](const Inputs& x) { return bincount(cast(x[0], i32), 9, x[1]); },
                   .inputs = {values, {{33}}},
                   .dtypes = kNumbers,
                   .more_shapes = {{{0}, {0}}},
                   .tolerance = 64});
  return cases;
}

}  // namespace tegula
