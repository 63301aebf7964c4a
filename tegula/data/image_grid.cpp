#include "tegula/data/image_grid.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tegula/core/error.h"

namespace tegula::data {
namespace {

[[noreturn]] void refuse(std::string got, const char* expected, const Line& where) {
  throw Error({.op = "image_grid", .got = std::move(got), .expected = expected, .where = where});
}

/// `pixels`: of `count` images, each of this shape.
HostArray grid_of(const std::vector<const float*>& images, const Shape& shape, const ImageGridOptions& options, const Line& where) {
  const std::int64_t channels = shape.rank() == 3 ? shape[0] : 1;
  if ((shape.rank() != 2 && shape.rank() != 3) || (channels != 1 && channels != 3) || numel(shape) == 0)
    refuse("images of shape " + to_string(shape), "(C, H, W) with 1 or 3 channels, or (H, W)", where);
  if (options.columns < 1 || options.enlarge < 1 || options.gap < 0)
    refuse("columns " + std::to_string(options.columns) + ", enlarge " + std::to_string(options.enlarge) + ", gap " +
               std::to_string(options.gap),
           "at least 1, 1 and 0", where);
  const std::int64_t h = shape[shape.rank() - 2], w = shape[shape.rank() - 1], times = options.enlarge, gap = options.gap;
  const auto count = static_cast<std::int64_t>(images.size());
  const std::int64_t columns = std::min(options.columns, count), rows = (count + columns - 1) / columns;
  const std::int64_t width = columns * (w * times + gap) - gap, height = rows * (h * times + gap) - gap;
  HostArray picture = HostArray::empty(u8, {height, width, channels});
  const auto pixels = picture.values<std::uint8_t>();
  std::memset(pixels.data(), 255, pixels.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t top = i / columns * (h * times + gap), left = i % columns * (w * times + gap);
    for (std::int64_t y = 0; y < h * times; ++y) {
      for (std::int64_t x = 0; x < w * times; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const float value = images[static_cast<std::size_t>(i)][(c * h + y / times) * w + x / times];
          const float byte = value > 0 ? std::min(value, 1.0f) * 255 + 0.5f : 0;  // NaN is not above 0
          pixels[static_cast<std::size_t>(((top + y) * width + left + x) * channels + c)] = static_cast<std::uint8_t>(byte);
        }
      }
    }
  }
  return picture;
}

}  // namespace

HostArray image_grid(const Tensor& images, const ImageGridOptions& options, Line where) {
  const Shape shape = images.shape();
  if (shape.rank() < 3 || shape[0] < 1 || !is_float(images.dtype()))
    refuse(std::string(name(images.dtype())) + to_string(shape), "floats (N, C, H, W) or (N, H, W), of at least one image", where);
  const std::vector<float> values = images.to_host(where);
  Shape one = shape;
  one.erase(0);
  std::vector<const float*> each;
  for (std::int64_t i = 0; i < shape[0]; ++i) each.push_back(values.data() + i * numel(one));
  return grid_of(each, one, options, where);
}

HostArray image_grid(std::span<const HostArray> images, const ImageGridOptions& options, Line where) {
  if (images.empty()) refuse("no image", "at least one", where);
  std::vector<const float*> each;
  for (const HostArray& image : images) {
    if (image.dtype != f32 || image.shape != images[0].shape)
      refuse("an image " + std::string(name(image.dtype)) + to_string(image.shape) + " beside " + std::string(name(images[0].dtype)) +
                 to_string(images[0].shape),
             "f32 images of one shape", where);
    each.push_back(image.values<float>().data());
  }
  return grid_of(each, images[0].shape, options, where);
}

}  // namespace tegula::data
