#pragma once
// The convolution of a node, which quantised operators share.

#include "tegula/onnx/call.h"
#include "tegula/ops/products/convolution.h"

namespace tegula::onnx {

/// The arguments of a convolution of the library: x without what negative pads take away.
struct Convolved {
  Tensor x;
  ConvolutionOptions options;
};
/// The arguments for x (N, C, spatial…) and a weight (O, C / group, window…), with the node's strides, pads, dilations and groups.
Convolved convolution_of(const Call& call, const Tensor& x, const Tensor& weight);
/// The convolution; without a bias where it is not defined.
Tensor convolved(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace tegula::onnx
