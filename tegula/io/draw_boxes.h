#pragma once
// Boxes drawn into a picture.

#include <array>
#include <cstdint>
#include <span>

#include "tegula/core/host_array.h"

namespace tegula::io {

struct DrawnBox {
  std::array<double, 4> corners;  // x0, y0, x1, y1 in pixels
  std::int64_t of_class = 0;      // says its colour, of twelve
};
struct DrawBoxesOptions {
  std::int64_t zoom = 4;  // the side of a pixel in the result
};
/// picture f32 (1 or 3, H, W) in [0, 1] -> u8 (zoom H, zoom W, 3) for write_png, each box a line of two pixels, cut off at the edges. Throws Error
/// for another picture and a zoom below 1.
HostArray draw_boxes(const HostArray& picture, std::span<const DrawnBox> boxes, const DrawBoxesOptions& options = {});

}  // namespace tegula::io
