#include "tegula/models/images/unet.h"

#include "tegula/core/error.h"
#include "tegula/models/images/convolution_norm.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/shape/join.h"

namespace tegula::models {
namespace {

nn::Sequential twice(std::int64_t in, std::int64_t out) {
  nn::Sequential block;
  for (const std::int64_t from : {in, out}) {
    block.push_back(nn::Conv2d{from, out, 3, {.padding = 1, .bias = false}});
    block.push_back(nn::BatchNorm2d{out});
    block.push_back(relu);
  }
  return block;
}

}  // namespace

std::vector<nn::Sequential> UNet::down_blocks(std::int64_t in, std::int64_t width, std::int64_t depth) {
  std::vector<nn::Sequential> blocks;
  for (std::int64_t i = 0; i <= depth; ++i) blocks.push_back(twice(i == 0 ? in : width << (i - 1), width << i));
  return blocks;
}

std::vector<nn::ConvTranspose2d> UNet::up_convolutions(std::int64_t width, std::int64_t depth) {
  std::vector<nn::ConvTranspose2d> blocks;
  for (std::int64_t i = depth; i-- > 0;) blocks.emplace_back(width << (i + 1), width << i, 2, nn::ConvTransposeOptions{.stride = 2});
  return blocks;
}

std::vector<nn::Sequential> UNet::merge_blocks(std::int64_t width, std::int64_t depth) {
  std::vector<nn::Sequential> blocks;
  for (std::int64_t i = depth; i-- > 0;) blocks.push_back(twice(width << (i + 1), width << i));
  return blocks;
}

Tensor UNet::operator()(Tensor x) {
  const std::int64_t step = std::int64_t{1} << depth;
  if (x.rank() != 4 || x.size(1) != in || x.size(2) % step != 0 || x.size(3) % step != 0) {
    throw Error({.op = "UNet",
                 .got = "shape " + to_string(x.shape()),
                 .expected = "(N, " + std::to_string(in) + ", H, W), H and W multiples of " + std::to_string(step)});
  }
  std::vector<Tensor> left;
  for (std::size_t i = 0; i < down.size(); ++i) {
    x = down[i](x);
    if (i + 1 < down.size()) left.push_back(x), x = max_pool2d(x, 2);
  }
  for (std::size_t i = 0; i < up.size(); ++i) x = merge[i](concat({left[left.size() - 1 - i], up[i](x)}, 1));
  return head(x);
}

}  // namespace tegula::models
