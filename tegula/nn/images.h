#pragma once
// Layers that change the size of images.

#include "tegula/nn/module.h"
#include "tegula/ops/images/interpolate.h"
#include "tegula/ops/images/unfold.h"

namespace tegula::nn {

/// interpolate: nn::Upsample{.scale_factor = 2, .mode = Interpolation::Bilinear}. x (N, C, spatial…) -> (N, C, spatial'…).
struct Upsample {
  PerAxis size = {};
  ScaleFactor scale_factor = {};
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

/// (…, C * r * r, H, W) -> (…, C, H * r, W * r); with Layout::NHWC (…, H, W, C * r * r) -> (…, H * r, W * r, C), channels in the same order.
struct PixelShuffle {
  std::int64_t upscale_factor;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
/// (…, C, H * r, W * r) -> (…, C * r * r, H, W).
struct PixelUnshuffle {
  std::int64_t downscale_factor;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

/// x (N, C, H, W) -> (N, C * window elements, positions): ops/images/unfold.h.
struct Unfold {
  PerAxis kernel_size;
  UnfoldOptions options = {};
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};
/// (N, C * window elements, positions) -> (N, C, output size).
struct Fold {
  PerAxis output_size;
  PerAxis kernel_size;
  UnfoldOptions options = {};
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

}  // namespace tegula::nn
