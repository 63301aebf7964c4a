#include "tegula/models/images/mobilenet.h"

#include "tegula/models/images/convolution_norm.h"
#include "tegula/nn/dropout.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::models {

InvertedResidual InvertedResidual::make(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t expansion) {
  const std::int64_t wide = in * expansion;
  InvertedResidual block{.has_shortcut = stride == 1 && in == out};
  if (expansion != 1) block.conv.push_back(convolution_norm(in, wide, {.kernel = 1}, nn::Layer(relu6)));
  block.conv.push_back(convolution_norm(wide, wide, {.stride = stride, .groups = wide}, nn::Layer(relu6)));
  block.conv.push_back(nn::Conv2d{wide, out, 1, {.bias = false}});
  block.conv.push_back(nn::BatchNorm2d{out});
  return block;
}

Tensor InvertedResidual::operator()(Tensor x) { return has_shortcut ? x + conv(x) : conv(x); }

nn::Sequential MobileNetV2::layers() {
  struct Stage {
    std::int64_t expansion, width, blocks, stride;
  };
  nn::Sequential out{convolution_norm(3, 32, {.stride = 2}, nn::Layer(relu6))};
  std::int64_t in = 32;
  for (const Stage& s : {Stage{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}) {
    for (std::int64_t i = 0; i < s.blocks; ++i) {
      out.push_back(InvertedResidual::make(in, s.width, i == 0 ? s.stride : 1, s.expansion));
      in = s.width;
    }
  }
  out.push_back(convolution_norm(in, 1280, {.kernel = 1}, nn::Layer(relu6)));
  return out;
}

nn::Sequential MobileNetV2::head(std::int64_t classes) { return {nn::Dropout{0.2}, nn::Linear{1280, classes}}; }

Tensor MobileNetV2::operator()(Tensor x) { return classifier(mean(features(x), {2, 3})); }

}  // namespace tegula::models
