#pragma once
// Residual nets: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

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
  static constexpr std::int64_t kExpansion = 4;
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

/// The basic block of the same paper, two convolutions of 3 x 3: that of the shallower nets.
struct BasicBlock {
  static constexpr std::int64_t kExpansion = 1;
  std::int64_t in, width, stride;
  nn::Conv2d conv1{in, width, 3, {.stride = stride, .padding = 1, .bias = false}};
  nn::BatchNorm2d bn1{width};
  nn::Conv2d conv2{width, width, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d bn2{width};
  nn::Sequential downsample = Bottleneck::shortcut(in, width, stride);

  Tensor operator()(Tensor x);
};

/// Blocks of four sizes.
template <class Block, int A, int B, int C, int D>
struct ResNet {
  std::int64_t classes = 1000;
  nn::Conv2d conv1{3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::BatchNorm2d bn1{64};
  std::vector<Block> layer1 = stage(64, 64, A, 1);
  std::vector<Block> layer2 = stage(64 * Block::kExpansion, 128, B, 2);
  std::vector<Block> layer3 = stage(128 * Block::kExpansion, 256, C, 2);
  std::vector<Block> layer4 = stage(256 * Block::kExpansion, 512, D, 2);
  nn::Linear fc{512 * Block::kExpansion, classes};

  Tensor operator()(Tensor x);
  static std::vector<Block> stage(std::int64_t in, std::int64_t width, int blocks, std::int64_t stride);
};

// Parameters, and multiply-adds for an image of 224 x 224.
using ResNet18 = ResNet<BasicBlock, 2, 2, 2, 2>;    // 11.7 M, 1.8 G
using ResNet34 = ResNet<BasicBlock, 3, 4, 6, 3>;    // 21.8 M, 3.7 G
using ResNet50 = ResNet<Bottleneck, 3, 4, 6, 3>;    // 25.6 M, 4.1 G
using ResNet101 = ResNet<Bottleneck, 3, 4, 23, 3>;  // 44.5 M, 7.8 G

}  // namespace tegula::models
