#pragma once
// The layers that the image models share.

#include <cstdint>
#include <optional>

#include "tegula/nn/convolution.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

struct ConvolutionNorm {
  std::int64_t kernel = 3, stride = 1, groups = 1;
};
/// A convolution without bias that keeps the size but for its stride, its batch norm, and an activation: torchvision's Conv2dNormActivation.
inline nn::Sequential convolution_norm(std::int64_t in, std::int64_t out, const ConvolutionNorm& c,
                                       const std::optional<nn::Layer>& activation = {}) {
  nn::Sequential layers{
      nn::Conv2d{in, out, c.kernel, {.stride = c.stride, .padding = (c.kernel - 1) / 2, .groups = c.groups, .bias = false}},
      nn::BatchNorm2d{out}};
  if (activation) layers.push_back(*activation);
  return layers;
}

}  // namespace tegula::models
