#pragma once

#include "tegula/onnx/call.h"

namespace tegula::onnx {

/// The convolution that the node's attributes describe; bias may be empty.
Tensor convolved(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace tegula::onnx
