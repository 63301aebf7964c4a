#include "tegula/data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::data {
namespace {

struct Size {
  std::int64_t channels, height, width;
  Shape shape() const { return {channels, height, width}; }
};

Size require_image(const char* op, const HostArray& image) {
  if (image.dtype == f32 && image.shape.rank() == 3 && image.size() > 0) return {image.shape[0], image.shape[1], image.shape[2]};
  throw Error({.op = op,
               .got = std::string(name(image.dtype)) + to_string(image.shape),
               .expected = "an image f32 (C, H, W)",
               .advice = "data::to_image makes one of a picture; the image is the first array of a sample"});
}

/// f(channel, y, x) for every pixel of a new image.
template <class F>
HostArray made(const Size& size, F&& f) {
  HostArray out = HostArray::empty(f32, size.shape());
  float* to = out.values<float>().data();
  for (std::int64_t c = 0; c < size.channels; ++c) {
    for (std::int64_t y = 0; y < size.height; ++y) {
      for (std::int64_t x = 0; x < size.width; ++x) *to++ = f(c, y, x);
    }
  }
  return out;
}

/// The pixels of an image, with the fill around them.
struct Pixels {
  const float* at;
  Size size;
  Fill fill;

  float operator()(std::int64_t c, std::int64_t y, std::int64_t x) const {
    if (fill == Fill::Edge) {
      y = std::clamp<std::int64_t>(y, 0, size.height - 1);
      x = std::clamp<std::int64_t>(x, 0, size.width - 1);
    } else if (y < 0 || y >= size.height || x < 0 || x >= size.width) {
      return 0;
    }
    return at[(c * size.height + y) * size.width + x];
  }
};

double around(double middle, double reach, RandomStream& random) {
  return middle + reach * (2 * static_cast<double>(random.uniform()) - 1);
}

}  // namespace

HostArray flip(const HostArray& image) {
  const Size size = require_image("flip", image);
  const Pixels pixels{image.values<float>().data(), size, Fill::Zero};
  return made(size, [&](std::int64_t c, std::int64_t y, std::int64_t x) { return pixels(c, y, size.width - 1 - x); });
}

HostArray crop(const HostArray& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width, Fill fill) {
  const Size size = require_image("crop", image);
  if (height < 1 || width < 1) {
    throw Error(
        {.op = "crop", .got = "a window of " + std::to_string(height) + " x " + std::to_string(width), .expected = "at least one pixel"});
  }
  const Pixels pixels{image.values<float>().data(), size, fill};
  return made({size.channels, height, width}, [&](std::int64_t c, std::int64_t y, std::int64_t x) { return pixels(c, top + y, left + x); });
}

HostArray affine(const HostArray& image, const Affine& change, Fill fill) {
  const Size size = require_image("affine", image);
  if (!(change.scale > 0) || !std::isfinite(change.scale))
    throw Error({.op = "affine", .got = "a scale of " + number_text(change.scale), .expected = "a positive number"});
  const Pixels pixels{image.values<float>().data(), size, fill};
  const double angle = change.degrees * std::numbers::pi / 180, shear = std::tan(change.shear * std::numbers::pi / 180);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double middle_y = static_cast<double>(size.height - 1) / 2, middle_x = static_cast<double>(size.width - 1) / 2;
  return made(size, [&](std::int64_t c, std::int64_t to_y, std::int64_t to_x) {
    // The source of this pixel: moved back, rotated back (rows grow downwards), sheared and scaled back.
    const double y = static_cast<double>(to_y) - middle_y - change.down, x = static_cast<double>(to_x) - middle_x - change.right;
    const double turned_x = cosine * x - sine * y, turned_y = sine * x + cosine * y;
    const double from_y = turned_y / change.scale + middle_y, from_x = (turned_x - shear * turned_y) / change.scale + middle_x;
    const double whole_y = std::floor(from_y), whole_x = std::floor(from_x);
    const auto iy = static_cast<std::int64_t>(std::clamp(whole_y, -1e15, 1e15)),
               ix = static_cast<std::int64_t>(std::clamp(whole_x, -1e15, 1e15));
    const auto fy = static_cast<float>(from_y - whole_y), fx = static_cast<float>(from_x - whole_x);
    const auto row = [&](std::int64_t at) {
      const float left = pixels(c, at, ix);
      return fx == 0 ? left : left + fx * (pixels(c, at, ix + 1) - left);
    };
    const float upper = row(iy);
    return fy == 0 ? upper : upper + fy * (row(iy + 1) - upper);
  });
}

HostArray colour(const HostArray& image, const Colour& change) {
  const Size size = require_image("colour", image);
  const std::int64_t plane = size.height * size.width;
  const float* from = image.values<float>().data();
  HostArray out = HostArray::empty(f32, size.shape());
  float* to = out.values<float>().data();
  const auto cut = [](double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); };
  const auto gray = [&](std::int64_t p) {
    if (size.channels != 3) return static_cast<double>(to[p]);
    return 0.299 * to[p] + 0.587 * to[plane + p] + 0.114 * to[2 * plane + p];
  };
  for (std::int64_t i = 0; i < image.size(); ++i) to[i] = cut(change.brightness * from[i]);
  double mean = 0;
  for (std::int64_t p = 0; p < plane; ++p) mean += gray(p) / static_cast<double>(plane);
  for (std::int64_t i = 0; i < image.size(); ++i) to[i] = cut(mean + change.contrast * (to[i] - mean));
  if (size.channels != 3) return out;
  for (std::int64_t p = 0; p < plane; ++p) {
    const double own = gray(p);
    for (std::int64_t c = 0; c < 3; ++c) to[c * plane + p] = cut(own + change.saturation * (to[c * plane + p] - own));
  }
  return out;
}

HostArray RandomFlip::operator()(const HostArray& image, RandomStream& random) const {
  return static_cast<double>(random.uniform()) < p ? flip(image) : image;
}

HostArray RandomCrop::operator()(const HostArray& image, RandomStream& random) const {
  const Size from = require_image("RandomCrop", image);
  const Shape window = size.rank() == 2 ? size : Shape{from.height, from.width};
  const std::int64_t down = from.height + 2 * padding - window[0], right = from.width + 2 * padding - window[1];
  if (padding < 0 || down < 0 || right < 0) {
    throw Error({.op = "RandomCrop",
                 .got = "a window of " + to_string(window) + " in an image of " + to_string(image.shape) + " with padding " +
                        std::to_string(padding),
                 .expected = "a window that fits",
                 .advice = "resize the image first, or take more padding"});
  }
  const std::int64_t top = random.below(static_cast<std::uint32_t>(down + 1)), left = random.below(static_cast<std::uint32_t>(right + 1));
  return crop(image, top - padding, left - padding, window[0], window[1], fill);
}

HostArray RandomAffine::operator()(const HostArray& image, RandomStream& random) const {
  const Size size = require_image("RandomAffine", image);
  const Affine change{.degrees = around(0, degrees, random),
                      .scale = around(1, scale, random),
                      .shear = around(0, shear, random),
                      .down = around(0, move * static_cast<double>(size.height), random),
                      .right = around(0, move * static_cast<double>(size.width), random)};
  return affine(image, change, fill);
}

HostArray RandomColour::operator()(const HostArray& image, RandomStream& random) const {
  const Colour change{
      .brightness = around(1, brightness, random), .contrast = around(1, contrast, random), .saturation = around(1, saturation, random)};
  return colour(image, change);
}

HostArray Cutout::operator()(const HostArray& image, RandomStream& random) const {
  const Size size = require_image("Cutout", image);
  const std::int64_t y = random.below(static_cast<std::uint32_t>(size.height)), x = random.below(static_cast<std::uint32_t>(size.width));
  const std::int64_t top = y - side / 2, left = x - side / 2;
  const Pixels pixels{image.values<float>().data(), size, Fill::Zero};
  return made(size, [&](std::int64_t c, std::int64_t row, std::int64_t column) {
    const bool inside = row >= top && row < top + side && column >= left && column < left + side;
    return inside ? 0.0f : pixels(c, row, column);
  });
}

double beta(double alpha, RandomStream& random) {
  if (!(alpha > 0)) throw Error({.op = "beta", .got = "alpha " + number_text(alpha), .expected = "a positive number"});
  const auto log_uniform = [&] { return std::log((static_cast<double>(random.word()) + 0.5) * 0x1p-32); };
  for (;;) {
    // u^(1/alpha) / (u^(1/alpha) + v^(1/alpha)) given that the sum is at most 1; in logarithms, because small alphas leave the range.
    const double x = log_uniform() / alpha, y = log_uniform() / alpha, greatest = std::max(x, y);
    const double sum = greatest + std::log(std::exp(x - greatest) + std::exp(y - greatest));
    if (sum <= 0) return std::exp(x - sum);
  }
}

Sample mixed(const Sample& a, const Sample& b, double lambda, std::int64_t classes) {
  const auto refuse = [](std::string got, std::string expected) {
    throw Error({.op = "mixup", .got = std::move(got), .expected = std::move(expected)});
  };
  if (a.size() < 2 || b.size() < 2 || a[0].dtype != f32 || a[0].shape != b[0].shape || b[0].dtype != f32)
    refuse("samples that are not alike, or not of f32", "{f32 (…), label ()} of one shape");
  Sample out = a;
  out[0] = HostArray::empty(f32, a[0].shape);
  const auto x = a[0].values<float>(), y = b[0].values<float>(), to = out[0].values<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(lambda * x[i] + (1 - lambda) * y[i]);
  out[1] = HostArray::empty(f32, {classes});
  const auto probabilities = out[1].values<float>();
  std::fill(probabilities.begin(), probabilities.end(), 0.0f);
  for (const auto& [label, share] : {std::pair(&a[1], lambda), std::pair(&b[1], 1 - lambda)}) {
    if (label->dtype != i64 || label->size() != 1)
      refuse("a label " + std::string(name(label->dtype)) + to_string(label->shape), "a class number, i64 ()");
    const std::int64_t at = label->values<std::int64_t>()[0];
    if (at < 0 || at >= classes) refuse("label " + std::to_string(at), "one in [0, " + std::to_string(classes) + ")");
    probabilities[static_cast<std::size_t>(at)] += static_cast<float>(share);
  }
  return out;
}

}  // namespace tegula::data
