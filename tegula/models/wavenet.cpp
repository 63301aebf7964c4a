#include "tegula/models/wavenet.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {

Tensor mu_law_encode(Arg of_x, std::int64_t classes) {
  const In frame("mu_law_encode", of_x.loc);
  const double mu = static_cast<double>(classes - 1);
  const Tensor x = clamp(of_x.tensor("mu_law_encode"), -1, 1);
  const Tensor y = sign(x) * log1p(mu * abs(x)) / std::log1p(mu);
  return cast(floor((y + 1.0) / 2.0 * mu + 0.5), i64);
}

Tensor mu_law_decode(Arg of_x, std::int64_t classes) {
  const In frame("mu_law_decode", of_x.loc);
  const double mu = static_cast<double>(classes - 1);
  const Tensor y = cast(of_x.tensor("mu_law_decode"), f32) / mu * 2.0 - 1.0;
  return sign(y) * expm1(abs(y) * std::log1p(mu)) / mu;
}

WaveNet::WaveNet(const WaveNetOptions& options)
    : input(options.classes, options.width),
      hidden(options.skip, options.skip, 1),
      output(options.skip, options.classes, 1),
      options_(options) {
  constexpr std::int64_t kMostLayers = 24;  // 2^24 samples are six minutes
  if (std::min({options.classes, options.layers, options.stacks, options.width, options.skip}) < 1 || options.layers > kMostLayers)
    throw Error({.op = "WaveNet",
                 .got = std::to_string(options.stacks) + " stacks of " + std::to_string(options.layers) + " layers of " +
                        std::to_string(options.width) + " channels",
                 .expected = "sizes of at least 1, and at most 24 layers in a stack"});
  for (std::int64_t stack = 0; stack < options.stacks; ++stack) {
    for (std::int64_t i = 0; i < options.layers; ++i) {
      const std::int64_t back = std::int64_t{1} << i;
      layers.push_back({.gates = {options.width, 2 * options.width, 2, {.padding = Padding::sides(back, 0), .dilation = back}},
                        .residual = {options.width, options.width, 1},
                        .skip = {options.width, options.skip, 1}});
    }
  }
}

std::int64_t WaveNet::reach() const { return options_.stacks * ((std::int64_t{1} << options_.layers) - 1) + 1; }

Tensor WaveNet::operator()(Tensor samples) {
  Tensor x = transpose(input(samples));  // (N, width, T)
  Tensor sum;
  for (const Layer& layer : layers) {
    const std::vector<Tensor> parts = chunk(layer.gates(x), 2, 1);
    const Tensor gated = tanh(parts[0]) * sigmoid(parts[1]), seen = layer.skip(gated);
    sum = sum.defined() ? sum + seen : seen;
    x = x + layer.residual(gated);
  }
  return output(relu(hidden(relu(sum))));
}

}  // namespace tegula::models
