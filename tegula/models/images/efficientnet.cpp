#include "tegula/models/images/efficientnet.h"

#include <algorithm>

#include "tegula/models/images/convolution_norm.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::models {
namespace {

struct Stage {
  std::int64_t expansion, kernel, stride, in, out, blocks;
};
constexpr Stage kStages[] = {{1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
                             {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};

MBConv block(const Stage& s, std::int64_t in, std::int64_t stride, double drop) {
  const std::int64_t wide = in * s.expansion;
  MBConv out{.has_shortcut = stride == 1 && in == s.out, .drop = drop};
  if (wide != in) out.block.push_back(convolution_norm(in, wide, {.kernel = 1}, nn::Layer(silu)));
  out.block.push_back(convolution_norm(wide, wide, {.kernel = s.kernel, .stride = stride, .groups = wide}, nn::Layer(silu)));
  out.block.push_back(SqueezeExcitation{wide, std::max<std::int64_t>(1, in / 4)});
  out.block.push_back(convolution_norm(wide, s.out, {.kernel = 1}));
  return out;
}

}  // namespace

Tensor SqueezeExcitation::operator()(Tensor x) { return sigmoid(fc2(silu(fc1(mean(x, {2, 3}, Keep::Yes))))) * x; }

Tensor MBConv::operator()(Tensor x) { return has_shortcut ? stochastic_depth(block(x)) + x : block(x); }

nn::Sequential EfficientNetB0::layers() {
  nn::Sequential out{convolution_norm(3, 32, {.stride = 2}, nn::Layer(silu))};
  std::int64_t total = 0, number = 0;
  for (const Stage& s : kStages) total += s.blocks;
  for (const Stage& s : kStages) {
    nn::Sequential stage;
    for (std::int64_t i = 0; i < s.blocks; ++i, ++number) {
      const double drop = 0.2 * static_cast<double>(number) / static_cast<double>(total);
      stage.push_back(block(s, i == 0 ? s.in : s.out, i == 0 ? s.stride : 1, drop));
    }
    out.push_back(std::move(stage));
  }
  out.push_back(convolution_norm(320, 1280, {.kernel = 1}, nn::Layer(silu)));
  return out;
}

nn::Sequential EfficientNetB0::head(std::int64_t classes) { return {nn::Dropout{0.2}, nn::Linear{1280, classes}}; }

Tensor EfficientNetB0::operator()(Tensor x) { return classifier(mean(features(x), {2, 3})); }

}  // namespace tegula::models
