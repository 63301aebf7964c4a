#include "tegula/ops/images/boxes.h"

#include <cmath>
#include <numbers>
#include <span>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

Tensor boxes_of(std::string_view op, const Arg& arg) {
  const Tensor boxes = ops::float_tensor(op, arg);
  if (boxes.rank() == 0 || boxes.size(-1) != 4) ops::refuse(op, "shape " + to_string(boxes.shape()), "boxes (…, 4)", arg.loc);
  return boxes;
}

/// The four numbers of boxes, each without the last axis.
struct Sides {
  Tensor a, b, c, d;
  explicit Sides(const Tensor& boxes)
      : a(select(boxes, -1, 0)),
        b(select(boxes, -1, 1)),
        c(select(boxes, -1, 2)),
        d(select(boxes, -1, 3)) {}
};
Tensor joined(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Line& where) {
  return stack({a, b, c, d}, -1, where);
}

/// The overlap of pairs of boxes, whose shapes without the last axis broadcast.
Tensor overlap(const Tensor& first, const Tensor& second, BoxOverlap kind) {
  const Sides a(first), b(second);
  const Tensor w = maximum(minimum(a.c, b.c) - maximum(a.a, b.a), 0), h = maximum(minimum(a.d, b.d) - maximum(a.b, b.b), 0);
  const Tensor both = w * h, either = (a.c - a.a) * (a.d - a.b) + (b.c - b.a) * (b.d - b.b) - both;
  const auto share = [](const Tensor& part, const Tensor& whole) { return where(whole > 0, part / where(whole > 0, whole, 1), 0); };
  const Tensor iou = share(both, either);
  if (kind == BoxOverlap::Iou) return iou;
  const Tensor around_w = maximum(a.c, b.c) - minimum(a.a, b.a), around_h = maximum(a.d, b.d) - minimum(a.b, b.b);
  if (kind == BoxOverlap::Generalized) return iou - share(around_w * around_h - either, around_w * around_h);
  const Tensor x = (a.a + a.c - b.a - b.c) / 2, y = (a.b + a.d - b.b - b.d) / 2;
  const Tensor near = iou - share(square(x) + square(y), square(around_w) + square(around_h));
  if (kind == BoxOverlap::Distance) return near;
  const Tensor turn = atan2(a.c - a.a, a.d - a.b) - atan2(b.c - b.a, b.d - b.b);
  const Tensor apart = square(turn) * (4 / (std::numbers::pi * std::numbers::pi));
  const Tensor weight = graph::stop_gradient(share(apart, 1 - iou + apart));
  return near - weight * apart;
}

struct Middles {
  Tensor x, y, w, h;
  explicit Middles(const Tensor& boxes) {
    const Sides s(boxes);
    w = s.c - s.a, h = s.d - s.b;
    x = s.a + w / 2, y = s.b + h / 2;
  }
};

}  // namespace

Tensor box_convert(Arg arg, BoxFormat from, BoxFormat to) {
  const In frame("box_convert", arg.loc);
  const Tensor boxes = boxes_of("box_convert", arg);
  if (from == to) return boxes;
  Tensor x = ops::widen(boxes);
  const Sides s(x);
  if (from == BoxFormat::CornerSize) x = joined(s.a, s.b, s.a + s.c, s.b + s.d, arg.loc);
  if (from == BoxFormat::CentreSize) x = joined(s.a - s.c / 2, s.b - s.d / 2, s.a + s.c / 2, s.b + s.d / 2, arg.loc);
  const Sides c(x);
  if (to == BoxFormat::CornerSize) x = joined(c.a, c.b, c.c - c.a, c.d - c.b, arg.loc);
  if (to == BoxFormat::CentreSize) x = joined((c.a + c.c) / 2, (c.b + c.d) / 2, c.c - c.a, c.d - c.b, arg.loc);
  return ops::narrow(x, boxes.dtype());
}

Tensor box_area(Arg arg) {
  const In frame("box_area", arg.loc);
  const Tensor boxes = boxes_of("box_area", arg);
  const Sides s(ops::widen(boxes));
  return ops::narrow((s.c - s.a) * (s.d - s.b), boxes.dtype());
}

Tensor clip_boxes(Arg arg, double height, double width) {
  const In frame("clip_boxes", arg.loc);
  const Sides s(boxes_of("clip_boxes", arg));
  return joined(clamp(s.a, 0, width), clamp(s.b, 0, height), clamp(s.c, 0, width), clamp(s.d, 0, height), arg.loc);
}

Tensor box_iou(Arg arg, Arg other, const BoxIouOptions& options) {
  const In frame("box_iou", arg.loc);
  const Tensor first = boxes_of("box_iou", arg), second = boxes_of("box_iou", other);
  if (first.rank() < 2 || second.rank() < 2) {
    ops::refuse("box_iou", "shapes " + to_string(first.shape()) + " and " + to_string(second.shape()), "(…, N, 4) and (…, M, 4)", arg.loc);
  }
  const DType dtype = result_type("box_iou", {arg, other});
  const Tensor a = ops::widen(graph::cast(first, dtype, arg.loc)), b = ops::widen(graph::cast(second, dtype, arg.loc));
  return ops::narrow(overlap(unsqueeze(a, -2), unsqueeze(b, -3), options.kind), dtype);
}

Tensor encode_boxes(Arg arg, Arg anchors, const BoxCoding& coding) {
  const In frame("encode_boxes", arg.loc);
  const DType dtype = result_type("encode_boxes", {arg, anchors});
  const Middles b(ops::widen(graph::cast(boxes_of("encode_boxes", arg), dtype, arg.loc))),
      a(ops::widen(graph::cast(boxes_of("encode_boxes", anchors), dtype, arg.loc)));
  const auto& w = coding.weights;
  return ops::narrow(joined((b.x - a.x) / a.w * w[0], (b.y - a.y) / a.h * w[1], log(b.w / a.w) * w[2], log(b.h / a.h) * w[3], arg.loc),
                     dtype);
}

Tensor decode_boxes(Arg arg, Arg anchors, const BoxCoding& coding) {
  const In frame("decode_boxes", arg.loc);
  const DType dtype = result_type("decode_boxes", {arg, anchors});
  const Sides c(ops::widen(graph::cast(boxes_of("decode_boxes", arg), dtype, arg.loc)));
  const Middles a(ops::widen(graph::cast(boxes_of("decode_boxes", anchors), dtype, arg.loc)));
  const auto& w = coding.weights;
  const double most = std::log(1000.0 / 16);
  const Tensor x = c.a / w[0] * a.w + a.x, y = c.b / w[1] * a.h + a.y;
  const Tensor half_w = exp(minimum(c.c / w[2], most)) * a.w / 2, half_h = exp(minimum(c.d / w[3], most)) * a.h / 2;
  return ops::narrow(joined(x - half_w, y - half_h, x + half_w, y + half_h, arg.loc), dtype);
}

Tensor anchor_boxes(std::int64_t height, std::int64_t width, double stride, const std::vector<std::array<double, 2>>& sizes, Line where) {
  const In frame("anchor_boxes", where);
  if (height < 0 || width < 0) {
    ops::refuse("anchor_boxes", "a map of (" + std::to_string(height) + ", " + std::to_string(width) + ")", "sizes of at least 0", where);
  }
  std::vector<float> corners;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double middle_x = (static_cast<double>(x) + 0.5) * stride, middle_y = (static_cast<double>(y) + 0.5) * stride;
      for (const auto& [w, h] : sizes) {
        for (const double side : {middle_x - w / 2, middle_y - h / 2, middle_x + w / 2, middle_y + h / 2})
          corners.push_back(static_cast<float>(side));
      }
    }
  }
  return tensor(std::span<const float>(corners), {static_cast<std::int64_t>(corners.size()) / 4, 4});
}

Tensor match_boxes(Arg iou_arg, Arg present_arg, const MatchOptions& options) {
  const In frame("match_boxes", iou_arg.loc);
  const Tensor given = graph::stop_gradient(ops::float_tensor("match_boxes", iou_arg)), present = present_arg.tensor("match_boxes");
  Shape objects = given.shape();
  if (objects.rank() >= 2) objects.erase(objects.rank() - 2);
  if (given.rank() < 2 || present.shape() != objects || present.dtype() != DType::boolean) {
    ops::refuse(
        "match_boxes",
        "iou " + to_string(given.shape()) + " and present " + to_string(present.shape()) + " of " + std::string(name(present.dtype())),
        "(…, A, M) and (…, M) of boolean", iou_arg.loc);
  }
  Shape anchors = given.shape();
  anchors.erase(anchors.rank() - 1);
  if (numel(given.shape()) == 0) return full(anchors, -1, i64);
  const Tensor iou = where(unsqueeze(present, -2), ops::widen(given), -1.0);
  const Tensor most = max(iou, -1);
  const Tensor found = where(most >= options.high, argmax(iou, -1), where(most >= options.low, -2, -1));
  if (!options.best) return found;
  const Tensor of_object = max(iou, -2, Keep::Yes);  // (…, 1, M)
  const Tensor is_best = cast(iou == of_object && of_object > 0.0, i64);
  return where(max(is_best, -1) > 0, argmax(is_best, -1), found);
}

KeptBoxes nms(Arg arg, Arg score_arg, const NmsOptions& options) {
  const In frame("nms", arg.loc);
  const Tensor given = boxes_of("nms", arg), given_scores = ops::float_tensor("nms", score_arg);
  Shape leading = given.shape();
  if (leading.rank() >= 2) leading.erase(leading.rank() - 1);
  if (given.rank() < 2 || given_scores.shape() != leading || options.most < 0) {
    ops::refuse(
        "nms",
        "boxes " + to_string(given.shape()) + ", scores " + to_string(given_scores.shape()) + ", most " + std::to_string(options.most),
        "boxes (…, N, 4), scores (…, N) and most >= 0", arg.loc);
  }
  if (options.classes.defined() && (options.classes.shape() != leading || is_float(options.classes.dtype()))) {
    ops::refuse("nms", "classes " + to_string(options.classes.shape()) + " of " + std::string(name(options.classes.dtype())),
                "integers of the shape of scores, " + to_string(leading), arg.loc);
  }
  const std::int64_t n = leading.back();
  leading.erase(leading.rank() - 1);
  const std::int64_t rows = numel(leading);
  Shape result = leading;
  result.push_back(options.most);
  if (n == 0 || options.most == 0 || rows == 0) return {full(result, -1, i64), zeros(leading, i64)};
  const Tensor boxes = ops::widen(reshape(given, {rows, n, 4})), all = ops::widen(reshape(given_scores, {rows, n}));
  const Tensor classes = options.classes.defined() ? reshape(options.classes, {rows, n}) : Tensor();
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const Tensor place = expand(unsqueeze(arange(n), 0), {rows, n});
  const Scanned found = scan(
      [&](const std::vector<Tensor>& left, const std::vector<Tensor>&) {
        const Tensor best = argmax(left[0], 1, Keep::Yes);  // (rows, 1)
        const Tensor is_there = max(left[0], 1, Keep::Yes) > kNone;
        const Tensor box = take_along_axis(boxes, unsqueeze(expand(best, {rows, 4}), 1), 1);  // (rows, 1, 4)
        Tensor goes = overlap(box, boxes, BoxOverlap::Iou) > options.iou;
        if (classes.defined()) goes = goes && classes == take_along_axis(classes, best, 1);
        goes = goes || place == best;
        return Scanned{{where(goes, kNone, left[0])}, {squeeze(where(is_there, best, -1), 1)}};
      },
      {where(all > options.score, all, kNone)}, {}, {.length = options.most}, arg.loc);
  const Tensor index = transpose(found.ys[0], 0, 1);  // (rows, most)
  return {reshape(index, result), reshape(sum(cast(index >= 0, i64), 1), leading)};
}

std::vector<OpCase> box_cases() {
  const CaseInput corners{{5, 4}};
  // x0, y0 below 0 and x1, y1 above it, drawn as four columns.
  const auto ordered = [](const Tensor& x) {
    const Tensor low = slice(x, 1, {0, 2}), size = abs(slice(x, 1, {2, 4})) + 0.5;
    return concat({low, low + size}, 1);
  };
  std::vector<OpCase> cases;
  cases.push_back(
      {.op = "box_area", .function = [](const auto& x) { return box_area(x[0]); }, .inputs = {corners}, .more_shapes = {{{0, 4}}, {{4}}}});
  cases.push_back({.op = "clip_boxes",
                   .function = [](const auto& x) { return clip_boxes(x[0], 1, 1.5); },
                   .inputs = {{{5, 4}, -2, 2, {}, true, {0, 1, 1.5}}},
                   .more_shapes = {{{0, 4}}, {{2, 3, 4}}}});
  for (const BoxFormat from : {BoxFormat::Corners, BoxFormat::CornerSize, BoxFormat::CentreSize}) {
    for (const BoxFormat to : {BoxFormat::Corners, BoxFormat::CornerSize, BoxFormat::CentreSize}) {
      cases.push_back({.op = "box_convert",
                       .function = [=](const auto& x) { return box_convert(x[0], from, to); },
                       .inputs = {corners},
                       .more_shapes = {{{0, 4}}, {{2, 3, 4}}}});
    }
  }
  for (const BoxOverlap kind : {BoxOverlap::Iou, BoxOverlap::Generalized, BoxOverlap::Distance, BoxOverlap::Complete}) {
    cases.push_back({.op = "box_iou",
                     .function = [=](const auto& x) { return box_iou(ordered(x[0]), ordered(x[1]), {kind}); },
                     .inputs = {{{5, 4}, -1, 1, {}, true, {0}}, {{3, 4}, -1, 1, {}, true, {0}}},
                     .dtypes = {f64, f32},
                     .gradient = kind != BoxOverlap::Complete,  // its weight counts as constant
                     .second = kind == BoxOverlap::Iou,
                     .tolerance = 128});
  }
  cases.push_back({.op = "encode_boxes",
                   .function = [=](const auto& x) { return encode_boxes(ordered(x[0]), ordered(x[1]), {{10, 10, 5, 5}}); },
                   .inputs = {{{5, 4}, 0.2, 2}, {{5, 4}, 0.2, 2}},
                   .dtypes = {f64, f32},
                   .tolerance = 512});
  cases.push_back({.op = "decode_boxes",
                   .function = [=](const auto& x) { return decode_boxes(x[0], ordered(x[1]), {{2, 2, 1, 1}}); },
                   .inputs = {{{5, 4}}, {{5, 4}, 0.2, 2}},
                   .dtypes = {f64, f32},
                   .tolerance = 512});
  return cases;
}

}  // namespace tegula
