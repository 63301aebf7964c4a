#include "tegula/nn/sequences/positions.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "tegula/core/text.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/nn/checks.h"
#include "tegula/nn/init.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {

/// (width / 2) f64: theta^(-2k / width). Made by ops alone, so that each trace makes the same.
Tensor frequencies_of(std::int64_t width, double theta) {
  return exp(cast(arange(width / 2), f64) * (-2 * std::log(theta) / static_cast<double>(width)));
}

void require_even(std::string_view layer, std::int64_t width, const Line& where) {
  require_positive(layer, {{"width", width}}, where);
  if (width % 2 != 0) ops::refuse(layer, "width " + std::to_string(width), "an even number of features", where);
}

/// The first rows of a table for x (…, T, width).
Tensor with_rows(std::string_view layer, const Arg& arg, const Tensor& table) {
  const Tensor x = arg.tensor(layer);
  require_features(layer, x, -1, table.shape()[1], "features", arg.loc);
  const std::int64_t length = x.rank() < 2 ? 1 : x.size(-2);
  if (length > table.shape()[0]) {
    ops::refuse(layer, "a sequence of " + std::to_string(length),
                "at most the " + std::to_string(table.shape()[0]) + " positions of the table", arg.loc);
  }
  return x + graph::cast(slice(table, 0, {0, length}), x.dtype(), arg.loc);
}

/// See RotaryScaling.
Tensor scaled(const Tensor& frequencies, const RotaryScaling& scaling, const Line& where) {
  const double low = scaling.low_freq_factor, high = scaling.high_freq_factor;
  if (!(scaling.factor > 0) || scaling.original_context < 0 || (scaling.original_context > 0 && !(low > 0 && high > low))) {
    ops::refuse("Rotary", "a scaling by " + number_text(scaling.factor) + " between " + number_text(low) + " and " + number_text(high),
                "a positive factor, and low_freq_factor below high_freq_factor", where);
  }
  if (scaling.factor == 1) return frequencies;
  const Tensor slower = frequencies / scaling.factor;
  if (scaling.original_context == 0) return slower;
  const Tensor fitting = frequencies * (static_cast<double>(scaling.original_context) / (2 * std::numbers::pi));  // wavelengths
  const Tensor kept = clamp((fitting - low) / (high - low), 0, 1);
  return kept * frequencies + (1 - kept) * slower;
}

}  // namespace

Tensor sinusoidal_positions(Arg places, std::int64_t width, DType dtype) {
  const In frame("sinusoidal_positions", places.loc);
  require_even("sinusoidal_positions", width, places.loc);
  const Tensor at = places.tensor("sinusoidal_positions");
  const Tensor angles = expand_dims(cast(at, f64), -1) * frequencies_of(width, 10000);
  Shape shape = at.shape();
  shape.push_back(width);
  return cast(reshape(stack({sin(angles), cos(angles)}, -1), shape), dtype);
}

Tensor sinusoidal_positions(std::int64_t length, std::int64_t width, DType dtype, Line where) {
  const In frame("sinusoidal_positions", where);
  return sinusoidal_positions(Arg(arange(length, where), where), width, dtype);
}

SinusoidalPositions::SinusoidalPositions(std::int64_t max_length, std::int64_t width, Line where) {
  const In frame("SinusoidalPositions", where);
  require_positive("SinusoidalPositions", {{"max_length", max_length}}, where);
  table_ = sinusoidal_positions(max_length, width, f32, where);
}
Tensor SinusoidalPositions::operator()(Arg x) const {
  const In frame("SinusoidalPositions", x.loc);
  return with_rows("SinusoidalPositions", x, table_);
}

LearnedPositions::LearnedPositions(std::int64_t max_length, std::int64_t width, DType dtype, Line where) {
  const In frame("LearnedPositions", where);
  require_positive("LearnedPositions", {{"max_length", max_length}, {"width", width}}, where);
  weight = normal({max_length, width}, 0, 0.02, {.dtype = dtype}, where);
}
Tensor LearnedPositions::operator()(Arg x) const {
  const In frame("LearnedPositions", x.loc);
  return with_rows("LearnedPositions", x, weight.read(x.loc));
}
void LearnedPositions::visit(Visitor& visitor, const Path& path) { visit_fields(visitor, path, {{"weight", &weight}}); }

Rotary::Rotary(std::int64_t width, const RotaryOptions& options, Line where) : width_(width), options_(options) {
  const In frame("Rotary", where);
  require_even("Rotary", width, where);
  frequencies_ = scaled(frequencies_of(width, options.theta), options.scaling, where);
  sign_ = reshape(cast(arange(2), f64) * 2.0 - 1.0, options.interleaved ? Shape{2} : Shape{2, 1});
  eval(frequencies_, sign_);
}

Tensor Rotary::operator()(Arg arg, Arg places) const {
  const In frame("Rotary", arg.loc);
  const Tensor x = arg.tensor("Rotary"), at = places.tensor("Rotary");
  require_features("Rotary", x, -1, width_, "features", arg.loc);
  const Shape shape = x.shape();
  const bool fits = x.rank() == 4 && is_integer(at.dtype()) && (at.shape() == Shape{shape[1]} || at.shape() == Shape{shape[0], shape[1]});
  if (!fits) {
    ops::refuse("Rotary", "x of shape " + to_string(shape) + " and places of shape " + to_string(at.shape()),
                "x (B, T, H, width) and integers (T) or (B, T)", arg.loc);
  }
  const DType computed = x.dtype() == f64 ? f64 : f32;
  const Tensor angles = expand_dims(cast(at, computed), -1) * cast(frequencies_, computed);  // (…, T, width / 2)
  const int pair = options_.interleaved ? -1 : -2;  // the axis of the two features that turn together
  const auto of_pairs = [&](const Tensor& t) { return expand_dims(expand_dims(t, -2), options_.interleaved ? -1 : -2); };
  Shape pairs{shape[0], shape[1], shape[2], width_ / 2};
  pairs.insert(options_.interleaved ? 4 : 3, 2);
  const Tensor z = cast(reshape(x, pairs), computed);
  const Tensor y = z * of_pairs(cos(angles)) + flip(z, pair) * (of_pairs(sin(angles)) * cast(sign_, computed));
  return cast(reshape(y, shape), x.dtype());
}

Tensor alibi_slopes(std::int64_t heads, Line where) {
  const In frame("alibi_slopes", where);
  require_positive("alibi_slopes", {{"heads", heads}}, where);
  const auto whole = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const Tensor k = cast(arange(heads, where), f64);
  const double step = -8.0 / static_cast<double>(whole);
  return exp2(tegula::where(k < whole, (k + 1.0) * step, (2.0 * (k - whole) + 1.0) * (step / 2)));
}

Tensor alibi_bias(std::int64_t heads, std::int64_t keys, DType dtype, Line where) {
  const In frame("alibi_bias", where);
  require_positive("alibi_bias", {{"heads", heads}, {"keys", keys}}, where);
  return cast(reshape(alibi_slopes(heads, where), {heads, 1, 1}) * cast(arange(keys, where), f64), dtype);
}

}  // namespace tegula::nn
