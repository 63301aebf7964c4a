#pragma once
// Vision transformer: (N, 3, image, image) -> scores (N, classes). Parameters have torchvision's names.

#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequences/attention.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

struct VitBlock {
  std::int64_t width, heads, hidden;
  nn::LayerNorm ln_1{width, {.eps = 1e-6}};
  nn::MultiheadAttention self_attention{width, heads, {.batch_first = true}};
  nn::LayerNorm ln_2{width, {.eps = 1e-6}};
  nn::Sequential mlp = layers(width, hidden);

  Tensor operator()(Tensor x);
  static nn::Sequential layers(std::int64_t width, std::int64_t hidden);
};

/// Blocks by torchvision's names, encoder_layer_0 and so on.
struct VitBlocks {
  std::vector<VitBlock> blocks;

  VitBlocks(std::int64_t count, std::int64_t width, std::int64_t heads, std::int64_t hidden);
  void visit(nn::Visitor& visitor, const nn::Path& path);
};

struct VitEncoder {
  std::int64_t tokens, depth, width, heads, hidden;
  Variable pos_embedding = Variable(first_places(tokens, width));  // (1, tokens, width)
  VitBlocks layers{depth, width, heads, hidden};
  nn::LayerNorm ln{width, {.eps = 1e-6}};

  Tensor operator()(Tensor x);
  static Tensor first_places(std::int64_t tokens, std::int64_t width);
};

struct VitHead {
  std::int64_t width, classes;
  nn::Linear head{width, classes};
};

/// Dosovitskiy et al., "An image is worth 16x16 words" (2021). The defaults are ViT-B/16, 86.6 M parameters; 17.6 G multiply-adds an image.
struct VisionTransformer {
  std::int64_t classes = 1000;
  std::int64_t image = 224, patch = 16, depth = 12, width = 768, heads = 12, hidden = 3072;
  Variable class_token = Variable(first_token(width));  // (1, 1, width)
  nn::Conv2d conv_proj{3, width, patch, {.stride = patch}};
  VitEncoder encoder{image / patch * (image / patch) + 1, depth, width, heads, hidden};
  VitHead heads_{width, classes};  // "heads.head"

  Tensor operator()(Tensor x);
  static Tensor first_token(std::int64_t width);
};

}  // namespace tegula::models
