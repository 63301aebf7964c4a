#pragma once
// Classifiers of 32 x 32 coloured images: (N, 3, 32, 32) in [0, 1] -> scores (N, classes), before the softmax.

#include <cstdint>
#include <optional>
#include <vector>

#include "tegula/models/options.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"

namespace tegula::models {

/// A block of ResNet for CIFAR (He et al., "Deep residual learning for image recognition", 2016, section 4.2, shortcut A): where the number of maps grows the shortcut is
/// every second pixel, between maps of zeros.
struct CifarBlock {
  CifarBlock(std::int64_t in, std::int64_t out);
  Tensor operator()(const Tensor& x);

  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d bn1, bn2;
  std::int64_t more;  // maps than before
  static constexpr auto fields = nn::fields<&CifarBlock::conv1, &CifarBlock::bn1, &CifarBlock::conv2, &CifarBlock::bn2>;
};

/// The net of 20 layers of that section, 0.27 M parameters, with the names of the published weights (akamaster/pytorch_resnet_cifar10). The net subtracts the
/// means of ImageNet's colours and divides by their deviations, as those do. Batch normalisation is part of it; dropout comes before the last layer.
struct ResNet20 {
  Options options = {};
  nn::Conv2d conv1{3, 16, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d bn1{16};
  std::vector<CifarBlock> layer1 = stage(16, 16), layer2 = stage(16, 32), layer3 = stage(32, 64);
  std::optional<nn::Dropout> drop = when<nn::Dropout>(options.dropout > 0, options.dropout);
  nn::Linear linear{64, options.classes};

  Tensor operator()(Tensor x);
  static std::vector<CifarBlock> stage(std::int64_t in, std::int64_t out);  // of three
};

}  // namespace tegula::models
