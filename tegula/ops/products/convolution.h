#pragma once
// Convolution (cross-correlation, as everywhere in deep learning) over one to three spatial axes, and its transpose.

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/window.h"

namespace tegula {

struct ConvolutionOptions {
  PerAxis stride = 1;
  Padding padding = 0;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
  AxisOrder layout = Layout::NCHW;  // of x and the result; the weight's axes are the same in both
};

/// x (N, I, spatial…), weight (O, I/groups, window…), bias (O) -> (N, O, spatial'…), float dtypes (promoted to one).
/// y[n, o, p] = bias[o] + Σ_{i, q} x[n, i, p*stride + q*dilation - low] * weight[o, i, q], zero outside of x.
/// spatial' = floor((spatial + low + high - dilation*(window-1) - 1) / stride) + 1; Same: ceil(spatial / stride).
/// With `.layout = Layout::NHWC` x is (N, spatial…, I) and the result (N, spatial'…, O).
/// Without a batch, (I, spatial…), the result has none. Throws Error for wrong ranks, channels that do not fit, a window larger than the input.
Tensor conv1d(Arg x, Arg weight, const ConvolutionOptions& options = {});
Tensor conv1d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options = {});
Tensor conv2d(Arg x, Arg weight, const ConvolutionOptions& options = {});
Tensor conv2d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options = {});
Tensor conv3d(Arg x, Arg weight, const ConvolutionOptions& options = {});
Tensor conv3d(Arg x, Arg weight, Arg bias, const ConvolutionOptions& options = {});

struct ConvolutionTransposeOptions {
  PerAxis stride = 1;
  Padding padding = 0;  // explicit, or Valid
  PerAxis output_padding = 0;  // elements added at the end of the output, fewer than the stride (or the dilation)
  std::int64_t groups = 1;
  PerAxis dilation = 1;
  AxisOrder layout = Layout::NCHW;
};

/// The gradient of a convolution with respect to its input, as a layer (Zeiler et al., "Deconvolutional networks", 2010).
/// x (N, I, spatial…), weight (I, O/groups, window…), bias (O) -> (N, O, spatial'…),
/// spatial' = (spatial - 1)*stride - low - high + dilation*(window-1) + output_padding + 1.
Tensor conv_transpose1d(Arg x, Arg weight, const ConvolutionTransposeOptions& options = {});
Tensor conv_transpose1d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options = {});
Tensor conv_transpose2d(Arg x, Arg weight, const ConvolutionTransposeOptions& options = {});
Tensor conv_transpose2d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options = {});
Tensor conv_transpose3d(Arg x, Arg weight, const ConvolutionTransposeOptions& options = {});
Tensor conv_transpose3d(Arg x, Arg weight, Arg bias, const ConvolutionTransposeOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> convolution_cases();

}  // namespace tegula
