#include "tegula/ops/products/convolution.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <random>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/case.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/convolution_ladder.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/message.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

Tensor random_tensor(const Shape& shape, int seed) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (auto& x : values) x = draw(engine);
  return tensor(values, shape);
}

INSTANTIATE_DECLARED_CASES(Convolution, convolution_cases());
INSTANTIATE_DECLARED_CASES(ConvolutionLadder, convolution_ladder_cases());

TEST(Convolution, OutputSizesAreThoseOfPyTorch) {
  const auto shape = [](const Shape& x, const Shape& w, const ConvolutionOptions& options) {
    return conv2d(random_tensor(x, 1), random_tensor(w, 2), options).shape();
  };
  EXPECT_EQ(shape({2, 3, 10, 11}, {5, 3, 3, 4}, {}), (Shape{2, 5, 8, 8}));
  EXPECT_EQ(shape({2, 3, 10, 11}, {5, 3, 3, 4}, {.stride = 2, .padding = 1}), (Shape{2, 5, 5, 5}));
  EXPECT_EQ(shape({2, 3, 10, 11}, {5, 3, 3, 4}, {.padding = Same}), (Shape{2, 5, 10, 11}));
  EXPECT_EQ(shape({2, 3, 10, 11}, {5, 3, 3, 4}, {.stride = 3, .padding = Same}), (Shape{2, 5, 4, 4}));
  EXPECT_EQ(shape({2, 3, 10, 11}, {5, 3, 3, 4}, {.padding = Padding::sides({2, 0}, {0, 1}), .dilation = {2, 1}}), (Shape{2, 5, 8, 9}));
  EXPECT_EQ(shape({2, 4, 10, 11}, {6, 2, 1, 1}, {.groups = 2}), (Shape{2, 6, 10, 11}));
  EXPECT_EQ(
      conv_transpose2d(random_tensor({1, 3, 4, 5}, 1), random_tensor({3, 2, 3, 3}, 2), {.stride = 2, .padding = 1, .output_padding = 1})
          .shape(),
      (Shape{1, 2, 8, 10}));
}

TEST(Convolution, TheTransposedOneIsTheAdjoint) {
  // <conv(x), y> = <x, conv_transpose(y)> for the same weight.
  const Tensor x = random_tensor({2, 3, 7, 6}, 1), w = random_tensor({4, 3, 3, 2}, 2);
  const Tensor forward = conv2d(x, w, {.stride = 2, .padding = 1});
  const Tensor y = random_tensor(forward.shape(), 3);
  const Tensor back = conv_transpose2d(y, w, {.stride = 2, .padding = 1, .output_padding = {0, 0}});
  ASSERT_EQ(back.shape(), (Shape{2, 3, 7, 6}));
  EXPECT_NEAR(sum(forward * y).item<double>(), sum(x * back).item<double>(), 1e-12);
}

TEST(Convolution, WholeNetworksKeepTheirValuesWhateverTheLayout) {
  // Two layers with bias and relu: activations may lie channels-last in between; the same in f64, one op at a time.
  const Tensor x = random_tensor({2, 3, 9, 8}, 1), w1 = random_tensor({8, 3, 3, 3}, 2), b1 = random_tensor({8}, 3),
               w2 = random_tensor({4, 8, 3, 3}, 4);
  const auto net = [&](const Tensor& in) { return conv2d(relu(conv2d(in, w1, b1, {.padding = Same})), w2, {.stride = 2}); };
  const auto fused = net(x).to_host<double>();
  const auto settled = [](const Tensor& t) { return tensor(t.to_host<double>(), t.shape()); };
  const Tensor first = settled(conv2d(x, w1, {.padding = Same}));
  const Tensor hidden = settled(relu(settled(first + reshape(b1, {8, 1, 1}))));
  const auto apart = conv2d(hidden, w2, {.stride = 2}).to_host<double>();
  ASSERT_EQ(fused.size(), apart.size());
  for (std::size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], apart[i], 1e-12);
}

TEST(Convolution, GradientsThroughTwoLayersInAJit) {
  const Tensor x = random_tensor({2, 3, 6, 6}, 1), w1 = random_tensor({5, 3, 3, 3}, 2), w2 = random_tensor({2, 5, 3, 3}, 3);
  const auto loss = [](const Tensor& in, const Tensor& a, const Tensor& b) {
    return sum(square(conv2d(relu(conv2d(in, a, {.padding = 1})), b)));
  };
  auto step = jit([&](Tensor in, Tensor a, Tensor b) { return grad(loss(in, a, b), {Wrt(a), Wrt(b)}); });
  const auto compiled = step(x, w1, w2);
  const double h = 1e-6;
  for (int which = 0; which < 2; ++which) {
    const Tensor& w = which == 0 ? w1 : w2;
    std::vector<double> values = w.to_host<double>(), up = values, down = values;
    up[7] += h, down[7] -= h;
    const auto at = [&](const std::vector<double>& v) {
      const Tensor moved = tensor(v, w.shape());
      return (which == 0 ? loss(x, moved, w2) : loss(x, w1, moved)).item<double>();
    };
    EXPECT_NEAR(compiled[static_cast<std::size_t>(which)].to_host<double>()[7], (at(up) - at(down)) / (2 * h), 1e-5);
  }
}

TEST(Convolution, ErrorsSayWhatDoesNotFit) {
  const auto refused = [](const Shape& x, const Shape& w, const ConvolutionOptions& options) {
    return message_of([&] { conv2d(random_tensor(x, 1), random_tensor(w, 2), options); });
  };
  EXPECT_NE(refused({2, 3, 8, 8}, {4, 2, 3, 3}, {}).find("conv2d: got shapes (2, 3, 8, 8) and (4, 2, 3, 3), expected weight (O, I/groups"),
            std::string::npos);
  EXPECT_NE(refused({2, 3, 8}, {4, 2, 3}, {}).find("a weight with 4"), std::string::npos);
  EXPECT_NE(refused({2, 3, 2, 2}, {4, 3, 3, 3}, {}).find("not larger than the padded input"), std::string::npos);
  EXPECT_NE(refused({2, 3, 8, 8}, {4, 3, 3, 3}, {.stride = 0}).find("stride (0,)"), std::string::npos);
  EXPECT_NE(refused({2, 3, 8, 8}, {4, 3, 3, 3}, {.padding = -1}).find("padding (-1,)"), std::string::npos);
  EXPECT_NE(refused({2, 3, 8, 8}, {4, 3, 3, 3}, {.stride = {1, 2, 3}}).find("one for each of 2 spatial axes"), std::string::npos);
  EXPECT_NE(refused({2, 4, 8, 8}, {5, 2, 3, 3}, {.groups = 2}).find("O divisible by groups = 2"), std::string::npos);
  EXPECT_NE(message_of([] {
              conv2d(tensor(std::vector<int>(16), {1, 1, 4, 4}), tensor(std::vector<int>(4), {1, 1, 2, 2}));
            }).find("float tensors"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              conv2d(random_tensor({1, 1, 4, 4}, 1), random_tensor({2, 1, 2, 2}, 2), random_tensor({3}, 3));
            }).find("2 output channels"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              conv_transpose2d(random_tensor({1, 1, 4, 4}, 1), random_tensor({1, 1, 2, 2}, 2), {.output_padding = 1});
            }).find("output_padding (1, 1)"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              conv_transpose2d(random_tensor({1, 1, 4, 4}, 1), random_tensor({1, 1, 2, 2}, 2), {.padding = Same});
            }).find("padding Same"),
            std::string::npos);
}

TEST(Convolution, OutputPaddingOfAStrideAndMoreHasItsGradient) {
  const auto check = [](const ConvolutionTransposeOptions& options, std::int64_t length) {
    const Tensor x = random_tensor({2, 2, 5}, 1), w = random_tensor({2, 3, 3}, 2), b = random_tensor({3}, 3);
    const Tensor y = conv_transpose1d(x, w, b, options);
    ASSERT_EQ(y.shape(), (Shape{2, 3, length}));
    // By its definition: each element adds its window, the padding is cut off, output_padding lets the end stand out.
    const std::vector<double> xs = x.to_host<double>(), ws = w.to_host<double>(), bs = b.to_host<double>(), ys = y.to_host<double>();
    std::vector<double> want(ys.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = bs[i / static_cast<std::size_t>(length) % 3];
    const std::int64_t stride = options.stride.expand(1, 1, "", "", {})[0], dilation = options.dilation.expand(1, 1, "", "", {})[0];
    const std::int64_t padding = options.padding.low().expand(1, 0, "", "", {})[0];
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t c = 0; c < 2; ++c)
        for (std::int64_t i = 0; i < 5; ++i)
          for (std::int64_t o = 0; o < 3; ++o)
            for (std::int64_t k = 0; k < 3; ++k) {
              const std::int64_t at = i * stride + k * dilation - padding;
              if (at < 0 || at >= length) continue;
              want[static_cast<std::size_t>((n * 3 + o) * length + at)] +=
                  xs[static_cast<std::size_t>((n * 2 + c) * 5 + i)] * ws[static_cast<std::size_t>((c * 3 + o) * 3 + k)];
            }
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(ys[i], want[i], 1e-5) << i;
    check_gradients([&](const std::vector<Tensor>& in) { return conv_transpose1d(in[0], in[1], in[2], options); }, {x, w, b});
  };
  check({.stride = 1, .output_padding = 1, .dilation = 2}, 10);
  check({.stride = 1, .padding = 1, .output_padding = 2, .dilation = 3}, 11);
  check({.stride = 2, .padding = 3, .output_padding = 2, .dilation = 3}, 11);
  check({.stride = 2, .padding = 1, .output_padding = 1}, 10);
}

// oneDNN 2.6 leaves parts of some of these unwritten (cpu/calls/convolution.cpp): windows along the first of three axes of which the second still begins in the padding.
TEST(Convolution, WeightsGradientsWhereSeveralWindowsBeginInThePadding) {
  for (const auto& [kernel, padding, stride] :
       std::initializer_list<std::array<std::int64_t, 3>>{{4, 3, 2}, {5, 3, 2}, {5, 4, 2}, {5, 4, 3}, {4, 3, 1}}) {
    for (std::int64_t size = 2; size <= 6; ++size) {
      const Tensor x = random_tensor({2, 3, size, 4, 4}, 1), w = random_tensor({9, 3, kernel, 2, 2}, 2);  // f64
      const auto gradient = [&](const Tensor& in, const Tensor& weight) {
        const Tensor y = conv3d(in, weight, {.stride = {stride, 1, 1}, .padding = {padding, 0, 0}});
        return grad(sum(y * y), weight);
      };
      const Tensor x32 = cast(x, f32), w32 = cast(w, f32);
      const Tensor expected = gradient(x, w), got = gradient(x32, w32);
      const auto want = expected.to_host<double>(), have = got.to_host<double>();
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(have[i], want[i], 1e-3 + 1e-4 * std::abs(want[i]))
            << kernel << " " << padding << " " << stride << " " << size << " at " << i;
    }
  }
}

TEST(ConvolutionLadder, TransformsTakeRandomOptions) {
  std::mt19937 engine(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine); };
  for (int i = 0; i < 30; ++i) {
    const ConvolutionOptions options{
        .stride = {pick(1, 3), pick(1, 3)}, .padding = {pick(0, 2), pick(0, 2)}, .dilation = {pick(1, 2), pick(1, 2)}};
    const Tensor x = normal({pick(1, 2), pick(1, 3), pick(11, 19), pick(11, 19)}, 0, 1, {.dtype = f64});
    const Tensor w = normal({pick(1, 3), x.size(1), pick(1, 5), pick(1, 5)}, 0, 1, {.dtype = f64});
    const Tensor y = conv2d(x, w, options), by_fft = conv2d_with(ConvolutionAlgorithm::Fft, x, w, options);
    ASSERT_EQ(by_fft.shape(), y.shape());
    EXPECT_LT(max(abs(y - by_fft)).item<double>(), 1e-11);
    EXPECT_LT(max(abs(grad(sum(sin(y)), w) - grad(sum(sin(by_fft)), w))).item<double>(), 1e-10);
    EXPECT_EQ(takes_convolution(ConvolutionAlgorithm::Winograd, w.shape(), options),
              message_of([&] { conv2d_with(ConvolutionAlgorithm::Winograd, x, w, options); }).empty());
  }
}

}  // namespace
}  // namespace tegula
