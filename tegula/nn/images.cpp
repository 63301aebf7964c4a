#include "tegula/nn/images.h"

#include "tegula/graph/frame.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {

Tensor Upsample::operator()(Arg x) const {
  In frame("Upsample", x.loc);
  const Tensor given = x.tensor("Upsample");
  const int axes = given.rank() - 2;
  const Tensor y = interpolate(Arg(ops::channels_first(given, axes, layout, x.loc), x.loc),
                               {.size = size, .scale_factor = scale_factor, .mode = mode, .align_corners = align_corners});
  return ops::channels_as(y, axes, layout, x.loc);
}

namespace {

/// f of images (…, C, H, W) whose channels lie last where `layout` is NHWC.
template <class F>
Tensor of_planes(std::string_view name, const Arg& x, AxisOrder layout, const F& f) {
  In frame(name, x.loc);
  const Tensor given = x.tensor(name);
  if (layout == Layout::NCHW || given.rank() < 3) return f(x);  // which refuses what has too few axes
  return movedim(f(Arg(movedim(given, -1, -3), x.loc)), -3, -1);
}

}  // namespace

Tensor PixelShuffle::operator()(Arg x) const {
  return of_planes("PixelShuffle", x, layout, [&](const Arg& planes) { return pixel_shuffle(planes, upscale_factor); });
}
Tensor PixelUnshuffle::operator()(Arg x) const {
  return of_planes("PixelUnshuffle", x, layout, [&](const Arg& planes) { return pixel_unshuffle(planes, downscale_factor); });
}
Tensor Unfold::operator()(Arg x) const { return unfold(x, kernel_size, options); }
Tensor Fold::operator()(Arg x) const { return fold(x, output_size, kernel_size, options); }

}  // namespace tegula::nn
