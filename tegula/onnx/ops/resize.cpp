#include "tegula/onnx/ops/resize.h"

#include <algorithm>
#include <cmath>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// The place in the input of place `at` of the result.
double place_of(const Call& call, double at, std::int64_t in, const NewSize& to, const Resizing& how) {
  const auto width = static_cast<double>(in), wide = to.scale * width;
  if (how.places == "half_pixel") return (at + 0.5) / to.scale - 0.5;
  if (how.places == "asymmetric") return at / to.scale;
  if (how.places == "align_corners") return wide == 1 ? 0 : at * (width - 1) / (wide - 1);
  if (how.places == "pytorch_half_pixel") return wide == 1 ? -0.5 : (at + 0.5) / to.scale - 0.5;
  if (how.places == "half_pixel_symmetric") return width / 2 * (1 - static_cast<double>(to.size) / wide) + (at + 0.5) / to.scale - 0.5;
  if (how.places == "tf_crop_and_resize") {
    const double part = how.end - how.begin;
    return how.begin * (width - 1) + (wide == 1 ? part * (width - 1) / 2 : at * part * (width - 1) / (wide - 1));
  }
  call.refuse("coordinate_transformation_mode " + how.places, "one of ONNX's");
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The weights of the neighbours from `first` on, beside the element to the left of the place, which is `ratio` in (0, 1] away.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

Taps taps_of(const Call& call, double ratio, double scale, const Resizing& how) {
  if (how.mode == "nearest") {
    const bool goes_left = how.nearest == "round_prefer_floor"  ? ratio <= 0.5
                           : how.nearest == "round_prefer_ceil" ? ratio < 0.5
                           : how.nearest == "floor"             ? true
                           : how.nearest == "ceil"              ? false
                                                                : (call.refuse("nearest_mode " + how.nearest, "one of ONNX's"), false);
    return {goes_left && ratio < 1 ? 0 : 1, {1}};
  }
  const bool is_cubic = how.mode == "cubic";
  if (!is_cubic && how.mode != "linear" && how.mode != "bilinear") call.refuse("mode " + how.mode, "nearest, linear or cubic");
  const double shrink = how.is_antialiased ? std::min(scale, 1.0) : 1, reach = is_cubic ? 2 : 1;
  Taps out{static_cast<std::int64_t>(std::floor(-reach / shrink)) + 1, {}};
  double sum = 0;
  for (std::int64_t i = out.first; i < 2 - out.first; ++i) {
    const double distance = shrink * (static_cast<double>(i) - ratio);
    out.weights.push_back(is_cubic ? cubic_weight(distance, how.cubic) : std::max(1 - std::abs(distance), 0.0));
    sum += out.weights.back();
  }
  if (how.is_antialiased)
    for (double& weight : out.weights) weight /= sum;
  return out;
}

}  // namespace

Tensor resized(const Call& call, const Tensor& given, int axis, const NewSize& to, const Resizing& how) {
  const std::int64_t in = given.size(axis);
  const bool crops = how.places == "tf_crop_and_resize";
  if (to.size == in && to.scale == 1 && !crops) return given;
  if (to.size < 0 || in < 1 || !(to.scale > 0))
    call.refuse("an axis of " + std::to_string(in) + " to be " + std::to_string(to.size), "sizes above 0");
  std::vector<std::vector<std::int64_t>> index;  // of tap, place
  std::vector<std::vector<double>> weight;
  std::vector<double> outside(static_cast<std::size_t>(to.size), 0);
  for (std::int64_t k = 0; k < to.size; ++k) {
    const double place = place_of(call, static_cast<double>(k), in, to, how);
    const double left = std::ceil(place) - 1;
    if (crops && (place < 0 || place > static_cast<double>(in - 1))) outside[static_cast<std::size_t>(k)] = 1;
    Taps taps = taps_of(call, place - left, to.scale, how);
    double sum = 0;
    for (std::size_t t = 0; t < taps.weights.size(); ++t) {
      if (index.size() <= t) index.emplace_back(), weight.emplace_back();
      const std::int64_t at = static_cast<std::int64_t>(std::clamp(left, -1e15, 1e15)) + taps.first + static_cast<std::int64_t>(t);
      if (how.excludes_outside && (at < 0 || at >= in)) taps.weights[t] = 0;
      sum += taps.weights[t];
      index[t].push_back(std::clamp<std::int64_t>(at, 0, in - 1));
      weight[t].push_back(taps.weights[t]);
    }
    if (how.excludes_outside)
      for (std::size_t t = 0; t < taps.weights.size(); ++t) weight[t].back() /= sum;
  }
  const bool is_nearest = how.mode == "nearest";
  const DType wide = is_nearest || given.dtype() == f64 ? given.dtype() : f32;
  const Tensor x = cast(given, wide);
  Tensor out;
  for (std::size_t t = 0; t < index.size(); ++t) {
    Tensor part = take(x, constant(index[t]), axis);
    if (!is_nearest) part = part * along(cast(tensor(weight[t]), wide), axis, x.rank());
    out = out.defined() ? out + part : part;
  }
  if (!out.defined()) return slice(given, axis, {0, 0});
  if (crops && std::ranges::find(outside, 1.0) != outside.end())
    out = where(along(tensor(outside) == 1.0, axis, x.rank()), how.extrapolation, out);
  return cast(out, given.dtype());
}

}  // namespace tegula::onnx
