#include "tegula/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "tegula/core/error.h"
#include "tegula/data/digit_strokes.h"
#include "tegula/data/random_stream.h"

namespace tegula::data {
namespace {

constexpr int kSide = 28;      // pixels
constexpr int kClasses = 10;
constexpr int kSpanSteps = 5;  // straight pieces between two points of a stroke

// The distance that an image may stray from its glyph. Chosen so that a small convolutional network gets about 99 % right and a linear
// model clearly less.
constexpr float kJitter = 0.045f;  // displacement of each stroke point, in glyph units (half the height)
constexpr float kRotation = 0.2f;  // radians, either way; also the slant
constexpr float kHalfHeight = 9.0f;  // pixels
constexpr float kScale = 0.15f;  // either way
constexpr float kShift = 2.0f;  // pixels, either way
constexpr float kElastic = 0.85f;  // deviation of the displacement, pixels
constexpr float kThinnest = 0.75f, kThickest = 1.75f;  // half the width of the pen, pixels

struct Pen {
  Point at;
  float radius = 0;
};

/// Catmull-Rom between b and c at t in [0, 1].
Point spline(Point a, Point b, Point c, Point d, float t) {
  const auto along = [t](float p, float q, float r, float s) {
    return q + 0.5f * t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

bool same(Point a, Point b) { return a.x == b.x && a.y == b.y; }

/// A smooth random displacement: cubic B-splines over a coarse grid of random vectors.
class ElasticField {
 public:
  explicit ElasticField(RandomStream& random) {
    // A B-spline over independent coefficients has variance (151/315)^2 of theirs, averaged over a cell.
    const float amplitude = kElastic * random.uniform(0.5f, 1.4f) * 2.0861f;
    for (auto& v : grid_) v = {amplitude * random.noise(), amplitude * random.noise()};
  }
  Point operator()(Point p) const {
    const auto [column, wx] = weights(p.x);
    const auto [row, wy] = weights(p.y);
    Point sum;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int cell = (row + i) * kGrid + column + j;
        const Point& v = grid_[static_cast<std::size_t>(cell)];
        const float w = wy[static_cast<std::size_t>(i)] * wx[static_cast<std::size_t>(j)];
        sum.x += w * v.x;
        sum.y += w * v.y;
      }
    }
    return {p.x + sum.x, p.y + sum.y};
  }

 private:
  static constexpr float kSpacing = 6;  // pixels
  static constexpr int kGrid = kSide / 6 + 1 + 4;  // covers the image
  struct Weights {
    int first;
    std::array<float, 4> w;
  };
  static Weights weights(float position) {
    const float u = std::clamp(position / kSpacing, 0.0f, static_cast<float>(kGrid) - 4.001f);
    const int cell = static_cast<int>(u);
    const float t = u - static_cast<float>(cell), s = 1 - t;
    return {cell, {s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6, (4 - 6 * s * s + 3 * s * s * s) / 6, t * t * t / 6}};
  }

  std::array<Point, kGrid * kGrid> grid_;
};

/// Rotation, slant, scale and shift from glyph units to pixels.
struct Affine {
  float xx, xy, yx, yy, x0, y0;

  explicit Affine(RandomStream& random) {
    const float angle = random.uniform(-kRotation, kRotation), slant = random.uniform(-kRotation, kRotation) - 0.06f;
    const float size = kHalfHeight * random.uniform(1 - kScale, 1 + kScale);
    const float sx = size * random.uniform(0.9f, 1.35f), sy = size;
    const float c = std::cos(angle), s = std::sin(angle);
    xx = c * sx, xy = (c * slant - s) * sy;
    yx = s * sx, yy = (s * slant + c) * sy;
    x0 = (kSide - 1) / 2.0f + random.uniform(-kShift, kShift);
    y0 = (kSide - 1) / 2.0f + random.uniform(-kShift, kShift);
  }
  Point operator()(Point p) const { return {xx * p.x + xy * p.y + x0, yx * p.x + yy * p.y + y0}; }
};

class Canvas {
 public:
  explicit Canvas(float softness) : steepness_(1 / softness) {}

  /// A straight piece of pen stroke with round ends; where pieces overlap the lighter wins.
  void draw(Pen a, Pen b) {
    const float reach = std::max(a.radius, b.radius) + 1;
    const int x0 = first(std::min(a.at.x, b.at.x) - reach), x1 = last(std::max(a.at.x, b.at.x) + reach);
    const int y0 = first(std::min(a.at.y, b.at.y) - reach), y1 = last(std::max(a.at.y, b.at.y) + reach);
    const float dx = b.at.x - a.at.x, dy = b.at.y - a.at.y;
    const float scale = 1 / std::max(dx * dx + dy * dy, 1e-12f);
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const float px = static_cast<float>(x) - a.at.x, py = static_cast<float>(y) - a.at.y;
        const float t = std::clamp((px * dx + py * dy) * scale, 0.0f, 1.0f);
        const float ex = px - t * dx, ey = py - t * dy;
        const float radius = a.radius + t * (b.radius - a.radius);
        const float cover = (radius - std::sqrt(ex * ex + ey * ey)) * steepness_ + 0.5f;
        const int index = y * kSide + x;
        float& pixel = pixels_[static_cast<std::size_t>(index)];
        pixel = std::max(pixel, cover);
      }
    }
  }
  /// The picture with noise, in [0, 1] in steps of 1/255.
  void finish(RandomStream& random, std::span<float> out) const {
    const float ink = random.uniform(0.75f, 1.0f), grain = random.uniform(0.0f, 0.1f);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float level = ink * std::min(pixels_[i], 1.0f) + grain * random.noise();
      out[i] = std::floor(std::clamp(level, 0.0f, 1.0f) * 255 + 0.5f) / 255;
    }
  }

 private:
  static int first(float v) { return static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(kSide))); }
  static int last(float v) { return static_cast<int>(std::clamp(v, -1.0f, kSide - 1.0f)); }

  float steepness_;
  std::array<float, kSide * kSide> pixels_{};
};

/// Follows one stroke in glyph units: trace(point, radius factor) for closely spaced points.
template <class Trace>
void follow(const Stroke& stroke, RandomStream& random, Trace trace) {
  std::array<Point, 16> points;
  std::array<float, 16> pressure;
  const std::size_t n = stroke.size();
  const bool closed = same(stroke.front(), stroke.back());
  for (std::size_t i = 0; i < n; ++i) {
    const bool corner = i > 0 && same(stroke[i], stroke[i - 1]);  // both stay at one position
    points[i] = corner ? points[i - 1] : Point{stroke[i].x + kJitter * random.noise(), stroke[i].y + kJitter * random.noise()};
    pressure[i] = corner ? pressure[i - 1] : 1 + 0.12f * random.noise();
  }
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const Point b = points[i], c = points[i + 1];
    if (same(b, c)) continue;
    const Point a = i > 0 ? points[i - 1] : closed ? points[n - 2] : b;
    const Point d = i + 2 < n ? points[i + 2] : closed ? points[1] : c;
    for (int step = i == 0 ? 0 : 1; step <= kSpanSteps; ++step) {
      const float t = static_cast<float>(step) / kSpanSteps;
      trace(spline(a, b, c, d, t), pressure[i] + t * (pressure[i + 1] - pressure[i]));
    }
  }
}

void draw(int digit, RandomStream random, std::span<float> out) {
  const auto& glyphs = glyphs_of(digit);
  const Glyph& glyph = glyphs[random.below(static_cast<std::uint32_t>(glyphs.size()))];
  const Affine affine(random);
  const ElasticField elastic(random);
  const float width = random.uniform(kThinnest, kThickest);
  Canvas canvas(random.uniform(0.8f, 1.5f));
  for (const Stroke& stroke : glyph) {
    Pen before;
    bool down = false;
    follow(stroke, random, [&](Point p, float pressure) {
      const Pen pen{elastic(affine(p)), std::max(width * pressure, 0.5f)};
      if (down) canvas.draw(before, pen);
      before = pen;
      down = true;
    });
  }
  canvas.finish(random, out);
}

}  // namespace

LabelledImages draw_digits(std::int64_t count, std::uint64_t seed) {
  if (count < 0) throw Error({.op = "draw_digits", .got = "count " + std::to_string(count), .expected = "0 or more", .advice = ""});
  LabelledImages set{HostArray::empty(f32, {count, 1, kSide, kSide}), HostArray::empty(i64, {count})};
  const auto pixels = set.images.values<float>();
  const auto labels = set.labels.values<std::int64_t>();
  std::array<int, kClasses> order{};
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kClasses == 0) {  // the classes of the next ten images; the streams of images have the top bit clear
      RandomStream random(seed, static_cast<std::uint64_t>(i) | std::uint64_t{1} << 63);
      std::iota(order.begin(), order.end(), 0);
      for (std::uint32_t k = kClasses; k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    }
    const int digit = order[static_cast<std::size_t>(i % kClasses)];
    labels[static_cast<std::size_t>(i)] = digit;
    draw(digit, RandomStream(seed, static_cast<std::uint64_t>(i)),
         pixels.subspan(static_cast<std::size_t>(i) * kSide * kSide, kSide * kSide));
  }
  return set;
}

}  // namespace tegula::data
