#include "tegula/models/resnet.h"

#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::models {

nn::Sequential Bottleneck::shortcut(std::int64_t in, std::int64_t out, std::int64_t stride) {
  if (in == out && stride == 1) return {};
  return {nn::Conv2d{in, out, 1, {.stride = stride, .bias = false}}, nn::BatchNorm2d{out}};
}

Tensor Bottleneck::operator()(Tensor x) {
  Tensor y = relu(bn1(conv1(x)));
  y = relu(bn2(conv2(y)));
  y = bn3(conv3(y));
  return relu(y + (downsample.empty() ? x : downsample(x)));
}

Tensor BasicBlock::operator()(Tensor x) {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  return relu(y + (downsample.empty() ? x : downsample(x)));
}

template <class Block, int A, int B, int C, int D>
std::vector<Block> ResNet<Block, A, B, C, D>::stage(std::int64_t in, std::int64_t width, int blocks, std::int64_t stride) {
  std::vector<Block> out;
  out.reserve(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) out.push_back(Block{i == 0 ? in : width * Block::kExpansion, width, i == 0 ? stride : 1});
  return out;
}

template <class Block, int A, int B, int C, int D>
Tensor ResNet<Block, A, B, C, D>::operator()(Tensor x) {
  x = max_pool2d(relu(bn1(conv1(x))), 3, {.stride = 2, .padding = 1});  // (N, 64, H/4, W/4)
  for (auto* stage : {&layer1, &layer2, &layer3, &layer4}) {
    for (Block& block : *stage) x = block(x);
  }
  return fc(mean(x, {2, 3}));
}

template struct ResNet<BasicBlock, 2, 2, 2, 2>;
template struct ResNet<BasicBlock, 3, 4, 6, 3>;
template struct ResNet<Bottleneck, 3, 4, 6, 3>;
template struct ResNet<Bottleneck, 3, 4, 23, 3>;

}  // namespace tegula::models
