#pragma once
// Batches of pictures that differ in size.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/core/line.h"
#include "tegula/data/dataset.h"

namespace tegula::data {

/// Images as one batch, with their sizes.
struct PaddedImages {
  HostArray images;  // (N, C, H, W) f32: each in the upper left corner, 0 beside and below it
  HostArray sizes;   // (N, 2) i64: height and width of each
};
/// Images (C, h, w) f32 of any sizes; H and W are the greatest of them, rounded up to a multiple of `multiple`. Throws Error for no image, other dtypes and ranks,
/// different numbers of channels, and a multiple below 1.
PaddedImages padded(std::span<const HostArray> images, std::int64_t multiple = 1, Line where = Line::current());

/// 1 where a padded image has pixels and 0 beside them: (N, H, W) f32 of sizes (N, 2). Throws Error for other sizes.
HostArray inside(const HostArray& sizes, std::int64_t height, std::int64_t width);

/// Samples of one set, padded to one size: {image (C, height, width), size (2) i64, …}, so that a Loader makes batches of them. Arrays behind the image stay as
/// they are, but for masks i64 (h, w) of the image's size, which get `mask` beside them. An image that is larger is an Error when it is asked for.
Sample padded_to(const Sample& sample, std::int64_t height, std::int64_t width, std::int64_t mask = -1);
template <Dataset T>
auto padded(T set, std::int64_t height, std::int64_t width, std::int64_t mask = -1) {
  return map(std::move(set), [=](const Sample& sample) { return padded_to(sample, height, width, mask); });
}

}  // namespace tegula::data
