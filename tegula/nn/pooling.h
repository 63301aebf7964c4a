#pragma once
// Pooling layers.

#include "tegula/nn/module.h"
#include "tegula/ops/products/pooling.h"

namespace tegula::nn {

/// The maximum of each window: nn::MaxPool2d{2}, nn::MaxPool2d{3, {.stride = 2, .padding = 1}}. Without a stride windows do not overlap.
template <int Axes>
struct MaxPool {
  PerAxis kernel_size;
  MaxPoolOptions options = {};
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

/// The mean of each window.
template <int Axes>
struct AvgPool {
  PerAxis kernel_size;
  AveragePoolOptions options = {};
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

/// Means over windows, as many windows as the output has elements.
template <int Axes>
struct AdaptiveAvgPool {
  PerAxis output_size;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

template <int Axes>
struct AdaptiveMaxPool {
  PerAxis output_size;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

}  // namespace tegula::nn
