#pragma once
// ConvNeXt: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>

#include "tegula/nn/dropout.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

/// Layer norm over the channels of (N, C, H, W).
struct ChannelNorm {
  std::int64_t channels;
  nn::LayerNorm norm{channels, {.eps = 1e-6}};

  Tensor operator()(Tensor x) const;
  void visit(nn::Visitor& visitor, const nn::Path& path) { norm.visit(visitor, path); }
};

/// A convolution of each channel, a net of two layers at each pixel, and a learned weight of each channel of the result.
struct ConvNextBlock {
  std::int64_t width;
  double drop = 0;
  Variable layer_scale = Variable(first_scale(width));  // (width, 1, 1)
  nn::Sequential block = layers(width);
  nn::StochasticDepth stochastic_depth{drop};

  Tensor operator()(Tensor x);
  static Tensor first_scale(std::int64_t width);
  static nn::Sequential layers(std::int64_t width);
};

/// Liu et al., "A ConvNet for the 2020s" (2022), the tiny one. 28.6 M parameters; 4.5 G multiply-adds for an image of 224 x 224.
struct ConvNextTiny {
  std::int64_t classes = 1000;
  nn::Sequential features = layers();
  nn::Sequential classifier = head(classes);

  Tensor operator()(Tensor x);
  static nn::Sequential layers();
  static nn::Sequential head(std::int64_t classes);
};

}  // namespace tegula::models
