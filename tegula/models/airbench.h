#pragma once
// A small, fast network for CIFAR-10 after K. Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU" (2024): images (N, 3, 32, 32),
// normalised by channel, -> scores (N, 10).

#include <cstdint>

#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"

namespace tegula::models {

/// Two 3 x 3 convolutions, the first followed by a max pooling of 2; batch norms whose weights stay 1; GELU.
struct AirbenchBlock {
  std::int64_t in, out;
  nn::Conv2d conv1{in, out, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d norm1{out, {.eps = 1e-12, .momentum = 0.4}};
  nn::Conv2d conv2{out, out, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d norm2{out, {.eps = 1e-12, .momentum = 0.4}};

  Tensor operator()(Tensor x);
};

/// 2.0 M parameters. Train what parameters() and biases() list: the whitening convolution and the weights of the norms stay as they are.
struct Airbench {
  nn::Conv2d whiten{3, 24, 2};
  AirbenchBlock block1{24, 64}, block2{64, 256}, block3{256, 256};
  nn::Linear head{256, 10, {.bias = false}};

  /// Sets the weights of `whiten` to the eigenvectors of the 2 x 2 patches of these images (N, 3, H, W), divided by the square roots of
  /// their eigenvalues, and their negatives; and the first filters of the other convolutions to the identity.
  void initialise(const HostArray& images);

  Tensor operator()(Tensor x);
  Parameters weights();  // weights of convolutions and the head, and the bias of `whiten`
  Parameters biases();   // biases of the norms
};

}  // namespace tegula::models
