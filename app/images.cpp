#include "app/images.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/data/idx.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"

namespace tegula::app {
namespace {

struct Gray {
  std::vector<float> pixels;  // (height, width) in [0, 1]
  std::int64_t height = 0, width = 0;
  float at(std::int64_t y, std::int64_t x) const { return pixels[static_cast<std::size_t>(y * width + x)]; }
};

/// Luma after ITU-R BT.601; transparent parts are white paper.
Gray to_gray(const HostArray& picture) {
  Gray gray{{}, picture.shape[0], picture.shape[1]};
  const std::int64_t channels = picture.shape[2];
  const auto bytes = picture.values<std::uint8_t>();
  for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(channels)) {
    const auto value = [&](std::int64_t c) { return static_cast<float>(bytes[i + static_cast<std::size_t>(c)]) / 255.0f; };
    const float luma = channels < 3 ? value(0) : 0.299f * value(0) + 0.587f * value(1) + 0.114f * value(2);
    const float alpha = channels % 2 == 0 ? value(channels - 1) : 1.0f;
    gray.pixels.push_back(luma * alpha + (1 - alpha));
  }
  return gray;
}

/// A light border means dark ink on light paper.
void make_light_on_dark(Gray& gray) {
  double border = 0;
  for (std::int64_t x = 0; x < gray.width; ++x) border += gray.at(0, x) + gray.at(gray.height - 1, x);
  for (std::int64_t y = 0; y < gray.height; ++y) border += gray.at(y, 0) + gray.at(y, gray.width - 1);
  if (border / static_cast<double>(2 * (gray.width + gray.height)) < 0.5) return;
  for (float& pixel : gray.pixels) pixel = 1 - pixel;
}

/// The rectangle [y0, y1) x [x0, x1) scaled to height x width, each new pixel the mean of the pixels it covers.
Gray scale(const Gray& from, double y0, double x0, double y1, double x1, std::int64_t height, std::int64_t width) {
  Gray to{std::vector<float>(static_cast<std::size_t>(height * width)), height, width};
  const double step_y = (y1 - y0) / static_cast<double>(height), step_x = (x1 - x0) / static_cast<double>(width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double top = y0 + static_cast<double>(y) * step_y, left = x0 + static_cast<double>(x) * step_x;
      double sum = 0, area = 0;
      for (auto v = static_cast<std::int64_t>(top); static_cast<double>(v) < top + step_y && v < from.height; ++v) {
        for (auto u = static_cast<std::int64_t>(left); static_cast<double>(u) < left + step_x && u < from.width; ++u) {
          const double part = (std::min(top + step_y, static_cast<double>(v + 1)) - std::max(top, static_cast<double>(v))) *
                              (std::min(left + step_x, static_cast<double>(u + 1)) - std::max(left, static_cast<double>(u)));
          sum += part * from.at(v, u);
          area += part;
        }
      }
      to.pixels[static_cast<std::size_t>(y * width + x)] = area > 0 ? static_cast<float>(sum / area) : 0;
    }
  }
  return to;
}

/// Normalises as MNIST did: the ink fits a box of 5/7 of the side and its centre of mass is the middle.
Gray normalise(const Gray& gray, std::int64_t side) {
  constexpr float kInk = 0.15f;
  std::int64_t y0 = gray.height, y1 = 0, x0 = gray.width, x1 = 0;
  for (std::int64_t y = 0; y < gray.height; ++y) {
    for (std::int64_t x = 0; x < gray.width; ++x) {
      if (gray.at(y, x) < kInk) continue;
      y0 = std::min(y0, y), y1 = std::max(y1, y + 1), x0 = std::min(x0, x), x1 = std::max(x1, x + 1);
    }
  }
  Gray result{std::vector<float>(static_cast<std::size_t>(side * side)), side, side};
  if (y0 >= y1) return result;
  const double factor = static_cast<double>(side) * 5 / 7 / static_cast<double>(std::max(y1 - y0, x1 - x0));
  const auto height = std::max<std::int64_t>(1, std::llround(static_cast<double>(y1 - y0) * factor));
  const auto width = std::max<std::int64_t>(1, std::llround(static_cast<double>(x1 - x0) * factor));
  const Gray ink =
      scale(gray, static_cast<double>(y0), static_cast<double>(x0), static_cast<double>(y1), static_cast<double>(x1), height, width);
  double mass = 0, mean_y = 0, mean_x = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      mass += ink.at(y, x);
      mean_y += ink.at(y, x) * (static_cast<double>(y) + 0.5);
      mean_x += ink.at(y, x) * (static_cast<double>(x) + 0.5);
    }
  }
  const auto shift = [&](double mean, std::int64_t size) {
    return std::clamp<std::int64_t>(std::llround(static_cast<double>(side) / 2 - mean / mass), 0, side - size);
  };
  const std::int64_t down = shift(mean_y, height), right = shift(mean_x, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) result.pixels[static_cast<std::size_t>((y + down) * side + x + right)] = ink.at(y, x);
  }
  return result;
}

HostArray from_gray(std::vector<Gray> images, std::int64_t side) {
  HostArray array = HostArray::empty(f32, {static_cast<std::int64_t>(images.size()), 1, side, side});
  auto out = array.values<float>().begin();
  for (Gray& image : images) {
    make_light_on_dark(image);
    if (image.height != side || image.width != side) image = normalise(image, side);
    out = std::copy(image.pixels.begin(), image.pixels.end(), out);
  }
  return array;
}

bool is_picture(const std::string& path) {
  const io::InputFile file(path, "tegula predict");
  std::byte head[4]{};
  if (file.size() < sizeof head) return false;
  file.read_at(0, head);
  return std::memcmp(head, "\x89PNG", 4) == 0 || std::memcmp(head, "\xFF\xD8", 2) == 0;  // PNG, JPEG
}

}  // namespace

HostArray read_images(const std::string& path, std::int64_t side) {
  if (is_picture(path)) return from_gray({to_gray(io::read_picture(path))}, side);
  const HostArray array = data::read_idx(path);
  if (array.dtype != u8 || array.shape.rank() != 3) {
    throw Error({.op = "tegula predict",
                 .got = path + ": an idx file of " + to_string(array.shape) + " " + std::string(name(array.dtype)),
                 .expected = "(N, H, W) u8",
                 .advice = "give the file of the images, not that of the labels"});
  }
  std::vector<Gray> images;
  const auto size = static_cast<std::size_t>(array.shape[1] * array.shape[2]);
  const auto bytes = array.values<std::uint8_t>();
  for (std::size_t i = 0; size > 0 && i + size <= bytes.size(); i += size) {
    Gray gray{{}, array.shape[1], array.shape[2]};
    for (std::size_t p = 0; p < size; ++p) gray.pixels.push_back(static_cast<float>(bytes[i + p]) / 255.0f);
    images.push_back(std::move(gray));
  }
  return from_gray(std::move(images), side);
}

}  // namespace tegula::app
