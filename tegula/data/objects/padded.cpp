#include "tegula/data/objects/padded.h"

#include <algorithm>
#include <string>

#include "tegula/core/error.h"

namespace tegula::data {
namespace {

[[noreturn]] void refuse_padding(const std::string& got, const std::string& expected, const Line& where = {}) {
  throw Error({.op = "padded", .got = got, .expected = expected, .where = where});
}

std::string kind_of(const HostArray& array) { return std::string(name(array.dtype)) + to_string(array.shape); }

bool is_plain_image(const HostArray& array) { return array.dtype == f32 && array.shape.rank() == 3 && array.size() > 0; }

/// Rows of (planes, h, w) into the upper left corners of (planes, height, width).
template <class T>
void copy_corner(const T* from, std::int64_t planes, std::int64_t h, std::int64_t w, T* to, std::int64_t height, std::int64_t width) {
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t y = 0; y < h; ++y) std::copy_n(from + (p * h + y) * w, w, to + (p * height + y) * width);
  }
}

}  // namespace

PaddedImages padded(std::span<const HostArray> images, std::int64_t multiple, Line where) {
  if (images.empty() || multiple < 1)
    refuse_padding(std::to_string(images.size()) + " images, a multiple of " + std::to_string(multiple), "at least one of each", where);
  std::int64_t height = 1, width = 1;
  for (const HostArray& image : images) {
    if (!is_plain_image(image) || image.shape[0] != images[0].shape[0])
      refuse_padding(kind_of(image), "images f32 (C, H, W) with pixels, of one number of channels", where);
    height = std::max(height, image.shape[1]), width = std::max(width, image.shape[2]);
  }
  height = (height + multiple - 1) / multiple * multiple, width = (width + multiple - 1) / multiple * multiple;
  const auto count = static_cast<std::int64_t>(images.size()), channels = images[0].shape[0];
  PaddedImages out{HostArray::empty(f32, {count, channels, height, width}), HostArray::empty(i64, {count, 2})};
  const auto pixels = out.images.values<float>();
  std::ranges::fill(pixels, 0.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    const HostArray& image = images[static_cast<std::size_t>(i)];
    copy_corner(image.values<float>().data(), channels, image.shape[1], image.shape[2], pixels.data() + i * channels * height * width,
                height, width);
    out.sizes.values<std::int64_t>()[static_cast<std::size_t>(2 * i)] = image.shape[1];
    out.sizes.values<std::int64_t>()[static_cast<std::size_t>(2 * i + 1)] = image.shape[2];
  }
  return out;
}

HostArray inside(const HostArray& sizes, std::int64_t height, std::int64_t width) {
  if (sizes.dtype != i64 || sizes.shape.rank() != 2 || sizes.shape[1] != 2 || height < 1 || width < 1)
    refuse_padding("sizes " + kind_of(sizes) + " in " + std::to_string(height) + " x " + std::to_string(width), "i64 (N, 2) and pixels");
  HostArray out = HostArray::empty(f32, {sizes.shape[0], height, width});
  float* to = out.values<float>().data();
  const auto values = sizes.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); i += 2) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) *to++ = y < values[i] && x < values[i + 1] ? 1.0f : 0.0f;
    }
  }
  return out;
}

Sample padded_to(const Sample& sample, std::int64_t height, std::int64_t width, std::int64_t mask) {
  if (sample.empty() || !is_plain_image(sample[0]) || sample[0].shape[1] > height || sample[0].shape[2] > width) {
    refuse_padding(sample.empty() ? "an empty sample" : kind_of(sample[0]),
                   "an image f32 (C, H, W) of at most " + std::to_string(height) + " x " + std::to_string(width) + " pixels first");
  }
  const std::int64_t channels = sample[0].shape[0], h = sample[0].shape[1], w = sample[0].shape[2];
  Sample out{HostArray::empty(f32, {channels, height, width}), HostArray::empty(i64, {2})};
  std::ranges::fill(out[0].values<float>(), 0.0f);
  copy_corner(sample[0].values<float>().data(), channels, h, w, out[0].values<float>().data(), height, width);
  out[1].values<std::int64_t>()[0] = h, out[1].values<std::int64_t>()[1] = w;
  for (std::size_t i = 1; i < sample.size(); ++i) {
    if (sample[i].dtype != i64 || sample[i].shape != Shape{h, w}) {
      out.push_back(sample[i]);
      continue;
    }
    HostArray larger = HostArray::empty(i64, {height, width});
    std::ranges::fill(larger.values<std::int64_t>(), mask);
    copy_corner(sample[i].values<std::int64_t>().data(), 1, h, w, larger.values<std::int64_t>().data(), height, width);
    out.push_back(std::move(larger));
  }
  return out;
}

}  // namespace tegula::data
