#include "tegula/io/draw_mask.h"

#include <string>

#include "tegula/core/error.h"
#include "tegula/io/class_colours.h"

namespace tegula::io {

HostArray draw_mask(const HostArray& picture, const HostArray& mask, const DrawMaskOptions& options) {
  const Shape& shape = picture.shape;
  if (picture.dtype != DType::f32 || shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3) || mask.dtype != DType::i64 ||
      mask.shape != Shape{shape[1], shape[2]} || !(options.strength >= 0 && options.strength <= 1)) {
    throw Error({.op = "draw_mask",
                 .got = "a picture " + to_string(shape) + " of " + std::string(name(picture.dtype)) + ", a mask " + to_string(mask.shape) +
                        " of " + std::string(name(mask.dtype)),
                 .expected = "f32 (1 or 3, H, W), i64 (H, W) and a strength from 0 to 1"});
  }
  const std::int64_t pixels = shape[1] * shape[2];
  HostArray out = HostArray::empty(DType::f32, {3, shape[1], shape[2]});
  const float* from = picture.values<float>().data();
  float* to = out.values<float>().data();
  const auto classes = mask.values<std::int64_t>();
  const auto strength = static_cast<float>(options.strength);
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t of_class = classes[static_cast<std::size_t>(p)];
      const float value = from[(shape[0] == 3 ? c * pixels : 0) + p];
      const bool has_colour = of_class >= 0 && of_class != options.ground;
      const float colour = has_colour ? static_cast<float>(class_colour(of_class - 1)[static_cast<std::size_t>(c)]) / 255.0f : 0;
      to[c * pixels + p] = has_colour ? (1 - strength) * value + strength * colour : value;
    }
  }
  return out;
}

}  // namespace tegula::io
