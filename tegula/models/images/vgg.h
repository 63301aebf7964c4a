#pragma once
// VGG: (N, 3, H, W) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>

#include "tegula/nn/sequential.h"

namespace tegula::models {

/// Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition" (2015), with 11, 13, 16 or 19 layers.
/// 138 M parameters for 16; 15.5 G multiply-adds for an image of 224 x 224. Throws Error for another depth.
struct Vgg {
  std::int64_t depth = 16;
  bool batch_norm = false;
  std::int64_t classes = 1000;
  nn::Sequential features = layers(depth, batch_norm);
  nn::Sequential classifier = head(classes);

  Tensor operator()(Tensor x);
  static nn::Sequential layers(std::int64_t depth, bool batch_norm);
  static nn::Sequential head(std::int64_t classes);
};

}  // namespace tegula::models
