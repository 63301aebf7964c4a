#include "tegula/data/scenes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "tegula/core/error.h"
#include "tegula/data/digits.h"
#include "tegula/data/image_folder.h"
#include "tegula/data/random_stream.h"

namespace tegula::data {
namespace {

constexpr float kStroke = 0.35f;  // what is brighter belongs to a stroke
constexpr int kTries = 20;        // to place a digit beside the others

struct Box {
  std::int64_t left, top, right, bottom;
  std::int64_t area() const { return (right - left) * (bottom - top); }
};

std::int64_t overlap(const Box& a, const Box& b) {
  const std::int64_t w = std::min(a.right, b.right) - std::max(a.left, b.left), h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return w > 0 && h > 0 ? w * h : 0;
}

/// Around the strokes of a (side, side) picture; empty where there are none.
Box around(std::span<const float> pixels, std::int64_t side) {
  Box box{side, side, 0, 0};
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      if (pixels[static_cast<std::size_t>(y * side + x)] <= kStroke) continue;
      box.left = std::min(box.left, x), box.right = std::max(box.right, x + 1);
      box.top = std::min(box.top, y), box.bottom = std::max(box.bottom, y + 1);
    }
  }
  return box;
}

/// One picture; spans of its own part of each array.
struct Canvas {
  std::span<float> image, boxes;
  std::span<std::int64_t> classes, mask;
};

void draw(const Canvas& to, std::uint64_t seed, std::int64_t number, const SceneOptions& options) {
  RandomStream random(seed, static_cast<std::uint64_t>(number));
  const std::int64_t count = 1 + random.below(static_cast<std::uint32_t>(options.most));
  const LabelledImages digits = draw_digits(count, (seed + 1) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(number));
  std::vector<Box> placed;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto scale = random.uniform(static_cast<float>(options.smallest), static_cast<float>(options.largest));
    const auto side = std::min(options.size, static_cast<std::int64_t>(std::lround(28 * scale)));
    const HostArray digit = resize(digits.get(k)[0], side, side);
    const auto pixels = digit.values<float>();
    const Box own = around(pixels, side);
    if (own.area() <= 0) continue;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const std::int64_t left = random.below(static_cast<std::uint32_t>(options.size - side + 1));
      const std::int64_t top = random.below(static_cast<std::uint32_t>(options.size - side + 1));
      const Box box{own.left + left, own.top + top, own.right + left, own.bottom + top};
      const bool is_free =
          std::ranges::all_of(placed, [&](const Box& other) { return 10 * overlap(box, other) < std::min(box.area(), other.area()); });
      if (!is_free) continue;
      const std::int64_t label = digits.get(k)[1].values<std::int64_t>()[0];
      for (std::int64_t y = 0; y < side; ++y) {
        for (std::int64_t x = 0; x < side; ++x) {
          const float value = pixels[static_cast<std::size_t>(y * side + x)];
          const auto at = static_cast<std::size_t>((top + y) * options.size + left + x);
          if (value > kStroke && value >= to.image[at]) to.mask[at] = 1 + label;
          to.image[at] = std::max(to.image[at], value);
        }
      }
      const std::size_t n = placed.size();
      to.classes[n] = label;
      const std::array<std::int64_t, 4> corners{box.left, box.top, box.right, box.bottom};
      for (std::size_t i = 0; i < 4; ++i) to.boxes[4 * n + i] = static_cast<float>(corners[i]);
      placed.push_back(box);
      break;
    }
  }
}

HostArray filled_with_zeros(DType dtype, const Shape& shape) {
  HostArray out = HostArray::empty(dtype, shape);
  std::fill_n(static_cast<std::byte*>(out.buffer->data()), out.bytes(), std::byte{});
  return out;
}

/// Element i of the first axis.
HostArray part(const HostArray& all, std::int64_t i) {
  Shape shape = all.shape;
  shape.erase(0);
  HostArray out = HostArray::empty(all.dtype, shape);
  const auto* from = static_cast<const std::byte*>(all.buffer->data()) + static_cast<std::size_t>(i) * out.bytes();
  std::copy_n(from, out.bytes(), static_cast<std::byte*>(out.buffer->data()));
  return out;
}

}  // namespace

Sample Scenes::get(std::int64_t i) const { return {part(images, i), part(boxes, i), part(classes, i), part(masks, i)}; }

Scenes draw_scenes(std::int64_t count, std::uint64_t seed, const SceneOptions& options) {
  if (count < 0 || options.size < 1 || options.most < 1 || !(options.smallest > 0 && options.smallest <= options.largest)) {
    throw Error({.op = "draw_scenes",
                 .got = std::to_string(count) + " pictures of " + std::to_string(options.size) + " pixels, up to " +
                        std::to_string(options.most) + " digits",
                 .expected = "at least 0 pictures, 1 pixel, 1 digit, and 0 < smallest <= largest"});
  }
  const std::int64_t n = options.size;
  Scenes scenes{filled_with_zeros(DType::f32, {count, 1, n, n}), filled_with_zeros(DType::f32, {count, options.most, 4}),
                filled_with_zeros(DType::i64, {count, options.most}), filled_with_zeros(DType::i64, {count, n, n})};
  std::ranges::fill(scenes.classes.values<std::int64_t>(), -1);
  const auto pixels = static_cast<std::size_t>(n * n), most = static_cast<std::size_t>(options.most);
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    draw({scenes.images.values<float>().subspan(at * pixels, pixels), scenes.boxes.values<float>().subspan(at * 4 * most, 4 * most),
          scenes.classes.values<std::int64_t>().subspan(at * most, most), scenes.masks.values<std::int64_t>().subspan(at * pixels, pixels)},
         seed, i, options);
  }
  return scenes;
}

}  // namespace tegula::data
