#pragma once
// Small classifiers of 28 x 28 gray images: (N, 1, 28, 28) -> scores (N, classes), before the softmax.

#include <optional>

#include "tegula/models/options.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"

namespace tegula::models {

/// 784-128-10 with ReLU.
struct MnistMlp {
  Options options = {};
  nn::Linear hidden{28 * 28, 128};
  std::optional<nn::BatchNorm1d> norm = when<nn::BatchNorm1d>(options.batch_norm, 128);
  std::optional<nn::Dropout> drop = when<nn::Dropout>(options.dropout > 0, options.dropout);
  nn::Linear head{128, options.classes};

  Tensor operator()(Tensor x);
};

/// The lecture's Keras network: convolutions 3x3x12, 6x6x24 and 6x6x32 with strides 1, 2 and 2, dense 200, softmax 10; ReLU between.
/// Batch normalisation comes before each ReLU (and replaces the bias), dropout after the dense layer. 322 k parameters.
struct MnistCnn {
  Options options = {};
  nn::Conv2d conv1{1, 12, 3, {.padding = Same, .bias = !options.batch_norm}};
  std::optional<nn::BatchNorm2d> norm1 = when<nn::BatchNorm2d>(options.batch_norm, 12);
  nn::Conv2d conv2{12, 24, 6, {.stride = 2, .padding = Same, .bias = !options.batch_norm}};
  std::optional<nn::BatchNorm2d> norm2 = when<nn::BatchNorm2d>(options.batch_norm, 24);
  nn::Conv2d conv3{24, 32, 6, {.stride = 2, .padding = Same, .bias = !options.batch_norm}};
  std::optional<nn::BatchNorm2d> norm3 = when<nn::BatchNorm2d>(options.batch_norm, 32);
  nn::Linear dense{7 * 7 * 32, 200, {.bias = !options.batch_norm}};
  std::optional<nn::BatchNorm1d> norm4 = when<nn::BatchNorm1d>(options.batch_norm, 200);
  std::optional<nn::Dropout> drop = when<nn::Dropout>(options.dropout > 0, options.dropout);
  nn::Linear head{200, options.classes};

  Tensor operator()(Tensor x);
};

/// LeNet-5 (LeCun et al., "Gradient-based learning applied to document recognition", 1998) in today's form: ReLU, max pooling, all
/// maps of the second convolution connected, and 28 x 28 images with padding 2. Options: dropout before the last layer, batch normalisation after
/// the convolutions.
struct LeNet5 {
  Options options = {};
  nn::Conv2d conv1{1, 6, 5, {.padding = 2, .bias = !options.batch_norm}};
  std::optional<nn::BatchNorm2d> norm1 = when<nn::BatchNorm2d>(options.batch_norm, 6);
  nn::Conv2d conv2{6, 16, 5, {.bias = !options.batch_norm}};
  std::optional<nn::BatchNorm2d> norm2 = when<nn::BatchNorm2d>(options.batch_norm, 16);
  nn::Linear dense1{16 * 5 * 5, 120};
  nn::Linear dense2{120, 84};
  std::optional<nn::Dropout> drop = when<nn::Dropout>(options.dropout > 0, options.dropout);
  nn::Linear head{84, options.classes};

  Tensor operator()(Tensor x);
};

}  // namespace tegula::models
