#pragma once
// Pooling over one to three spatial axes.

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/window.h"

namespace tegula {

struct MaxPoolOptions {
  PerAxis stride = {};  // not given: the window, so that windows do not overlap
  Padding padding = 0;  // with -inf, of integers the lowest number; may be larger than the window
  PerAxis dilation = 1;
  bool ceil_mode = false;  // round the output size up: the last window may reach outside
  AxisOrder layout = Layout::NCHW;
};

/// x (N, C, spatial…) or (C, spatial…) -> the maximum of each window: floats and integers. Sizes as for convolution. With `.layout = Layout::NHWC`
/// x and the result are (N, spatial…, C) or (spatial…, C). A window that lies in the padding alone gives what the padding holds.
/// The gradient goes to the first maximum of a window; a NaN counts as the maximum. max_pool2d_with_indices (ops/images/unpool.h) says where the maxima are.
/// Throws Error for other dtypes and shapes, and where no window fits into the padded input.
Tensor max_pool1d(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});
Tensor max_pool2d(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});
Tensor max_pool3d(Arg x, const PerAxis& window, const MaxPoolOptions& options = {});

struct AveragePoolOptions {
  PerAxis stride = {};  // not given: the window
  Padding padding = 0;  // with zeros; may be larger than the window
  PerAxis dilation = 1;
  bool ceil_mode = false;
  bool count_include_pad = true;  // divide by the window, also where it covers padding; else by the elements inside
  AxisOrder layout = Layout::NCHW;
};

/// x (N, C, spatial…) or (C, spatial…) -> the mean of each window, float dtypes. Layouts and errors as for max_pool. A window that lies in the padding alone gives 0.
Tensor avg_pool1d(Arg x, const PerAxis& window, const AveragePoolOptions& options = {});
Tensor avg_pool2d(Arg x, const PerAxis& window, const AveragePoolOptions& options = {});
Tensor avg_pool3d(Arg x, const PerAxis& window, const AveragePoolOptions& options = {});

/// x (…, spatial…) -> (…, output…): window i of an axis covers floor(i*size/output) up to ceil((i+1)*size/output), as in PyTorch.
/// `output` is one number for all of the spatial axes, or one for each.
Tensor adaptive_avg_pool1d(Arg x, const PerAxis& output);
Tensor adaptive_avg_pool2d(Arg x, const PerAxis& output);
Tensor adaptive_avg_pool3d(Arg x, const PerAxis& output);
Tensor adaptive_max_pool1d(Arg x, const PerAxis& output);
Tensor adaptive_max_pool2d(Arg x, const PerAxis& output);
Tensor adaptive_max_pool3d(Arg x, const PerAxis& output);

/// x (N, C, spatial…) -> (N, C): over all of the spatial axes.
Tensor global_avg_pool(Arg x);
Tensor global_max_pool(Arg x);
/// The same of x (N, spatial…, C) with Layout::NHWC.
Tensor global_avg_pool(Arg x, AxisOrder layout);
Tensor global_max_pool(Arg x, AxisOrder layout);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> pooling_cases();

}  // namespace tegula
