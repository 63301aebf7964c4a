#include "tegula/ops/images/regions.h"

#include <algorithm>
#include <limits>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

struct Regions {
  DType dtype;
  Tensor x, boxes, images;
  std::int64_t count;
};

Regions regions_of(std::string_view op, const Arg& x_arg, const Arg& box_arg, const Arg& image_arg, std::int64_t height, std::int64_t width,
                   std::int64_t samples) {
  const Line& where = x_arg.loc;
  const Tensor given = ops::float_tensor(op, x_arg), boxes = ops::float_tensor(op, box_arg), images = image_arg.tensor(op);
  const std::string shapes = to_string(given.shape()) + ", " + to_string(boxes.shape()) + " and " + to_string(images.shape()) + " of " +
                             std::string(name(images.dtype()));
  if (given.rank() != 4 || boxes.rank() != 2 || boxes.size(1) != 4 || images.shape() != Shape{boxes.size(0)} || is_float(images.dtype()) ||
      given.size(2) * given.size(3) == 0 || (given.size(0) == 0 && boxes.size(0) > 0)) {
    ops::refuse(op, "shapes " + shapes, "(N, C, H, W), not empty, (R, 4) and (R) of integers", where);
  }
  if (std::min({height, width, samples}) < 1) {
    ops::refuse(op, "cells (" + std::to_string(height) + ", " + std::to_string(width) + ") of " + std::to_string(samples) + " samples",
                "at least 1 each", where);
  }
  const DType dtype = result_type(op, {x_arg, box_arg});
  return {dtype, ops::widen(graph::cast(given, dtype, where)), ops::widen(graph::cast(boxes, dtype, where)),
          graph::cast(images, i64, where), boxes.size(0)};
}

/// Two pixels around each place along an axis of that size, and how much the second one counts.
struct Around {
  Tensor low, high, share;
  Around(const Tensor& place, std::int64_t size) {
    const double last = static_cast<double>(size - 1);
    const Tensor inside = clamp(place, 0.0, last), first = floor(inside);
    low = cast(first, i64), high = cast(minimum(first + 1, last), i64), share = inside - first;
  }
};

/// x at places y, z (R, P) of the pictures `images` (R): (R, P, C).
Tensor between_pixels(const Regions& r, const Tensor& y, const Tensor& z, RoiMode mode) {
  const std::int64_t h = r.x.size(2), w = r.x.size(3);
  const Tensor is_inside = y >= -1.0 && y <= static_cast<double>(h) && z >= -1.0 && z <= static_cast<double>(w);
  const Around row(y, h), column(z, w);
  const Tensor pixels = reshape(movedim(r.x, 1, -1), {r.x.size(0) * h * w, r.x.size(1)});
  const Tensor first = unsqueeze(r.images, 1) * (h * w);
  const auto part = [&](const Tensor& i, const Tensor& j, const Tensor& weight) {
    return take(pixels, first + i * w + j, 0) * unsqueeze(weight, -1);
  };
  const Tensor a = part(row.low, column.low, (1 - row.share) * (1 - column.share)),
               b = part(row.low, column.high, (1 - row.share) * column.share),
               c = part(row.high, column.low, row.share * (1 - column.share)), d = part(row.high, column.high, row.share * column.share);
  const Tensor value = mode == RoiMode::Max ? maximum(maximum(a, b), maximum(c, d)) : a + b + c + d;
  return where(unsqueeze(is_inside, -1), value, 0.0);
}

/// The nearest pixel, of two the one further from 0.
Tensor to_pixel(const Tensor& place) { return where(place < 0, ceil(place - 0.5), floor(place + 0.5)); }

/// True if a pixel of an axis lies in a cell: (R, cells, size).
Tensor cells_of(const Tensor& low, const Tensor& high, std::int64_t cells, std::int64_t size) {
  const Tensor first = unsqueeze(to_pixel(low), 1), length = maximum(unsqueeze(to_pixel(high), 1) - first + 1, 1.0);
  const Tensor cell = unsqueeze(cast(arange(cells), low.dtype()), 0), step = length / static_cast<double>(cells);
  const Tensor begin = unsqueeze(floor(cell * step) + first, -1), end = unsqueeze(ceil((cell + 1) * step) + first, -1);
  const Tensor pixel = reshape(cast(arange(size), low.dtype()), {1, 1, size});
  return pixel >= begin && pixel < end;
}

}  // namespace

Tensor roi_align(Arg arg, Arg boxes, Arg images, const RoiAlignOptions& options) {
  const In frame("roi_align", arg.loc);
  const Regions r = regions_of("roi_align", arg, boxes, images, options.height, options.width, options.samples);
  const Tensor corners = r.boxes * options.scale - (options.aligned ? 0.5 : 0.0);
  const auto places = [&](int low, std::int64_t cells) {  // (R, cells * samples)
    const Tensor begin = select(corners, 1, low);
    Tensor length = select(corners, 1, low + 2) - begin;
    if (!options.aligned) length = maximum(length, 1.0);
    const std::int64_t count = cells * options.samples;
    const Tensor at = (cast(arange(count), r.boxes.dtype()) + 0.5) / static_cast<double>(count);
    return unsqueeze(begin, 1) + unsqueeze(length, 1) * at;
  };
  const std::int64_t h = options.height * options.samples, w = options.width * options.samples;
  const Tensor y = reshape(expand(unsqueeze(places(1, options.height), 2), {r.count, h, w}), {r.count, h * w});
  const Tensor z = reshape(expand(unsqueeze(places(0, options.width), 1), {r.count, h, w}), {r.count, h * w});
  const Tensor values = reshape(between_pixels(r, y, z, options.mode),
                                {r.count, options.height, options.samples, options.width, options.samples, r.x.size(1)});
  return ops::narrow(movedim(options.mode == RoiMode::Max ? max(values, {2, 4}) : mean(values, {2, 4}), -1, 1), r.dtype);
}

Tensor roi_pool(Arg arg, Arg boxes, Arg images, const RoiPoolOptions& options) {
  const In frame("roi_pool", arg.loc);
  const Regions r = regions_of("roi_pool", arg, boxes, images, options.height, options.width, 1);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const Tensor corners = graph::stop_gradient(r.boxes * options.scale);
  const auto side = [&](int i) { return select(corners, 1, i); };
  const Tensor rows = cells_of(side(1), side(3), options.height, r.x.size(2)),
               columns = cells_of(side(0), side(2), options.width, r.x.size(3));
  const Tensor pictures = take(r.x, r.images, 0);  // (R, C, H, W)
  const Tensor by_row = max(where(unsqueeze(unsqueeze(rows, -1), 1), unsqueeze(pictures, 2), kNone), 3);  // (R, C, height, W)
  const Tensor value = max(where(unsqueeze(unsqueeze(columns, 1), 1), unsqueeze(by_row, 3), kNone), 4);
  return ops::narrow(where(value > kNone, value, 0.0), r.dtype);
}

std::vector<OpCase> region_cases() {
  const auto corners = [](const Tensor& x) {  // two numbers in [0, 1] and two sizes
    const Tensor low = slice(x, 1, {0, 2}) * 4, size = slice(x, 1, {2, 4}) * 5 + 1.3;
    return concat({low, low + size}, 1);
  };
  const CaseInput maps{{2, 3, 7, 6}}, boxes{{4, 4}, 0.1, 0.9}, images{{4}, 0, 1, DType::i64};
  std::vector<OpCase> cases;
  for (const bool aligned : {false, true}) {
    cases.push_back({.op = "roi_align",
                     .function =
                         [=](const auto& x) {
                           return roi_align(x[0], corners(x[1]), x[2], {.height = 3, .width = 2, .scale = 0.9, .aligned = aligned});
                         },
                     .inputs = {maps, boxes, images},
                     .dtypes = {f64, f32},
                     .more_shapes = {{{2, 3, 7, 6}, {0, 4}, {0}}},
                     .second = false,
                     .tolerance = 256});
  }
  cases.push_back({.op = "roi_pool",
                   .function = [=](const auto& x) { return roi_pool(x[0], corners(x[1]), x[2], {.height = 3, .width = 2, .scale = 0.8}); },
                   .inputs = {maps, {{4, 4}, 0.1, 0.9, {}, false}, images},
                   .dtypes = {f64, f32},
                   .more_shapes = {{{2, 3, 7, 6}, {0, 4}, {0}}}});
  return cases;
}

}  // namespace tegula
