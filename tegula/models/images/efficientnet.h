#pragma once
// EfficientNet-B0: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>

#include "tegula/nn/convolution.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

/// Channels weighted by a small net of their means (Hu et al., "Squeeze-and-excitation networks", 2018).
struct SqueezeExcitation {
  std::int64_t width, squeezed;
  nn::Conv2d fc1{width, squeezed, 1};
  nn::Conv2d fc2{squeezed, width, 1};

  Tensor operator()(Tensor x);
};

/// An inverted residual with squeeze-and-excitation, dropped for whole samples with probability `drop` while it trains.
struct MBConv {
  bool has_shortcut = false;
  double drop = 0;
  nn::Sequential block = {};
  nn::StochasticDepth stochastic_depth{drop};

  Tensor operator()(Tensor x);
};

/// Tan and Le, "EfficientNet: rethinking model scaling" (2019). 5.3 M parameters; 0.4 G multiply-adds for an image of 224 x 224.
struct EfficientNetB0 {
  std::int64_t classes = 1000;
  nn::Sequential features = layers();
  nn::Sequential classifier = head(classes);

  Tensor operator()(Tensor x);
  static nn::Sequential layers();
  static nn::Sequential head(std::int64_t classes);
};

}  // namespace tegula::models
