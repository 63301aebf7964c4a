// "GPU architecture and programming" (University of Chinese Academy of Sciences, 2024), lecture 9, after Kirk and Hwu: forward, ∂E/∂X and
// ∂E/∂W of a convolutional layer as plain loops. The lecture's loop for ∂E/∂W reads dE_dY[m, c, h, w]; the output has no axis c:
// dE_dY[m, h, w] is meant and tested.

#include <gtest/gtest.h>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/products/convolution.h"
#include "tests/support/values.h"

namespace tegula::test {
namespace {

struct Layer {
  std::size_t N, M, C, H, W, K;
  std::size_t h_out() const { return H - K + 1; }
  std::size_t w_out() const { return W - K + 1; }
  std::size_t x(std::size_t n, std::size_t c, std::size_t h, std::size_t w) const { return ((n * C + c) * H + h) * W + w; }
  std::size_t y(std::size_t n, std::size_t m, std::size_t h, std::size_t w) const { return ((n * M + m) * h_out() + h) * w_out() + w; }
  std::size_t w(std::size_t m, std::size_t c, std::size_t p, std::size_t q) const { return ((m * C + c) * K + p) * K + q; }

  // f(place in X, place in W, place in Y) for each product of the layer.
  template <class F>
  void loops(F&& f) const {
    for (std::size_t n = 0; n < N; ++n)
      for (std::size_t m = 0; m < M; ++m)
        for (std::size_t h = 0; h < h_out(); ++h)
          for (std::size_t v = 0; v < w_out(); ++v)
            for (std::size_t c = 0; c < C; ++c)
              for (std::size_t p = 0; p < K; ++p)
                for (std::size_t q = 0; q < K; ++q) f(x(n, c, h + p, v + q), w(m, c, p, q), y(n, m, h, v));
  }
};

TEST(ConvolutionLayerLecture, ForwardAndBothGradientsAgreeWithTheLoops) {
  std::mt19937 engine(9);
  const auto pick = [&](std::size_t low, std::size_t high) { return std::uniform_int_distribution<std::size_t>(low, high)(engine); };
  for (int trial = 0; trial < 12; ++trial) {
    const std::size_t window = pick(1, 5);
    const Layer layer{pick(1, 4), pick(1, 9), pick(1, 7), window + pick(0, 9), window + pick(0, 9), window};
    const auto signed_size = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    const Shape x_shape{signed_size(layer.N), signed_size(layer.C), signed_size(layer.H), signed_size(layer.W)};
    const Shape w_shape{signed_size(layer.M), signed_size(layer.C), signed_size(layer.K), signed_size(layer.K)};
    const auto input = random_numbers(layer.N * layer.C * layer.H * layer.W, engine);
    const auto weights = random_numbers(layer.M * layer.C * layer.K * layer.K, engine);
    const auto output_gradient = random_numbers(layer.N * layer.M * layer.h_out() * layer.w_out(), engine);

    std::vector<double> output(output_gradient.size()), dx(input.size()), dw(weights.size());
    layer.loops([&](std::size_t x, std::size_t w, std::size_t y) {
      output[y] += input[x] * weights[w];
      dx[x] += output_gradient[y] * weights[w];
      dw[w] += input[x] * output_gradient[y];
    });

    SCOPED_TRACE("input " + to_string(x_shape) + ", weight " + to_string(w_shape));
    const Tensor x = tensor(input, x_shape), w = tensor(weights, w_shape);
    const Tensor y = conv2d(x, w);
    expect_close(y, output, 1e-12);
    const auto gradients = vjp({y}, {tensor(output_gradient, y.shape())}, {x, w});
    expect_close(gradients[0], dx, 1e-12);
    expect_close(gradients[1], dw, 1e-12);
  }
}

}  // namespace
}  // namespace tegula::test
