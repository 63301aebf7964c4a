#include "tegula/io/draw_boxes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tegula/core/error.h"
#include "tegula/io/class_colours.h"

namespace tegula::io {
namespace {

constexpr std::int64_t kLine = 2;

}  // namespace

HostArray draw_boxes(const HostArray& picture, std::span<const DrawnBox> boxes, const DrawBoxesOptions& options) {
  const Shape& shape = picture.shape;
  if (picture.dtype != DType::f32 || shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3) || options.zoom < 1) {
    throw Error(
        {.op = "draw_boxes",
         .got = "a picture " + to_string(shape) + " of " + std::string(name(picture.dtype)) + ", zoom " + std::to_string(options.zoom),
         .expected = "f32 (1 or 3, H, W) and a zoom of at least 1"});
  }
  const std::int64_t height = shape[1] * options.zoom, width = shape[2] * options.zoom;
  HostArray out = HostArray::empty(DType::u8, {height, width, 3});
  const auto pixels = out.values<std::uint8_t>();
  const auto from = picture.values<float>();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t plane = shape[0] == 3 ? c : 0;
        const float value = from[static_cast<std::size_t>((plane * shape[1] + y / options.zoom) * shape[2] + x / options.zoom)];
        pixels[static_cast<std::size_t>((y * width + x) * 3 + c)] =
            static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f)));
      }
    }
  }
  for (const DrawnBox& box : boxes) {
    const auto place = [&](double side, std::int64_t size) {
      const double most = static_cast<double>(size - 1), at = side * static_cast<double>(options.zoom);
      return static_cast<std::int64_t>(std::lround(std::isnan(at) ? 0.0 : std::clamp(at, 0.0, most)));
    };
    const std::int64_t left = place(box.corners[0], width), top = place(box.corners[1], height), right = place(box.corners[2], width),
                       bottom = place(box.corners[3], height);
    const Colour& colour = class_colour(box.of_class);
    for (std::int64_t y = top; y <= bottom; ++y) {
      for (std::int64_t x = left; x <= right; ++x) {
        const bool is_line = y - top < kLine || bottom - y < kLine || x - left < kLine || right - x < kLine;
        if (is_line) std::ranges::copy(colour, pixels.begin() + (y * width + x) * 3);
      }
    }
  }
  return out;
}

}  // namespace tegula::io
