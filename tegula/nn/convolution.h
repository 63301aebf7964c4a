#pragma once
// Convolution layers.

#include "tegula/nn/module.h"
#include "tegula/ops/products/convolution.h"

namespace tegula::nn {

struct ConvOptions {
  PerAxis stride = 1;
  Padding padding = 0;  // a number, {1, 2}, Same or Valid
  PerAxis dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = f32;
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, spatial…, in) -> (N, spatial'…, out); the weight's axes are the same
};
/// x (N, in, spatial…) -> (N, out, spatial'…) over `Axes` spatial axes: ops/products/convolution.h has the formulas.
/// weight and bias begin uniform in ±1/sqrt(fan_in).
template <int Axes>
class Convolution {
 public:
  Convolution(std::int64_t in_channels, std::int64_t out_channels, const PerAxis& kernel_size, const ConvOptions& options = {},
              Line where = Line::current());
  Tensor operator()(Arg x) const;
  /// The same with another weight of its shape (nn/weight_norm.h).
  Tensor with_weight(Arg x, const Tensor& weight) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (out, in / groups, window…)
  Variable bias;    // (out), or empty

 private:
  ConvolutionOptions options_;
};
using Conv1d = Convolution<1>;
using Conv2d = Convolution<2>;
using Conv3d = Convolution<3>;

struct ConvTransposeOptions {
  PerAxis stride = 1;
  Padding padding = 0;
  PerAxis output_padding = 0;
  std::int64_t groups = 1;
  PerAxis dilation = 1;
  bool bias = true;
  DType dtype = f32;
  AxisOrder layout = Layout::NCHW;
};
/// x (N, in, spatial…) -> (N, out, spatial'…), spatial' = (spatial - 1)*stride - 2*padding + dilation*(window-1) + output_padding + 1.
template <int Axes>
class ConvolutionTranspose {
 public:
  ConvolutionTranspose(std::int64_t in_channels, std::int64_t out_channels, const PerAxis& kernel_size,
                       const ConvTransposeOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x) const;
  /// The same with another weight of its shape (nn/weight_norm.h).
  Tensor with_weight(Arg x, const Tensor& weight) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (in, out / groups, window…)
  Variable bias;    // (out), or empty

 private:
  ConvolutionTransposeOptions options_;
};
using ConvTranspose1d = ConvolutionTranspose<1>;
using ConvTranspose2d = ConvolutionTranspose<2>;
using ConvTranspose3d = ConvolutionTranspose<3>;

}  // namespace tegula::nn
