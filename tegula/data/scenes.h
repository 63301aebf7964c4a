#pragma once
// A data set for detection and segmentation that needs no download: drawn digits anywhere in a picture.

#include <cstdint>

#include "tegula/core/host_array.h"
#include "tegula/data/dataset.h"

namespace tegula::data {

struct SceneOptions {
  std::int64_t size = 64;   // side of the picture
  std::int64_t most = 4;    // digits in it, from 1 on
  double smallest = 0.7, largest = 1.3;  // factors of 28 pixels, a drawn digit with its margin
};

/// Pictures with the objects in them, all in one size.
struct Scenes {
  HostArray images;   // (N, 1, size, size) f32 in [0, 1]
  HostArray boxes;    // (N, most, 4) f32: corners x0, y0, x1, y1 around the strokes; 0 behind the last
  HostArray classes;  // (N, most) i64, -1 behind the last
  HostArray masks;    // (N, size, size) i64: 0 for the ground, 1 + digit for strokes

  std::int64_t size() const { return images.shape[0]; }
  /// {image, boxes, classes, mask}.
  Sample get(std::int64_t i) const;
};

/// Digits of draw_digits in several sizes, whose boxes overlap by less than a tenth of the smaller one. The same seed gives the same bits; picture i
/// depends on seed and i alone. About 100 µs a picture on one core. Throws Error for a negative count and sizes that do not fit.
Scenes draw_scenes(std::int64_t count, std::uint64_t seed, const SceneOptions& options = {});

}  // namespace tegula::data
