#include "tegula/ops/images/grid_sample.h"

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/images/resample.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

constexpr double kNowhere = -0x1p31;  // outside of every image: a point that is none

/// Back and forth between low and high.
Tensor reflected(const Tensor& place, double low, double high) {
  const double span = high - low;
  if (span <= 0) return place * 0;
  const Tensor distance = abs(place - low), rest = fmod(distance, span);
  return where(remainder(floor(distance / span), 2) == 1, span - rest, rest) + low;
}

/// A point in pixels, brought inside as the padding says.
Tensor padded(Tensor at, std::int64_t size, const GridSampleOptions& options) {
  const auto n = static_cast<double>(size);
  if (options.padding == GridPadding::Reflection) at = options.align_corners ? reflected(at, 0, n - 1) : reflected(at, -0.5, n - 0.5);
  return options.padding == GridPadding::Zeros ? at : clamp(at, 0, n - 1);
}

/// Places from -1 to 1 as those of pixels.
Tensor pixel_of(const Tensor& place, std::int64_t size, const GridSampleOptions& options) {
  const auto n = static_cast<double>(size);
  Tensor at = options.align_corners ? (place + 1) * ((n - 1) / 2) : ((place + 1) * n - 1) / 2;
  if (options.mode != GridMode::Bicubic) at = padded(at, size, options);  // cubic: each of its pixels
  return where(abs(at) < 0x1p31, at, kNowhere);
}

/// The contribution of one axis to one of the pixels around each point.
struct Pixel {
  Tensor place;   // (points) i64
  Tensor weight;  // empty: 1
  Tensor inside;  // booleans
};
int pixels_along(GridMode mode) { return mode == GridMode::Nearest ? 1 : mode == GridMode::Bilinear ? 2 : 4; }
Pixel pixel_along(const Tensor& at, int which, std::int64_t size, const GridSampleOptions& options) {
  const bool is_cubic = options.mode == GridMode::Bicubic;
  const Tensor first = options.mode == GridMode::Nearest ? round(at) : is_cubic ? floor(at) - 1 : floor(at);
  const Tensor pixel = first + which, place = cast(is_cubic ? padded(pixel, size, options) : pixel, i64);
  Pixel out{place, {}, place >= 0 && place < size};
  if (is_cubic) out.inside = out.inside && at != kNowhere;
  if (options.mode == GridMode::Bilinear) out.weight = which == 1 ? at - first : first + 1 - at;
  else if (is_cubic) out.weight = ops::cubic(at - pixel, -0.75);
  return out;
}

}  // namespace

Tensor grid_sample(Arg arg, Arg grid_arg, const GridSampleOptions& options) {
  const In frame("grid_sample", arg.loc);
  const auto& where = arg.loc;
  ops::float_tensor("grid_sample", arg), ops::float_tensor("grid_sample", grid_arg);
  const DType dtype = result_type("grid_sample", {arg, grid_arg});
  const Tensor x = ops::widen(graph::cast(arg.tensor("grid_sample"), dtype, where));
  const Tensor grid = ops::widen(graph::cast(grid_arg.tensor("grid_sample"), dtype, where));
  const int axes = x.rank() - 2;
  if ((axes != 2 && axes != 3) || grid.rank() != x.rank() || grid.shape().back() != axes || grid.shape()[0] != x.shape()[0] ||
      numel(spatial(x.shape())) == 0) {
    ops::refuse("grid_sample", "shapes " + to_string(x.shape()) + " and " + to_string(grid.shape()),
                "(N, C, H, W) and (N, H', W', 2), or (N, C, D, H, W) and (N, D', H', W', 3), images not empty", where);
  }
  if (options.mode == GridMode::Bicubic && axes == 3) {
    ops::refuse("grid_sample", "Bicubic for a volume " + to_string(x.shape()), "Bilinear or Nearest, or an image (N, C, H, W)", where);
  }
  // Rows of C channels, of which each pixel takes one for each point.
  const Shape& s = x.shape();
  const std::int64_t plane = numel(spatial(s)), points = grid.numel() / axes, each = s[0] > 0 ? points / s[0] : 0;
  const Tensor rows = graph::reshape(movedim(x, 1, -1), {s[0] * plane, s[1]}, where);
  const Tensor flat = graph::reshape(grid, {points, axes}, where);
  const Tensor image = graph::reshape(graph::index({{s[0], each}, {plane, 0}, 0}, where), {points}, where);  // its first pixel
  std::vector<Tensor> at;
  for (int i = 0; i < axes; ++i) at.push_back(pixel_of(select(flat, 1, axes - 1 - i), s[i + 2], options));
  std::vector<Tensor> terms;
  const int along = pixels_along(options.mode);
  int pixels = 1;
  for (int i = 0; i < axes; ++i) pixels *= along;
  for (int p = 0; p < pixels; ++p) {
    Tensor row = image, weight, inside;
    std::int64_t stride = plane;
    for (int i = 0, rest = p; i < axes; ++i, rest /= along) {
      stride /= s[i + 2];
      const Pixel pixel = pixel_along(at[static_cast<std::size_t>(i)], rest % along, s[i + 2], options);
      row = row + pixel.place * stride;
      inside = inside.defined() ? inside && pixel.inside : pixel.inside;
      if (pixel.weight.defined()) weight = weight.defined() ? weight * pixel.weight : pixel.weight;
    }
    Tensor pixel = ops::gather_along(rows, 0, tegula::where(inside, row, 0), ops::IndexForm::Shared, where);
    if (weight.defined()) pixel = pixel * expand_dims(weight, 1);
    terms.push_back(tegula::where(expand_dims(inside, 1), pixel, 0));
  }
  Shape shape = grid.shape();
  shape[axes + 1] = s[1];
  return ops::narrow(movedim(graph::reshape(graph::add_n(terms, where), shape, where), -1, 1), dtype);
}

Tensor affine_grid(Arg arg, const Shape& size, const AffineGridOptions& options) {
  const In frame("affine_grid", arg.loc);
  const auto& where = arg.loc;
  const Tensor given = ops::float_tensor("affine_grid", arg), theta = ops::widen(given);
  const int axes = size.rank() - 2;
  if ((axes != 2 && axes != 3) || theta.shape() != Shape{size[0], axes, axes + 1}) {
    ops::refuse("affine_grid", "theta of shape " + to_string(theta.shape()) + " for size " + to_string(size),
                "(N, 2, 3) for (N, C, H, W), (N, 3, 4) for (N, C, D, H, W)", where);
  }
  Shape lying = Dims::filled(axes + 2, 1), whole = size;  // shape of a column of theta, and of the grid
  lying[0] = size[0];
  lying[axes + 1] = axes;
  whole.erase(1);
  whole.push_back(axes);
  const auto column = [&](int k) { return graph::reshape(select(theta, 2, k), lying, where); };
  Tensor grid = column(axes);
  for (int k = 0; k < axes; ++k) {  // x is the last axis
    const std::int64_t n = size[axes + 1 - k];
    Layout pattern{whole, Dims::filled(axes + 2, 0), 0};
    pattern.strides[axes - k] = 1;
    const Tensor place = graph::cast(graph::index(pattern, where), theta.dtype(), where);
    const double count = static_cast<double>(n);
    const Tensor from = n == 1 ? place * 0 : options.align_corners ? place * (2 / (count - 1)) - 1 : (place * 2 + 1) / count - 1;
    grid = grid + column(k) * from;
  }
  return ops::narrow(graph::expand(grid, whole, where), given.dtype());
}

std::vector<OpCase> grid_sample_cases() {
  std::vector<OpCase> cases;
  // Away from the points where the cell changes: finite differences mean nothing there.
  const auto add = [&](const Shape& x, const Shape& grid, const GridSampleOptions& options, double low, double high) {
    std::vector<double> kinks;
    const double n = static_cast<double>(x.back());  // all spatial sizes of a case are equal
    for (double place = -3 * n; place < 4 * n; place += 0.5) {
      kinks.push_back(options.align_corners ? 2 * place / (n - 1) - 1 : (2 * place + 1) / n - 1);
    }
    cases.push_back({.op = "grid_sample",
                     .function = [=](const auto& in) { return grid_sample(in[0], in[1], options); },
                     .inputs = {{x}, {.shape = grid, .low = low, .high = high, .kinks = kinks}},
                     .dtypes = {f64, f32},
                     .tolerance = 256,
                     .jumps = options.mode == GridMode::Nearest});
  };
  add({2, 3, 4, 4}, {2, 5, 3, 2}, {}, -1.4, 1.4);
  add({2, 3, 4, 4}, {2, 5, 3, 2}, {.padding = GridPadding::Border}, -1.4, 1.4);
  add({2, 3, 4, 4}, {2, 5, 3, 2}, {.padding = GridPadding::Reflection}, -2.9, 2.9);
  add({2, 3, 4, 4}, {2, 5, 3, 2}, {.padding = GridPadding::Reflection, .align_corners = true}, -2.9, 2.9);
  add({1, 3, 4, 4}, {1, 5, 3, 2}, {.mode = GridMode::Nearest, .align_corners = true}, -1.4, 1.4);
  for (const GridPadding padding : {GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection}) {
    add({2, 3, 4, 4}, {2, 5, 3, 2}, {.mode = GridMode::Bicubic, .padding = padding}, -1.9, 1.9);
  }
  add({1, 3, 4, 4}, {1, 5, 3, 2}, {.mode = GridMode::Bicubic, .align_corners = true}, -1.4, 1.4);
  add({1, 2, 3, 3, 3}, {1, 2, 3, 2, 3}, {}, -1.2, 1.2);
  add({0, 3, 4, 4}, {0, 5, 3, 2}, {}, -1, 1);
  for (const bool corners : {false, true}) {
    cases.push_back({.op = "affine_grid",
                     .function = [=](const auto& x) { return affine_grid(x[0], {x[0].size(0), 1, 5, 4}, {.align_corners = corners}); },
                     .inputs = {{{3, 2, 3}}},
                     .more_shapes = {{{0, 2, 3}}}});
  }
  cases.push_back(
      {.op = "affine_grid", .function = [](const auto& x) { return affine_grid(x[0], {2, 7, 3, 1, 4}); }, .inputs = {{{2, 3, 4}}}});
  return cases;
}

}  // namespace tegula
