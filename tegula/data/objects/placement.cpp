#include "tegula/data/objects/placement.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/image_folder.h"

namespace tegula::data {
namespace {

void require_size(const char* op, std::int64_t height, std::int64_t width) {
  if (height >= 1 && width >= 1) return;
  throw Error({.op = op, .got = std::to_string(height) + " x " + std::to_string(width) + " pixels", .expected = "at least one"});
}

bool is_image(const HostArray& array) { return array.dtype == f32 && array.shape.rank() == 3 && array.size() > 0; }
bool are_boxes(const HostArray& array) { return array.dtype == f32 && array.shape.rank() == 2 && array.shape[1] == 4; }
bool is_mask(const HostArray& array, const Placement& change) {
  return array.dtype == i64 && array.shape == Shape{change.source_height(), change.source_width()};
}

/// The pixel that a place lies in; far away from the picture, any far one.
std::int64_t pixel_at(double place) { return static_cast<std::int64_t>(std::clamp(std::floor(place), -1e15, 1e15)); }

HostArray placed_image(const HostArray& image, const Placement& change, Fill fill) {
  const std::int64_t channels = image.shape[0], height = image.shape[1], width = image.shape[2];
  const std::int64_t to_height = change.height(), to_width = change.width(), plane = to_height * to_width;
  HostArray out = HostArray::empty(f32, {channels, to_height, to_width});
  const float* from = image.values<float>().data();
  float* to = out.values<float>().data();
  for (std::int64_t row = 0; row < to_height; ++row) {
    for (std::int64_t column = 0; column < to_width; ++column) {
      const Placement::Point at = change.source({static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5});
      const std::int64_t x = pixel_at(at.x - 0.5), y = pixel_at(at.y - 0.5);
      const auto fx = static_cast<float>(at.x - 0.5 - static_cast<double>(x)), fy = static_cast<float>(at.y - 0.5 - static_cast<double>(y));
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto pixel = [&](std::int64_t py, std::int64_t px) {
          if (fill == Fill::Edge) py = std::clamp<std::int64_t>(py, 0, height - 1), px = std::clamp<std::int64_t>(px, 0, width - 1);
          return py < 0 || py >= height || px < 0 || px >= width ? 0.0f : from[(c * height + py) * width + px];
        };
        const auto across = [&](std::int64_t py) {
          const float left = pixel(py, x);
          return fx == 0 ? left : left + fx * (pixel(py, x + 1) - left);
        };
        const float upper = across(y);
        to[c * plane + row * to_width + column] = fy == 0 ? upper : upper + fy * (across(y + 1) - upper);
      }
    }
  }
  return out;
}

HostArray placed_mask(const HostArray& mask, const Placement& change, std::int64_t beyond) {
  HostArray out = HostArray::empty(i64, {change.height(), change.width()});
  const auto from = mask.values<std::int64_t>();
  auto to = out.values<std::int64_t>().begin();
  for (std::int64_t row = 0; row < change.height(); ++row) {
    for (std::int64_t column = 0; column < change.width(); ++column) {
      const Placement::Point at = change.source({static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5});
      const std::int64_t x = pixel_at(at.x), y = pixel_at(at.y);
      const bool is_inside = x >= 0 && x < change.source_width() && y >= 0 && y < change.source_height();
      *to++ = is_inside ? from[static_cast<std::size_t>(y * change.source_width() + x)] : beyond;
    }
  }
  return out;
}

using Corners = std::array<double, 4>;

/// Upright, around the four corners; cut off at the edges of the result.
struct MovedBox {
  Corners corners;
  double visible;  // the share of its area that is left
};
MovedBox moved(const Corners& box, const Placement& change) {
  constexpr double kFar = 1e300;
  Corners around{kFar, kFar, -kFar, -kFar};
  for (const double x : {box[0], box[2]}) {
    for (const double y : {box[1], box[3]}) {
      const Placement::Point at = change.result({x, y});
      around = {std::min(around[0], at.x), std::min(around[1], at.y), std::max(around[2], at.x), std::max(around[3], at.y)};
    }
  }
  const auto area = [](const Corners& c) { return std::max(0.0, c[2] - c[0]) * std::max(0.0, c[3] - c[1]); };
  const double width = static_cast<double>(change.width()), height = static_cast<double>(change.height());
  const Corners cut{std::clamp(around[0], 0.0, width), std::clamp(around[1], 0.0, height), std::clamp(around[2], 0.0, width),
                    std::clamp(around[3], 0.0, height)};
  const double before = area(around);
  return {cut, before > 0 ? area(cut) / before : 0};
}

/// Replaces boxes and classes.
void place_boxes(HostArray& boxes, HostArray& classes, const Placement& change, const PlacedOptions& options) {
  HostArray new_boxes = HostArray::empty(f32, boxes.shape), new_classes = HostArray::empty(i64, classes.shape);
  const auto to = new_boxes.values<float>();
  const auto kinds = new_classes.values<std::int64_t>();
  std::ranges::fill(to, 0.0f);
  std::ranges::fill(kinds, -1);
  const auto from = boxes.values<float>();
  const auto old_kinds = classes.values<std::int64_t>();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < old_kinds.size(); ++i) {
    if (old_kinds[i] < 0) continue;
    const MovedBox box = moved({from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]}, change);
    const bool is_large = box.corners[2] - box.corners[0] >= options.side && box.corners[3] - box.corners[1] >= options.side;
    if (!is_large || !(box.visible >= options.visible)) continue;
    for (std::size_t k = 0; k < 4; ++k) to[4 * kept + k] = static_cast<float>(box.corners[k]);
    kinds[kept++] = old_kinds[i];
  }
  boxes = std::move(new_boxes);
  classes = std::move(new_classes);
}

/// All of `placed` but the image.
Sample with_objects_placed(Sample sample, const Placement& change, const PlacedOptions& options) {
  for (std::size_t i = 1; i < sample.size(); ++i) {
    if (is_mask(sample[i], change)) {
      sample[i] = placed_mask(sample[i], change, options.mask);
    } else if (are_boxes(sample[i])) {
      if (i + 1 == sample.size() || sample[i + 1].dtype != i64 || sample[i + 1].shape != Shape{sample[i].shape[0]}) {
        throw Error({.op = "placed",
                     .got = "boxes " + to_string(sample[i].shape) + " without classes behind them",
                     .expected = "i64 (" + std::to_string(sample[i].shape[0]) + "), -1 where there is no box"});
      }
      place_boxes(sample[i], sample[i + 1], change, options);
      ++i;
    }
  }
  return sample;
}

void require_source(const Sample& sample, const Placement& change) {
  if (!sample.empty() && is_image(sample[0]) && sample[0].shape[1] == change.source_height() && sample[0].shape[2] == change.source_width())
    return;
  throw Error({.op = "placed",
               .got = sample.empty() ? "an empty sample" : std::string(name(sample[0].dtype)) + to_string(sample[0].shape),
               .expected = "an image f32 (C, " + std::to_string(change.source_height()) + ", " + std::to_string(change.source_width()) +
                           ") first"});
}

}  // namespace

Placement::Placement(std::int64_t height, std::int64_t width)
    : source_height_(height),
      source_width_(width),
      height_(height),
      width_(width) {
  require_size("Placement", height, width);
}

Placement& Placement::then(const Map& next, std::int64_t height, std::int64_t width) {
  const Map b = back_;
  back_ = {b[0] * next[0] + b[1] * next[3], b[0] * next[1] + b[1] * next[4], b[0] * next[2] + b[1] * next[5] + b[2],
           b[3] * next[0] + b[4] * next[3], b[3] * next[1] + b[4] * next[4], b[3] * next[2] + b[4] * next[5] + b[5]};
  height_ = height, width_ = width;
  return *this;
}

Placement& Placement::flip() { return then({-1, 0, static_cast<double>(width_), 0, 1, 0}, height_, width_); }
Placement& Placement::flip_down() { return then({1, 0, 0, 0, -1, static_cast<double>(height_)}, height_, width_); }

Placement& Placement::crop(std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  require_size("Placement::crop", height, width);
  return then({1, 0, static_cast<double>(left), 0, 1, static_cast<double>(top)}, height, width);
}

Placement& Placement::resize(std::int64_t height, std::int64_t width) {
  require_size("Placement::resize", height, width);
  return then(
      {static_cast<double>(width_) / static_cast<double>(width), 0, 0, 0, static_cast<double>(height_) / static_cast<double>(height), 0},
      height, width);
}

Placement& Placement::affine(const Affine& change) {
  if (!(change.scale > 0) || !std::isfinite(change.scale))
    throw Error({.op = "Placement::affine", .got = "a scale of " + number_text(change.scale), .expected = "a positive number"});
  const double angle = change.degrees * std::numbers::pi / 180, shear = std::tan(change.shear * std::numbers::pi / 180);
  const double cosine = std::cos(angle), sine = std::sin(angle), s = 1 / change.scale;
  // Moved back, turned back (rows grow downwards), sheared and scaled back.
  const double a = s * (cosine - shear * sine), b = s * (-sine - shear * cosine), c = s * sine, d = s * cosine;
  const double x = static_cast<double>(width_) / 2, y = static_cast<double>(height_) / 2;
  const double from_x = x + change.right, from_y = y + change.down;
  return then({a, b, x - a * from_x - b * from_y, c, d, y - c * from_x - d * from_y}, height_, width_);
}

Placement::Point Placement::source(Point at) const {
  return {back_[0] * at.x + back_[1] * at.y + back_[2], back_[3] * at.x + back_[4] * at.y + back_[5]};
}

Placement::Point Placement::result(Point at) const {
  const double determinant = back_[0] * back_[4] - back_[1] * back_[3], x = at.x - back_[2], y = at.y - back_[5];
  return {(back_[4] * x - back_[1] * y) / determinant, (back_[0] * y - back_[3] * x) / determinant};
}

Sample placed(const Sample& sample, const Placement& change, const PlacedOptions& options) {
  require_source(sample, change);
  Sample out = with_objects_placed(sample, change, options);
  out[0] = placed_image(sample[0], change, options.fill);
  return out;
}

Placement fitting(std::int64_t from_height, std::int64_t from_width, std::int64_t height, std::int64_t width) {
  require_size("fitting", height, width);
  Placement out(from_height, from_width);
  const double scale = std::min(static_cast<double>(height) / static_cast<double>(from_height),
                                static_cast<double>(width) / static_cast<double>(from_width));
  const auto side = [&](std::int64_t from, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(scale * static_cast<double>(from)), 1, most);
  };
  const std::int64_t h = side(from_height, height), w = side(from_width, width);
  return out.resize(h, w).crop(-((height - h) / 2), -((width - w) / 2), height, width);
}

Sample fitted(const Sample& sample, std::int64_t height, std::int64_t width, const PlacedOptions& options) {
  if (sample.empty() || !is_image(sample[0])) require_source(sample, Placement(1, 1));
  const std::int64_t from_height = sample[0].shape[1], from_width = sample[0].shape[2];
  const Placement change = fitting(from_height, from_width, height, width);
  Sample out = with_objects_placed(sample, change, options);
  const Placement::Point first = change.result({0, 0}),
                         last = change.result({static_cast<double>(from_width), static_cast<double>(from_height)});
  const std::int64_t h = std::llround(last.y - first.y), w = std::llround(last.x - first.x);
  out[0] = crop(resize(sample[0], h, w), -std::llround(first.y), -std::llround(first.x), height, width, options.fill);
  return out;
}

Sample RandomPlacement::operator()(const Sample& sample, RandomStream& random) const {
  if (sample.empty() || !is_image(sample[0])) require_source(sample, Placement(1, 1));
  if (!(window > 0 && window <= 1))
    throw Error({.op = "RandomPlacement", .got = "a window of " + number_text(window), .expected = "a share in (0, 1]"});
  const std::int64_t height = sample[0].shape[1], width = sample[0].shape[2];
  const auto chance = [&] { return static_cast<double>(random.uniform()); };
  const auto around = [&](double middle, double reach) { return middle + reach * (2 * chance() - 1); };
  Placement change(height, width);
  if (chance() < flip) change.flip();
  if (chance() < flip_down) change.flip_down();
  if (window < 1) {
    const double share = window + (1 - window) * chance();
    const auto side = [&](std::int64_t all) { return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(all)), 1, all); };
    const std::int64_t h = side(height), w = side(width);
    const std::int64_t top = random.below(static_cast<std::uint32_t>(height - h + 1)),
                       left = random.below(static_cast<std::uint32_t>(width - w + 1));
    change.crop(top, left, h, w).resize(height, width);
  }
  if (degrees != 0 || scale != 0 || shear != 0 || move != 0) {
    change.affine({.degrees = around(0, degrees),
                   .scale = around(1, scale),
                   .shear = around(0, shear),
                   .down = around(0, move * static_cast<double>(height)),
                   .right = around(0, move * static_cast<double>(width))});
  }
  return placed(sample, change, options);
}

}  // namespace tegula::data
