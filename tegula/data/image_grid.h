#pragma once
// Images beside each other in one picture, to look at data and at a network's results.

#include <cstdint>
#include <span>

#include "tegula/core/host_array.h"
#include "tegula/core/line.h"
#include "tegula/graph/tensor.h"

namespace tegula::data {

struct ImageGridOptions {
  std::int64_t columns = 8;
  std::int64_t enlarge = 1;  // pixels of the picture, in both directions, for one of an image
  std::int64_t gap = 2;      // white pixels between images
};

/// io::write_png("digits.png", data::image_grid(images)): images (N, C, H, W), or (N, H, W), of floats with 0 for black and 1 for white, row after row, as a
/// picture (height, width, C) u8. Values beyond are cut off, NaN is black. Throws Error for no image, other shapes and dtypes, C other than 1 and 3.
HostArray image_grid(const Tensor& images, const ImageGridOptions& options = {}, Line where = Line::current());
/// The same of f32 images (C, H, W), or (H, W), which all have one shape: as the samples of data sets hold them.
HostArray image_grid(std::span<const HostArray> images, const ImageGridOptions& options = {}, Line where = Line::current());

}  // namespace tegula::data
