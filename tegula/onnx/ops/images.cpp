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
#include "tegula/ops/images/regions.h"
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

/// Each region in output_height x output_width cells, each the mean or maximum of sampling_ratio² places.
Results aligned(const Call& call) {
  const std::int64_t samples = call.integer("sampling_ratio", 0);
  if (samples < 1) call.refuse("sampling_ratio = 0, whose number of places depends on values", "at least 1");
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") call.refuse("mode " + mode, "avg or max");
  const std::string corners = call.text("coordinate_transformation_mode", call.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  return roi_align(call[0], call[1], call[2],
                   {.height = call.integer("output_height", 1),
                    .width = call.integer("output_width", 1),
                    .scale = call.number("spatial_scale", 1),
                    .samples = samples,
                    .aligned = corners == "half_pixel",
                    .mode = mode == "max" ? RoiMode::Max : RoiMode::Mean});
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
