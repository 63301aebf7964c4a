#pragma once
// Maxima of windows with their places, and back: the pooling of nets that draw the whole picture again (Zeiler and Fergus, 2014; SegNet).

#include "tegula/graph/tensor.h"
#include "tegula/ops/products/pooling.h"

namespace tegula {

struct PooledPlaces {
  Tensor values;   // as max_pool2d gives them
  Tensor
      indices;  // i64 of the same shape: row * W + column in the plane of the channel, of the first maximum; -1 where a window lies in the padding alone
};
/// The maxima of windows as max_pool1d, max_pool2d and max_pool3d give them, with the same options, dtypes, gradients and errors, and where they are (PyTorch's
/// return_indices). A place counts the elements of a channel in the order of the spatial axes, also with `.layout = Layout::NHWC`.
PooledPlaces max_pool1d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});
PooledPlaces max_pool2d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});
PooledPlaces max_pool3d_with_indices(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});

struct MaxUnpoolOptions {
  PerAxis stride = {};  // not given: the window
  Padding padding = 0;
  PerAxis size = {};  // spatial sizes of the result; not given: (size - 1) * stride - padding on both sides + window
};
/// The inverse: x (N, C, spatial…) or (C, spatial…), not empty, indices of that shape -> (N, C, spatial'…) with each value at its place and 0 elsewhere; of equal
/// places the last stays. Floats and integers; gradients to x. Throws Error for shapes that do not fit, and, when it is run, for a place outside the plane.
Tensor max_unpool1d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options = {});
Tensor max_unpool2d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options = {});
Tensor max_unpool3d(Arg x, Arg indices, const PerAxis& window, const MaxUnpoolOptions& options = {});

struct ContrastNormOptions {
  std::int64_t size = 9;  // side of the window, odd
  double deviation = 0;  // of the Gaussian window, in pixels; 0: a quarter of the size
  double least = 1e-4;  // the divisor is at least this, so that rounding in a plain picture is not made large
};
/// x (N, C, H, W): v = x - the Gaussian mean over the window and the channels, and v / max(σ, mean of σ, least) with σ² the same mean of v² (Jarrett et al., "What is the best
/// multi-stage architecture for object recognition?", 2009, section 2.1). At the edges the window is its part inside. Float dtypes; gradients.
Tensor local_contrast_norm(Arg x, const ContrastNormOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> unpool_cases();

}  // namespace tegula
