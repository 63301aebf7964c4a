#include "tegula/models/cifar.h"

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {

CifarBlock::CifarBlock(std::int64_t in, std::int64_t out)
    : conv1(in, out, 3, {.stride = out / in, .padding = 1, .bias = false}),
      conv2(out, out, 3, {.padding = 1, .bias = false}),
      bn1(out),
      bn2(out),
      more(out - in) {}

Tensor CifarBlock::operator()(const Tensor& x) {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  if (more == 0) return relu(y + x);
  const Tensor half = slice(slice(x, 2, {.step = 2}), 3, {.step = 2});
  return relu(y + pad(half, {{0, 0}, {more / 2, more / 2}, {0, 0}, {0, 0}}));
}

std::vector<CifarBlock> ResNet20::stage(std::int64_t in, std::int64_t out) {
  std::vector<CifarBlock> blocks;
  for (const std::int64_t from : {in, out, out}) blocks.emplace_back(from, out);
  return blocks;
}

Tensor ResNet20::operator()(Tensor x) {
  const Tensor mean = tensor({0.485F, 0.456F, 0.406F}, {3, 1, 1}), deviation = tensor({0.229F, 0.224F, 0.225F}, {3, 1, 1});
  x = relu(bn1(conv1((x - mean) / deviation)));  // (N, 16, 32, 32)
  for (CifarBlock& block : layer1) x = block(x);
  for (CifarBlock& block : layer2) x = block(x);  // (N, 32, 16, 16)
  for (CifarBlock& block : layer3) x = block(x);  // (N, 64, 8, 8)
  x = global_avg_pool(x);                         // (N, 64)
  return linear(drop ? (*drop)(x) : x);
}

}  // namespace tegula::models
