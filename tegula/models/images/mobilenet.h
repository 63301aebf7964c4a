#pragma once
// MobileNetV2: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>

#include "tegula/nn/sequential.h"

namespace tegula::models {

/// Wider by `expansion`, a convolution of each channel, and narrow again, with a shortcut where the shape stays.
struct InvertedResidual {
  bool has_shortcut = false;
  nn::Sequential conv;

  Tensor operator()(Tensor x);
  static InvertedResidual make(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t expansion);
};

/// Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks" (2018). 3.5 M parameters; 0.3 G multiply-adds for an image of
/// 224 x 224.
struct MobileNetV2 {
  std::int64_t classes = 1000;
  nn::Sequential features = layers();
  nn::Sequential classifier = head(classes);

  Tensor operator()(Tensor x);
  static nn::Sequential layers();
  static nn::Sequential head(std::int64_t classes);
};

}  // namespace tegula::models
