#include "tegula/models/images/vgg.h"

#include <array>
#include <string>

#include "tegula/core/error.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/pooling.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {

nn::Sequential Vgg::layers(std::int64_t depth, bool batch_norm) {
  if (depth != 11 && depth != 13 && depth != 16 && depth != 19)
    throw Error({.op = "Vgg", .got = "depth " + std::to_string(depth), .expected = "11, 13, 16 or 19"});
  constexpr std::array<std::int64_t, 5> kWidths{64, 128, 256, 512, 512};
  nn::Sequential out;
  std::int64_t in = 3;
  for (std::size_t stage = 0; stage < kWidths.size(); ++stage) {
    const std::int64_t early = depth == 11 ? 1 : 2, late = depth == 19 ? 4 : depth == 16 ? 3 : 2;
    for (std::int64_t i = 0; i < (stage < 2 ? early : late); ++i) {
      out.push_back(nn::Conv2d{in, kWidths[stage], 3, {.padding = 1}});
      if (batch_norm) out.push_back(nn::BatchNorm2d{kWidths[stage]});
      out.push_back(relu);
      in = kWidths[stage];
    }
    out.push_back(nn::MaxPool2d{2});
  }
  return out;
}

nn::Sequential Vgg::head(std::int64_t classes) {
  return {nn::Linear{512 * 7 * 7, 4096}, relu, nn::Dropout{0.5}, nn::Linear{4096, 4096}, relu, nn::Dropout{0.5}, nn::Linear{4096, classes}};
}

Tensor Vgg::operator()(Tensor x) { return classifier(flatten(adaptive_avg_pool2d(features(x), 7), 1)); }

}  // namespace tegula::models
