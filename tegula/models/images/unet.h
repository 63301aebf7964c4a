#pragma once
// U-Net: (N, in, H, W) -> scores of each pixel (N, classes, H, W).

#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

/// Ronneberger et al., "U-Net: convolutional networks for biomedical image segmentation" (2015), with batch norm and padded convolutions: `depth`
/// times half the size and twice the channels, and back, each time beside what was there. H and W are multiples of 2^depth. The defaults have 31 M parameters.
struct UNet {
  std::int64_t in = 3, classes = 2;
  std::int64_t width = 64, depth = 4;
  std::vector<nn::Sequential> down = down_blocks(in, width, depth);  // depth + 1
  std::vector<nn::ConvTranspose2d> up = up_convolutions(width, depth);
  std::vector<nn::Sequential> merge = merge_blocks(width, depth);
  nn::Conv2d head{width, classes, 1};

  /// Throws Error for another shape.
  Tensor operator()(Tensor x);
  static std::vector<nn::Sequential> down_blocks(std::int64_t in, std::int64_t width, std::int64_t depth);
  static std::vector<nn::ConvTranspose2d> up_convolutions(std::int64_t width, std::int64_t depth);
  static std::vector<nn::Sequential> merge_blocks(std::int64_t width, std::int64_t depth);
};

}  // namespace tegula::models
