#include "tegula/ops/images/interpolate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/images/resample.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

bool is_nearest(Interpolation mode) { return mode == Interpolation::Nearest || mode == Interpolation::NearestExact; }

Tensor tent(const Tensor& distance) { return relu(1 - abs(distance)); }

using ops::cubic;

/// The resizing of one axis: the matrix of (outputs, inputs) is a formula of both positions, so its transposed one is too. All of it is a graph over
/// positions, in f64, which a jit-ed function computes once.
class AxisResize {
 public:
  AxisResize(std::int64_t in, std::int64_t out, double factor, const InterpolateOptions& options, const Line& where)
      : in_(in),
        out_(out),
        mode_(options.mode),
        corners_(options.align_corners),
        antialias_(options.antialias),
        where_(where) {
    const double ratio = static_cast<double>(in) / static_cast<double>(out);
    if (corners_) scale_ = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    else scale_ = factor > 0 ? 1 / factor : ratio;
    // A size that stays is left as it is, whatever the factor, as in PyTorch.
    if (out == in && (mode_ == Interpolation::Linear || antialias_)) scale_ = ratio;
  }

  bool changes_nothing() const { return in_ == out_ && scale_ == 1; }
  /// (out) i64: the elements that Nearest and NearestExact take.
  Tensor nearest() const { return graph::cast(nearest_of(places(out_)), i64, where_); }
  /// True if each element is taken as often as the next: a view.
  bool repeats() const { return is_nearest(mode_) && is_exact() && out_ % in_ == 0; }

  ops::Band matrix(DType dtype) const {
    Tensor first;
    std::int64_t taps = 1;
    const Tensor o = places(out_);
    if (is_nearest(mode_)) {
      first = nearest_of(o);
    } else if (antialias_) {
      first = floor(source(o) - reach() + 1);
      taps = 2 * static_cast<std::int64_t>(std::ceil(reach())) + 1;
    } else {
      first = floor(position(o)) - (mode_ == Interpolation::Cubic ? 1 : 0);
      taps = mode_ == Interpolation::Cubic ? 4 : 2;
    }
    const Tensor j = expand_dims(first, 1) + graph::reshape(places(taps), {1, taps}, where_);
    return {graph::cast(first, i64, where_), graph::cast(weight(expand_dims(o, 1), j), dtype, where_)};
  }

  ops::Band transposed(DType dtype) const {
    const Tensor j = places(in_);
    // The outputs whose source lies less than `reach` away; the nearest is up to half an output's width further, by its other convention.
    const double width = is_nearest(mode_) ? 1 + scale_ / 2 : reach();
    std::int64_t taps = out_;
    Tensor first = graph::full({in_}, 0, f64, where_);
    if (scale_ > 0 && 2 * width / scale_ + 2 < static_cast<double>(out_)) {
      taps = static_cast<std::int64_t>(std::ceil(2 * width / scale_)) + 2;
      first = floor(at_corners() ? (j - width) / scale_ : (j - width + 0.5) / scale_ - 0.5);
    }
    const Tensor o = expand_dims(first, 1) + graph::reshape(places(taps), {1, taps}, where_);
    return {graph::cast(first, i64, where_), graph::cast(weight(o, expand_dims(j, 1)), dtype, where_)};
  }

 private:
  Tensor places(std::int64_t count) const { return graph::cast(graph::index({{count}, {1}, 0}, where_), f64, where_); }

  /// With antialias, align_corners is PyTorch's: its scale, and the positions of without (_compute_indices_weights_aa of its UpSampleKernel.cpp).
  bool at_corners() const { return corners_ && !antialias_; }
  /// The source of output o, in coordinates of the input.
  Tensor source(const Tensor& o) const { return at_corners() ? o * scale_ : (o + 0.5) * scale_ - 0.5; }
  Tensor position(const Tensor& o) const {
    return mode_ == Interpolation::Linear ? clamp(source(o), 0.0, static_cast<double>(in_ - 1)) : source(o);
  }
  /// True if the sizes alone determine an output's source.
  bool is_exact() const { return scale_ == static_cast<double>(in_) / static_cast<double>(out_); }
  Tensor nearest_of(const Tensor& o) const {
    const Tensor twice = mode_ == Interpolation::NearestExact ? o * 2 + 1 : o * 2;
    const auto in = static_cast<double>(in_), out = static_cast<double>(out_);
    return minimum(is_exact() ? floor(twice * in / (2 * out)) : floor(twice * (scale_ / 2)), in - 1);
  }

  /// The distance from its source that the filter reaches.
  double reach() const { return (mode_ == Interpolation::Cubic ? 2 : 1) * (antialias_ ? std::max(scale_, 1.0) : 1.0); }

  /// The matrix's elements at positions o and j, which broadcast.
  Tensor weight(const Tensor& o, const Tensor& j) const {
    if (is_nearest(mode_)) return graph::cast(nearest_of(o) == j, f64, where_);
    if (antialias_) return filtered(o, j) / total(clamp(o, 0.0, static_cast<double>(out_ - 1)));
    const Tensor p = position(o);
    if (mode_ == Interpolation::Linear) return tent(p - j);
    const auto at = [&](double place) { return cubic(p - place, -0.75); };
    const double last = static_cast<double>(in_ - 1);  // beyond the edge the edge's element is taken
    return cubic(p - j, -0.75) + where(j == 0, at(-1) + at(-2), 0) + where(j == last, at(last + 1) + at(last + 2), 0);
  }
  Tensor filtered(const Tensor& o, const Tensor& j) const {
    const Tensor distance = (source(o) - j) / std::max(scale_, 1.0);
    const Tensor inside = j >= 0 && j < static_cast<double>(in_);
    return where(inside, mode_ == Interpolation::Linear ? tent(distance) : cubic(distance, -0.5), 0);
  }
  /// The sum of row o's elements.
  Tensor total(const Tensor& o) const {
    const std::int64_t taps = 2 * static_cast<std::int64_t>(std::ceil(reach())) + 1;
    Shape shape = Dims::filled(o.rank() + 1, 1);
    shape[o.rank()] = taps;
    const Tensor row = expand_dims(o, -1);
    return sum(filtered(row, floor(source(row) - reach() + 1) + graph::reshape(places(taps), shape, where_)), -1);
  }

  std::int64_t in_, out_;
  Interpolation mode_;
  bool corners_, antialias_;
  double scale_;  // positions of the input to one of the output
  const Line& where_;
};

void check_options(const Tensor& x, const InterpolateOptions& options, const Line& where) {
  const auto refuse = [&](std::string got, std::string expected) {
    ops::refuse("interpolate", std::move(got), std::move(expected), where);
  };
  const int axes = x.rank() - 2;
  if (axes < 1 || axes > 3 || numel(spatial(x.shape())) == 0) {
    refuse("shape " + to_string(x.shape()), "(N, C, spatial…) with one to three spatial axes that are not empty");
  }
  const bool smooth = options.mode == Interpolation::Linear || options.mode == Interpolation::Cubic;
  if (!smooth && options.align_corners) refuse("align_corners of a mode that has none", "Linear or Cubic");
  if (!smooth && options.antialias) refuse("antialias of a mode that has none", "Linear or Cubic");
  const std::vector<double>& factors = options.scale_factor.values();
  if (options.size.given() == !factors.empty())
    refuse(factors.empty() ? "neither size nor scale_factor" : "size and scale_factor", "one of them");
  if (factors.size() > 1 && factors.size() != static_cast<std::size_t>(axes)) {
    refuse(std::to_string(factors.size()) + " scale factors", "one, or one for each of " + std::to_string(axes) + " spatial axes");
  }
  for (const double factor : factors) {
    if (!(factor > 0 && std::isfinite(factor))) refuse("scale_factor " + number_text(factor), "a positive number");
  }
  if (!is_float(x.dtype()) && !is_nearest(options.mode)) refuse("dtype " + std::string(name(x.dtype())), "a float type for this mode");
}

}  // namespace

Tensor interpolate(Arg arg, const InterpolateOptions& options) {
  const In frame("interpolate", arg.loc);
  const auto& where = arg.loc;
  const Tensor given = arg.tensor("interpolate");
  check_options(given, options, where);
  const int axes = given.rank() - 2;
  const std::vector<double>& factors = options.scale_factor.values();
  const auto factor_of = [&](int i) { return factors.empty() ? 0 : factors[factors.size() == 1 ? 0 : static_cast<std::size_t>(i)]; };
  Dims size = factors.empty() ? options.size.expand(axes, 1, "interpolate", "size", where) : spatial(given.shape());
  for (int i = 0; i < axes && !factors.empty(); ++i) {
    const double elements = std::floor(static_cast<double>(size[i]) * factor_of(i));
    if (elements < 1 || elements > 0x1p40) {
      ops::refuse("interpolate", "scale_factor " + number_text(factor_of(i)) + " for an axis of size " + std::to_string(size[i]),
                  "a result with elements, fewer than 2^40", where);
    }
    size[i] = static_cast<std::int64_t>(elements);
  }
  if (options.mode == Interpolation::Area) {
    return axes == 1 ? adaptive_avg_pool1d(given, size) : axes == 2 ? adaptive_avg_pool2d(given, size) : adaptive_avg_pool3d(given, size);
  }
  std::vector<int> order(static_cast<std::size_t>(axes));
  std::iota(order.rbegin(), order.rend(), 0);  // among equal ones the last axis first: lines are longest after it
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return size[a] * given.shape()[b + 2] < size[b] * given.shape()[a + 2]; });
  const bool moved = !is_float(given.dtype()) || (is_float8(given.dtype()) && is_nearest(options.mode));  // whole elements
  Tensor x = moved ? given : ops::widen(given);
  for (const int i : order) {
    const AxisResize resize(given.shape()[i + 2], size[i], factor_of(i), options, where);
    if (resize.changes_nothing()) continue;
    if (resize.repeats()) x = repeat_interleave(x, size[i] / given.shape()[i + 2], i + 2);
    else if (moved) x = ops::gather_along(x, i + 2, resize.nearest(), ops::IndexForm::Shared, where);
    else x = ops::resample(x, i + 2, resize.matrix(x.dtype()), resize.transposed(x.dtype()), where);
  }
  return graph::distinct(ops::narrow(x, given.dtype()), given, where);
}

std::vector<OpCase> interpolate_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](const Shape& shape, const InterpolateOptions& options, std::vector<std::vector<Shape>> more = {},
                       const std::vector<DType>& dtypes = kFloats) {
    cases.push_back({.op = "interpolate",
                     .function = [=](const auto& x) { return interpolate(x[0], options); },
                     .inputs = {{shape}},
                     .dtypes = dtypes,
                     .more_shapes = std::move(more),
                     .tolerance = 64});
  };
  add({2, 3, 5, 4}, {.scale_factor = 2}, {{{2, 3, 7}}, {{0, 3, 5, 4}}, {{1, 2, 2, 3, 4}}}, kEverything);
  add({2, 3, 5, 7}, {.size = {3, 11}, .mode = Interpolation::NearestExact}, {}, kEverything);
  add({2, 3, 5, 4}, {.scale_factor = 2, .mode = Interpolation::Bilinear}, {{{2, 3, 7}}, {{1, 2, 3, 1, 4}}, {{0, 3, 5, 4}}});
  add({2, 3, 5, 9}, {.size = {7, 4}, .mode = Interpolation::Bilinear}, {{{1, 1, 1, 1}}});
  add({2, 3, 5, 9}, {.size = {8, 1}, .mode = Interpolation::Bilinear, .align_corners = true});
  add({1, 2, 5, 9}, {.scale_factor = {1.7, 0.6}, .mode = Interpolation::Bicubic}, {{{1, 1, 2, 3}}});
  add({1, 2, 5, 9}, {.size = {8, 7}, .mode = Interpolation::Bicubic, .align_corners = true});
  add({1, 2, 12, 9}, {.size = {5, 13}, .mode = Interpolation::Bilinear, .antialias = true});
  add({1, 2, 12, 9}, {.size = {5, 13}, .mode = Interpolation::Bicubic, .antialias = true});
  add({1, 2, 12, 9}, {.size = {5, 13}, .mode = Interpolation::Bicubic, .align_corners = true, .antialias = true});
  add({1, 2, 12, 9}, {.size = {5, 3}, .mode = Interpolation::Area});
  return cases;
}

}  // namespace tegula
