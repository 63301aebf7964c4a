#pragma once
// A mask laid over a picture.

#include <cstdint>

#include "tegula/core/host_array.h"

namespace tegula::io {

struct DrawMaskOptions {
  double strength = 0.5;      // of the colours over the picture, 0 to 1
  std::int64_t ground = 0;    // the class that gets no colour; classes below 0 get none either
};
/// picture f32 (1 or 3, H, W) in [0, 1] -> f32 (3, H, W): pixels of a class of mask i64 (H, W) mixed with its colour (draw_boxes has the same ones), class 1 the first. For
/// draw_boxes and image_grid. Throws Error for other shapes and dtypes.
HostArray draw_mask(const HostArray& picture, const HostArray& mask, const DrawMaskOptions& options = {});

}  // namespace tegula::io
