#include "tegula/nn/images.h"

#include "tegula/graph/frame.h"

namespace tegula::nn {

Tensor Upsample::operator()(Arg x) const {
  In frame("Upsample", x.loc);
  return interpolate(x, {.size = size, .scale_factor = scale_factor, .mode = mode, .align_corners = align_corners});
}

Tensor PixelShuffle::operator()(Arg x) const { return pixel_shuffle(x, upscale_factor); }
Tensor PixelUnshuffle::operator()(Arg x) const { return pixel_unshuffle(x, downscale_factor); }
Tensor Unfold::operator()(Arg x) const { return unfold(x, kernel_size, options); }
Tensor Fold::operator()(Arg x) const { return fold(x, output_size, kernel_size, options); }

}  // namespace tegula::nn
