#include "tegula/models/images/convnext.h"

#include <array>

#include "tegula/nn/convolution.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

Tensor channels_last(Arg x) { return movedim(x, 1, -1); }
Tensor channels_first(Arg x) { return movedim(x, -1, 1); }
Tensor all_but_first(Arg x) { return flatten(x, 1); }
Tensor exact_gelu(Arg x) { return gelu(x); }

}  // namespace

Tensor ChannelNorm::operator()(Tensor x) const { return movedim(norm(movedim(x, 1, -1)), -1, 1); }

Tensor ConvNextBlock::first_scale(std::int64_t width) { return full({width, 1, 1}, 1e-6); }

nn::Sequential ConvNextBlock::layers(std::int64_t width) {
  return {nn::Conv2d{width, width, 7, {.padding = 3, .groups = width}},
          channels_last,
          nn::LayerNorm{width, {.eps = 1e-6}},
          nn::Linear{width, 4 * width},
          exact_gelu,
          nn::Linear{4 * width, width},
          channels_first};
}

Tensor ConvNextBlock::operator()(Tensor x) { return stochastic_depth(layer_scale * block(x)) + x; }

nn::Sequential ConvNextTiny::layers() {
  constexpr std::array<std::int64_t, 4> kWidths{96, 192, 384, 768}, kBlocks{3, 3, 9, 3};
  nn::Sequential out{nn::Sequential{nn::Conv2d{3, kWidths[0], 4, {.stride = 4}}, ChannelNorm{kWidths[0]}}};
  std::int64_t total = 0, number = 0;
  for (const std::int64_t count : kBlocks) total += count;
  for (std::size_t s = 0; s < kWidths.size(); ++s) {
    if (s > 0) out.push_back(nn::Sequential{ChannelNorm{kWidths[s - 1]}, nn::Conv2d{kWidths[s - 1], kWidths[s], 2, {.stride = 2}}});
    nn::Sequential stage;
    for (std::int64_t i = 0; i < kBlocks[s]; ++i, ++number)
      stage.push_back(ConvNextBlock{kWidths[s], 0.1 * static_cast<double>(number) / static_cast<double>(total - 1)});
    out.push_back(std::move(stage));
  }
  return out;
}

nn::Sequential ConvNextTiny::head(std::int64_t classes) { return {ChannelNorm{768}, all_but_first, nn::Linear{768, classes}}; }

Tensor ConvNextTiny::operator()(Tensor x) { return classifier(mean(features(x), {2, 3}, Keep::Yes)); }

}  // namespace tegula::models
