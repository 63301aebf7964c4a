#pragma once
// Images as matrices of their windows and back, and channels as pixels.

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/window.h"

namespace tegula {

struct UnfoldOptions {
  PerAxis stride = 1;
  Padding padding = 0;  // with zeros
  PerAxis dilation = 1;
  AxisOrder layout = Layout::NCHW;  // of the images; NHWC: (N, H, W, C). Columns are the same in both
  int axes =
      0;  // how many are spatial, 1 to 6; 0: as many as `output` or `window` has numbers, or 2 where those are one number for all axes
};
/// im2col: x (N, C, spatial…) -> (N, C * window elements, positions), the elements of each window as a column; without a batch (C, spatial…) likewise.
/// Every dtype; sizes as for convolution. Throws Error for other shapes, and where no window fits into the padded image.
Tensor unfold(Arg x, const PerAxis& window, const UnfoldOptions& options = {});
/// col2im, the adjoint of unfold: x (N, C * window elements, positions) -> (N, C, spatial…) of these output sizes, overlapping windows added up; without a batch
/// (C * window elements, positions) likewise. Floats and integers. Throws Error when the positions are not those of such an image.
Tensor fold(Arg x, const PerAxis& output, const PerAxis& window, const UnfoldOptions& options = {});

/// x (…, C * r * r, H, W) -> (…, C, H * r, W * r) (Shi et al., "Real-time single image and video super-resolution", 2016).
Tensor pixel_shuffle(Arg x, std::int64_t r);
/// The inverse: (…, C, H * r, W * r) -> (…, C * r * r, H, W).
Tensor pixel_unshuffle(Arg x, std::int64_t r);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> unfold_cases();

}  // namespace tegula
