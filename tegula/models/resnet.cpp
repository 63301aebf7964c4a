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

std::vector<Bottleneck> ResNet50::stage(std::int64_t in, std::int64_t width, int blocks, std::int64_t stride) {
  std::vector<Bottleneck> out;
  out.reserve(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) out.push_back(Bottleneck{i == 0 ? in : 4 * width, width, i == 0 ? stride : 1});
  return out;
}

Tensor ResNet50::operator()(Tensor x) {
  x = max_pool2d(relu(bn1(conv1(x))), 3, {.stride = 2, .padding = 1});  // (N, 64, H/4, W/4)
  for (auto* stage : {&layer1, &layer2, &layer3, &layer4}) {
    for (Bottleneck& block : *stage) x = block(x);
  }
  return fc(mean(x, {2, 3}));  // (N, 2048) -> (N, classes)
}

}  // namespace tegula::models
