// Images in another size, and looked at from other places.

#include <algorithm>
#include <cmath>

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/resize.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/images/grid_sample.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// Factors of all axes; before operator set 7 those of height and width.
Results upsampled(const Call& call) {
  const Tensor x = call[0];
  Resizing how{.mode = call.text("mode", "nearest"), .places = "asymmetric", .nearest = "floor"};
  std::vector<double> scales;
  if (call.has("scales")) {
    for (const float one : call.numbers("scales")) scales.push_back(static_cast<double>(one));
  } else if (call.has("height_scale")) {
    scales = {1, 1, call.number("height_scale", 1), call.number("width_scale", 1)};
  } else {
    scales = call.numbers(1);
  }
  if (static_cast<int>(scales.size()) != x.rank()) call.refuse(std::to_string(scales.size()) + " scales", std::to_string(x.rank()));
  Tensor out = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const double scale = scales[static_cast<std::size_t>(axis)];
    out = resized(call, out, axis, {static_cast<std::int64_t>(std::floor(static_cast<double>(x.size(axis)) * scale)), scale}, how);
  }
  return out;
}

Results resized_of(const Call& call) {
  if (call.opset() < 11) return upsampled(call);
  const Tensor x = call[0];
  Resizing how{.mode = call.text("mode", "nearest"),
               .places = call.text("coordinate_transformation_mode", "half_pixel"),
               .nearest = call.text("nearest_mode", "round_prefer_floor"),
               .cubic = call.number("cubic_coeff_a", -0.75),
               .excludes_outside = call.flag("exclude_outside"),
               .is_antialiased = call.flag("antialias"),
               .extrapolation = call.number("extrapolation_value", 0)};
  std::vector<std::int64_t> axes = call.integers("axes");
  if (!call.has("axes"))
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  const auto amount = [&](std::size_t i) { return call.has(i) && call[i].numel() > 0; };
  const std::vector<double> roi = amount(1) ? call.numbers(1) : std::vector<double>();
  std::vector<NewSize> sizes;
  if (amount(3)) {
    const auto wanted = call.integers(3);
    if (wanted.size() != axes.size()) call.refuse(std::to_string(wanted.size()) + " sizes", std::to_string(axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      sizes.push_back({wanted[i], static_cast<double>(wanted[i]) / static_cast<double>(x.size(call.axis(axes[i], x.rank())))});
    const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
      call.refuse("keep_aspect_ratio_policy " + policy, "stretch, not_larger or not_smaller");
    if (policy != "stretch") {
      const auto by_scale = [](const NewSize& a, const NewSize& b) { return a.scale < b.scale; };
      const double scale =
          policy == "not_larger" ? std::ranges::min_element(sizes, by_scale)->scale : std::ranges::max_element(sizes, by_scale)->scale;
      for (std::size_t i = 0; i < axes.size(); ++i)
        sizes[i] = {static_cast<std::int64_t>(std::floor(scale * static_cast<double>(x.size(call.axis(axes[i], x.rank()))) + 0.5)), scale};
    }
  } else {
    const auto scales = call.numbers(2);
    if (scales.size() != axes.size()) call.refuse(std::to_string(scales.size()) + " scales", std::to_string(axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      sizes.push_back(
          {static_cast<std::int64_t>(std::floor(scales[i] * static_cast<double>(x.size(call.axis(axes[i], x.rank()))))), scales[i]});
  }
  const bool crops = how.places == "tf_crop_and_resize";
  if (crops && roi.size() != 2 * axes.size())
    call.refuse("a roi of " + std::to_string(roi.size()) + " numbers", std::to_string(2 * axes.size()));
  Tensor out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (crops) how.begin = roi[i], how.end = roi[i + axes.size()];
    out = resized(call, out, call.axis(axes[i], x.rank()), sizes[i], how);
  }
  return out;
}

Results sampled(const Call& call) {
  GridSampleOptions options{.align_corners = call.flag("align_corners")};
  const std::string mode = call.text("mode", "linear"), padding = call.text("padding_mode", "zeros");
  if (mode == "nearest") options.mode = GridMode::Nearest;
  else if (mode == "cubic" || mode == "bicubic") options.mode = GridMode::Bicubic;
  else if (mode != "linear" && mode != "bilinear") call.refuse("mode " + mode, "linear, nearest or cubic");
  if (padding == "border") options.padding = GridPadding::Border;
  else if (padding == "reflection") options.padding = GridPadding::Reflection;
  else if (padding != "zeros") call.refuse("padding_mode " + padding, "zeros, border or reflection");
  return grid_sample(call[0], call[1], options);
}

Results grid_of(const Call& call) {
  return affine_grid(call[0], shape_of(call, call.integers(1)), {.align_corners = call.flag("align_corners")});
}

/// x (N, C, H, W) at places (R, P) of rows and columns of the images `of` (R): (R, C, P), between the four pixels around each; 0 beyond one pixel outside.
Tensor between_pixels(const Tensor& x, const Tensor& of, const Tensor& y, const Tensor& z, bool takes_greatest) {
  const std::int64_t h = x.size(2), w = x.size(3);
  const Tensor is_outside = y < -1.0 || y > static_cast<double>(h) || z < -1.0 || z > static_cast<double>(w);
  const auto around = [](const Tensor& place, std::int64_t size) {
    const Tensor inside = clamp(place, 0.0, static_cast<double>(size - 1));
    const Tensor low = floor(inside);
    const Tensor high = minimum(low + 1, static_cast<double>(size - 1));
    return std::tuple(cast(low, i64), cast(high, i64), inside - low);
  };
  const auto [y0, y1, dy] = around(y, h);
  const auto [z0, z1, dz] = around(z, w);
  const Tensor images = reshape(permute(x, {0, 2, 3, 1}), {x.size(0) * h * w, x.size(1)});
  const Tensor first = reshape(of, {-1, 1}) * (h * w);
  const auto part = [&](const Tensor& row, const Tensor& column, const Tensor& weight) {
    return take(images, first + row * w + column, 0) * unsqueeze(weight, -1);  // (R, P, C)
  };
  const Tensor a = part(y0, z0, (1 - dy) * (1 - dz)), b = part(y0, z1, (1 - dy) * dz), c = part(y1, z0, dy * (1 - dz)),
               d = part(y1, z1, dy * dz);
  const Tensor value = takes_greatest ? maximum(maximum(a, b), maximum(c, d)) : a + b + c + d;
  return transpose(where(unsqueeze(is_outside, -1), 0.0, value), 1, 2);
}

/// Each region in output_height x output_width cells, each the mean or maximum of sampling_ratio² places.
Results aligned(const Call& call) {
  const Tensor x = call[0], rois = call[1], of = cast(call[2], i64);
  const std::int64_t rows = call.integer("output_height", 1), columns = call.integer("output_width", 1),
                     ratio = call.integer("sampling_ratio", 0);
  if (ratio < 1) call.refuse("sampling_ratio = 0, whose number of places depends on values", "at least 1");
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") call.refuse("mode " + mode, "avg or max");
  const double scale = call.number("spatial_scale", 1);
  const bool is_half = call.text("coordinate_transformation_mode", call.opset() >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  const Tensor corner = rois * scale - (is_half ? 0.5 : 0.0);  // (R, 4): x1, y1, x2, y2
  const auto places = [&](int low, std::int64_t cells) {
    const Tensor begin = select(corner, 1, low);
    Tensor length = select(corner, 1, low + 2) - begin;
    if (!is_half) length = maximum(length, 1.0);
    const Tensor at = (cast(arange(cells * ratio), x.dtype()) + 0.5) / static_cast<double>(cells * ratio);
    return unsqueeze(begin, 1) + unsqueeze(length, 1) * at;  // (R, cells * ratio)
  };
  const std::int64_t r = rois.size(0), h = rows * ratio, w = columns * ratio;
  const Tensor y = reshape(expand(unsqueeze(places(1, rows), 2), {r, h, w}), {r, h * w});
  const Tensor z = reshape(expand(unsqueeze(places(0, columns), 1), {r, h, w}), {r, h * w});
  const Tensor values = reshape(between_pixels(x, of, y, z, mode == "max"), {r, x.size(1), rows, ratio, columns, ratio});
  return mode == "max" ? max(values, {3, 5}) : mean(values, {3, 5});
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Resize", [](Call& c) -> Results { return resized_of(c); }, "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value keep_aspect_ratio_policy mode nearest_mode", looked({1, 2, 3})},
    {"Upsample", [](Call& c) -> Results { return upsampled(c); }, "mode scales height_scale width_scale", looked({1})},
    {"GridSample", [](Call& c) -> Results { return sampled(c); }, "align_corners mode padding_mode"},
    {"AffineGrid", [](Call& c) -> Results { return grid_of(c); }, "align_corners", looked({1})},
    {"RoiAlign", [](Call& c) -> Results { return aligned(c); }, "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
};
// clang-format on

}  // namespace

Operators image_operators() { return kOperators; }

}  // namespace tegula::onnx
