#pragma once
// ResNet-50: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

/// The bottleneck of He et al., "Deep residual learning for image recognition" (2016), with the stride in the 3 x 3 convolution
/// ("v1.5", as torchvision and MLPerf have it).
struct Bottleneck {
  std::int64_t in, width, stride;
  nn::Conv2d conv1{in, width, 1, {.bias = false}};
  nn::BatchNorm2d bn1{width};
  nn::Conv2d conv2{width, width, 3, {.stride = stride, .padding = 1, .bias = false}};
  nn::BatchNorm2d bn2{width};
  nn::Conv2d conv3{width, 4 * width, 1, {.bias = false}};
  nn::BatchNorm2d bn3{4 * width};
  nn::Sequential downsample = shortcut(in, 4 * width, stride);  // empty: x itself

  Tensor operator()(Tensor x);
  static nn::Sequential shortcut(std::int64_t in, std::int64_t out, std::int64_t stride);
};

/// 25.6 M parameters; 4.1 G multiply-adds for an image of 224 x 224.
struct ResNet50 {
  std::int64_t classes = 1000;
  nn::Conv2d conv1{3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::BatchNorm2d bn1{64};
  std::vector<Bottleneck> layer1 = stage(64, 64, 3, 1);
  std::vector<Bottleneck> layer2 = stage(256, 128, 4, 2);
  std::vector<Bottleneck> layer3 = stage(512, 256, 6, 2);
  std::vector<Bottleneck> layer4 = stage(1024, 512, 3, 2);
  nn::Linear fc{2048, classes};

  Tensor operator()(Tensor x);
  static std::vector<Bottleneck> stage(std::int64_t in, std::int64_t width, int blocks, std::int64_t stride);
};

}  // namespace tegula::models
