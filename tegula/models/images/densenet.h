#pragma once
// DenseNet: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"

namespace tegula::models {

/// Adds `growth` channels to its input's.
struct DenseLayer {
  std::int64_t in, growth;
  nn::BatchNorm2d norm1{in};
  nn::Conv2d conv1{in, 4 * growth, 1, {.bias = false}};
  nn::BatchNorm2d norm2{4 * growth};
  nn::Conv2d conv2{4 * growth, growth, 3, {.padding = 1, .bias = false}};

  Tensor operator()(Tensor x);
};

/// Layers of which each sees the results of all before it: denselayer1, denselayer2, …
struct DenseBlock {
  std::vector<DenseLayer> layers;

  DenseBlock(std::int64_t in, std::int64_t growth, std::int64_t count);
  Tensor operator()(Tensor x);
  void visit(nn::Visitor& visitor, const nn::Path& path);
};

/// Half of the channels and half of the size.
struct DenseTransition {
  std::int64_t in;
  nn::BatchNorm2d norm{in};
  nn::Conv2d conv{in, in / 2, 1, {.bias = false}};

  Tensor operator()(Tensor x);
};

struct DenseFeatures {
  std::int64_t growth, width, first, second, third, fourth;  // layers of each block
  std::int64_t after1 = width + first * growth, after2 = after1 / 2 + second * growth, after3 = after2 / 2 + third * growth;
  nn::Conv2d conv0{3, width, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::BatchNorm2d norm0{width};
  DenseBlock denseblock1{width, growth, first};
  DenseTransition transition1{after1};
  DenseBlock denseblock2{after1 / 2, growth, second};
  DenseTransition transition2{after2};
  DenseBlock denseblock3{after2 / 2, growth, third};
  DenseTransition transition3{after3};
  DenseBlock denseblock4{after3 / 2, growth, fourth};
  nn::BatchNorm2d norm5{channels()};

  std::int64_t channels() const { return after3 / 2 + fourth * growth; }
  Tensor operator()(Tensor x);
};

/// Huang et al., "Densely connected convolutional networks" (2017). The defaults are DenseNet-121, 8.0 M parameters; {6, 12, 32, 32} is 169, {6, 12,
/// 48, 32} is 201.
struct DenseNet {
  std::int64_t classes = 1000;
  std::int64_t growth = 32, width = 64, first = 6, second = 12, third = 24, fourth = 16;
  DenseFeatures features{growth, width, first, second, third, fourth};
  nn::Linear classifier{features.channels(), classes};

  Tensor operator()(Tensor x);
};

}  // namespace tegula::models
