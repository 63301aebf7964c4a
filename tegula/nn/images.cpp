#include "tegula/nn/images.h"

#include "tegula/graph/frame.h"
#include "tegula/ops/shape/image_axes.h"

namespace tegula::nn {

Tensor Upsample::operator()(Arg x) const {
  In frame("Upsample", x.loc);
  const Tensor given = x.tensor("Upsample");
  const int axes = given.rank() - 2;
  const Tensor y = interpolate(Arg(ops::channels_first(given, axes, layout, x.loc), x.loc),
                               {.size = size, .scale_factor = scale_factor, .mode = mode, .align_corners = align_corners});
  return ops::channels_as(y, axes, layout, x.loc);
}

Tensor PixelShuffle::operator()(Arg x) const { return pixel_shuffle(x, upscale_factor); }
Tensor PixelUnshuffle::operator()(Arg x) const { return pixel_unshuffle(x, downscale_factor); }
Tensor Unfold::operator()(Arg x) const { return unfold(x, kernel_size, options); }
Tensor Fold::operator()(Arg x) const { return fold(x, output_size, kernel_size, options); }

}  // namespace tegula::nn
