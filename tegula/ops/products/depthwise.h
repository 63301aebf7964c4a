#pragma once
// Convolutions that have a group for each channel: no sums over channels, so nothing for the libraries' engines, which take a tenth of a second each to make.

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/window.h"
#include "tegula/runtime/device.h"

namespace tegula::ops {

/// True if depthwise() computes it: weight (C, 1, window…) over x (N, C, spatial…), not empty, with a window that is not large.
bool describes_depthwise(const Shape& x, const Shape& weight, std::int64_t groups);

/// The result of a ConvolutionOp of this pass over (a, b), of `shape`, by tile programs over channels-last tensors. Sums are f32 (f64: f64).
///   Forward (x, w) -> y    BackwardData (y, w) -> x    BackwardWeight (x, y) -> w
Tensor depthwise(runtime::ConvolutionPass pass, const Window& window, const Tensor& a, const Tensor& b, const Shape& shape);

}  // namespace tegula::ops
