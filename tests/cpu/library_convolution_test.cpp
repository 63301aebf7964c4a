#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "tegula/cpu/convolution.h"
#include "tegula/cpu/library.h"
#include "tests/cpu/library_support.h"

namespace tegula::cpu {
namespace {

using runtime::Activation;
using runtime::Convolution;
using runtime::ConvolutionPass;
using test::pick;
using test::Tensor;

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::Forward, ConvolutionPass::BackwardData, ConvolutionPass::BackwardWeight};

enum class Memory { ChannelsFirst, ChannelsLast, Reversed };

/// A dense tensor whose axes lie in memory in the given order.
Layout activations(const Shape& shape, Memory order) {
  Layout layout{shape, Dims::filled(shape.rank(), 1)};
  std::vector<int> axes;  // from the innermost
  if (order == Memory::ChannelsLast) axes.push_back(1);
  for (int axis = shape.rank() - 1; axis > 1; --axis) axes.push_back(axis);
  if (order != Memory::ChannelsLast) axes.push_back(1);
  axes.push_back(0);
  if (order == Memory::Reversed) std::reverse(axes.begin(), axes.end());
  std::int64_t step = 1;
  for (const int axis : axes) {
    layout.strides[axis] = step;
    step *= shape[axis];
  }
  return layout;
}

struct Options {
  std::int64_t n = 1, c = 1, k = 1, groups = 1;
  Dims in, kernel, stride, dilation, low, high;
  DType dtype = f32;
  Memory input = Memory::ChannelsFirst, output = Memory::ChannelsFirst;
  bool bias = false;
  Activation activation = Activation::None;
};

Convolution describe(const Options& o, ConvolutionPass pass) {
  Shape x{o.n, o.c}, w{o.k, o.c / o.groups}, y{o.n, o.k};
  for (int i = 0; i < o.in.rank(); ++i) {
    x.push_back(o.in[i]), w.push_back(o.kernel[i]);
    const std::int64_t room = o.in[i] + o.low[i] + o.high[i] - o.dilation[i] * (o.kernel[i] - 1) - 1;
    y.push_back(room < 0 ? 0 : room / o.stride[i] + 1);
  }
  return {.pass = pass,
          .dtype = o.dtype,
          .input = activations(x, o.input),
          .weight = Layout::dense(w),
          .output = activations(y, o.output),
          .stride = o.stride,
          .dilation = o.dilation,
          .pad_low = o.low,
          .pad_high = o.high,
          .groups = o.groups,
          .bias = pass == ConvolutionPass::BackwardData ? false : o.bias,
          .activation = pass == ConvolutionPass::Forward ? o.activation : Activation::None};
}

/// Calls visit(input index, weight index, output index) for every product of the convolution (the naive loops of the CNN lecture).
template <class F>
void for_each_product(const Convolution& d, F&& visit) {
  const int rank = d.input.shape.rank();
  Dims y = Dims::filled(rank, 0);
  const std::int64_t outputs = numel(d.output.shape), taps = numel(d.weight.shape) / std::max<std::int64_t>(1, d.weight.shape[0]);
  for (std::int64_t i = 0; i < outputs; ++i) {
    std::int64_t rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) y[axis] = rest % d.output.shape[axis], rest /= d.output.shape[axis];
    Dims w = Dims::filled(rank, 0), x = w;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t left = tap;
      for (int axis = rank - 1; axis >= 1; --axis) w[axis] = left % d.weight.shape[axis], left /= d.weight.shape[axis];
      w[0] = y[1];
      x[0] = y[0];
      x[1] = y[1] / (d.output.shape[1] / d.groups) * d.weight.shape[1] + w[1];
      bool inside = true;
      for (int axis = 2; axis < rank; ++axis) {
        x[axis] = y[axis] * d.stride[axis - 2] + w[axis] * d.dilation[axis - 2] - d.pad_low[axis - 2];
        inside = inside && x[axis] >= 0 && x[axis] < d.input.shape[axis];
      }
      if (inside) visit(x, w, y);
    }
  }
}

std::string text(const Convolution& d) {
  return to_string(d.input.shape) + to_string(d.input.strides) + " * " + to_string(d.weight.shape) + " -> " + to_string(d.output.strides) +
         " stride " + to_string(d.stride) + " dilation " + to_string(d.dilation) + " pad " + to_string(d.pad_low) + to_string(d.pad_high) +
         " groups " + std::to_string(d.groups) + " bias " + std::to_string(d.bias);
}

/// The results in f64, in row-major order of the result's shape.
std::vector<double> reference(const Convolution& d, const Tensor& x, const Tensor& w, const Tensor& y, const Tensor& bias) {
  const Shape shape = d.pass == ConvolutionPass::Forward        ? d.output.shape
                      : d.pass == ConvolutionPass::BackwardData ? d.input.shape
                                                                : d.weight.shape;
  const Strides dense = dense_strides(shape);
  const auto at = [&](const Dims& index) {
    std::int64_t offset = 0;
    for (int i = 0; i < index.rank(); ++i) offset += index[i] * dense[i];
    return static_cast<std::size_t>(offset);
  };
  std::vector<double> result(static_cast<std::size_t>(numel(shape)), 0.0);
  for_each_product(d, [&](const Dims& i, const Dims& j, const Dims& o) {
    if (d.pass == ConvolutionPass::Forward) result[at(o)] += x(i) * w(j);
    else if (d.pass == ConvolutionPass::BackwardData) result[at(i)] += y(o) * w(j);
    else result[at(j)] += x(i) * y(o);
  });
  if (d.pass == ConvolutionPass::Forward) {
    y.for_each([&](const Dims& o) {
      double& value = result[at(o)];
      if (d.bias) value += bias({o[1]});
      if (d.activation == Activation::Relu) value = std::max(value, 0.0);
    });
  }
  return result;
}

/// Every way that could be chosen on some machine, with some batch.
std::vector<std::unique_ptr<runtime::Call>> candidates(const Convolution& d) {
  std::vector<std::unique_ptr<runtime::Call>> calls;
  calls.push_back(make_convolution(d));
  const Geometry g(d);
  if (d.dtype != f32 || g.empty()) return calls;
  calls.push_back(make_onednn_convolution(d));
  calls.push_back(make_patch_convolution(d));
  const bool ordered = order_of(g.n, g.c, g.in, g.input) != Order::Other && order_of(g.n, g.k, g.out, g.output) != Order::Other;
  if (g.groups == 1 && ordered) calls.push_back(make_lanes_convolution(d));
  if (pointwise_suits(d)) calls.push_back(make_pointwise_convolution(d));
  return calls;
}

void expect_pass(const Convolution& d, int threads) {
  Tensor x(d.dtype, d.input), w(d.dtype, d.weight), y(d.dtype, d.output), bias(d.dtype, Layout::dense({d.output.shape[1]}));
  x.randomize(), w.randomize(), y.randomize(), bias.randomize();
  const auto expected = reference(d, x, w, y, bias);
  std::vector<double> expected_bias(static_cast<std::size_t>(d.output.shape[1]), 0.0);
  y.for_each([&](const Dims& o) { expected_bias[static_cast<std::size_t>(o[1])] += y(o); });
  Tensor& source = d.pass == ConvolutionPass::Forward ? y : d.pass == ConvolutionPass::BackwardData ? x : w;
  const double weights = static_cast<double>(numel(d.weight.shape)), outputs = static_cast<double>(numel(d.output.shape));
  const double channels = std::max(1.0, static_cast<double>(d.output.shape[1]));
  const double terms = d.pass == ConvolutionPass::BackwardWeight ? outputs / channels
                       : d.pass == ConvolutionPass::Forward      ? weights / channels
                                                                 : weights;

  for (const auto& call : candidates(d)) {
    Tensor result(d.dtype, source.layout()), bias_gradient(d.dtype, bias.layout());
    std::vector<void*> buffers;
    if (d.pass == ConvolutionPass::Forward) buffers = {x.data(), w.data()};
    else if (d.pass == ConvolutionPass::BackwardData) buffers = {y.data(), w.data(), result.data()};
    else buffers = {x.data(), y.data(), result.data()};
    if (d.bias) buffers.push_back(d.pass == ConvolutionPass::Forward ? bias.data() : bias_gradient.data());
    if (d.pass == ConvolutionPass::Forward) buffers.push_back(result.data());
    const std::string what = call->describe() + ' ' + text(d) + " threads " + std::to_string(threads);
    ASSERT_TRUE(test::run_guarded(*call, buffers, threads)) << "wrote behind its scratch: " << what;
    EXPECT_TRUE(result.untouched_outside()) << what;
    double worst = 0;
    std::size_t i = 0;
    result.for_each([&](const Dims& index) {
      const double error = std::abs(result(index) - expected[i++]);
      worst = std::isnan(error) || worst < error ? error : worst;
    });
    EXPECT_LE(worst, test::tolerance(d.dtype, terms)) << what;
    if (d.pass != ConvolutionPass::BackwardWeight || !d.bias) continue;
    for (std::int64_t k = 0; k < d.output.shape[1]; ++k) {
      EXPECT_NEAR(bias_gradient({k}), expected_bias[static_cast<std::size_t>(k)], test::tolerance(d.dtype, terms)) << what;
    }
  }
}

void expect_all_passes(const Options& o, int threads) {
  for (const auto pass : kPasses) expect_pass(describe(o, pass), threads);
}

Options random_options(DType dtype) {
  Options o{.dtype = dtype};
  const int spatial = pick(1, 3);
  o.groups = pick(0, 3) ? 1 : pick(2, 4);
  const bool depthwise = pick(0, 5) == 0;
  o.n = pick(0, 4) ? pick(1, 4) : pick(14, 35);
  o.c = o.groups * pick(1, 6);
  o.k = o.groups * pick(1, 9);
  if (depthwise) o.groups = o.c, o.k = o.c * pick(1, 2);
  for (int i = 0; i < spatial; ++i) {
    o.kernel.push_back(pick(1, 4));
    o.dilation.push_back(pick(0, 3) ? 1 : 2);
    o.stride.push_back(pick(1, 3));
    const int reach = static_cast<int>(o.dilation[i] * (o.kernel[i] - 1));
    o.low.push_back(pick(0, reach)), o.high.push_back(pick(0, reach));
    o.in.push_back(reach + pick(1, spatial == 3 ? 4 : 8));
  }
  o.input = static_cast<Memory>(pick(0, 20) ? pick(0, 1) : 2);
  o.output = pick(0, 3) ? o.input : static_cast<Memory>(pick(0, 1));
  o.bias = pick(0, 1) == 1;
  o.activation = pick(0, 1) ? Activation::Relu : Activation::None;
  return o;
}

double products(const Options& o) {
  const Convolution d = describe(o, ConvolutionPass::Forward);
  return static_cast<double>(numel(d.output.shape)) * static_cast<double>(numel(d.weight.shape)) / static_cast<double>(o.k);
}

class ConvolutionTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Floats, ConvolutionTest, testing::Values(f64, f32, f16, bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(ConvolutionTest, RandomShapesAndLayoutsMatchTheNaiveLoops) {
  const int rounds = GetParam() == f32 ? 250 : 60;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    Options o = random_options(GetParam());
    while (products(o) > 1e6) o = random_options(GetParam());  // for the sake of the naive loops
    expect_all_passes(o, 1 + round % 2);
  }
}

TEST_P(ConvolutionTest, EmptyAxesGiveZerosOrTheBias) {
  const Options usual{.n = 2,
                      .c = 3,
                      .k = 4,
                      .in = {5, 5},
                      .kernel = {3, 3},
                      .stride = {1, 1},
                      .dilation = {1, 1},
                      .low = {1, 1},
                      .high = {1, 1},
                      .dtype = GetParam(),
                      .bias = true};
  Options o = usual;
  o.n = 0;
  expect_all_passes(o, 2);
  o = usual, o.c = 0;
  expect_all_passes(o, 1);
  o = usual, o.k = 0;
  expect_all_passes(o, 1);
  o = usual, o.in = {0, 1}, o.low = {0, 0}, o.high = {0, 0};  // too small for the kernel: nothing comes out
  expect_all_passes(o, 2);
}

// The layers of the lecture's Keras network and relatives of ResNet's, small enough for the naive loops.
TEST(Convolution, LayersOfRealNetworksMatch) {
  const auto square = [](std::int64_t n, std::int64_t c, std::int64_t hw, std::int64_t k, std::int64_t f, std::int64_t s, std::int64_t low,
                         std::int64_t high) {
    return Options{.n = n,
                   .c = c,
                   .k = k,
                   .in = {hw, hw},
                   .kernel = {f, f},
                   .stride = {s, s},
                   .dilation = {1, 1},
                   .low = {low, low},
                   .high = {high, high},
                   .bias = true};
  };
  for (const auto order : {Memory::ChannelsFirst, Memory::ChannelsLast}) {
    for (Options o : {square(17, 1, 14, 12, 3, 1, 1, 1), square(32, 12, 10, 24, 6, 2, 2, 2), square(20, 24, 8, 32, 6, 2, 2, 2),
                      square(1, 24, 14, 32, 6, 2, 2, 2), square(2, 3, 20, 64, 7, 2, 3, 3), square(2, 64, 7, 64, 3, 1, 1, 1),
                      square(16, 64, 8, 96, 1, 1, 0, 0), square(2, 32, 9, 48, 1, 2, 0, 0)}) {
      o.input = o.output = order;
      expect_all_passes(o, 1);
      expect_all_passes(o, 2);
    }
  }
}

TEST(Convolution, SameThreadCountGivesTheSameBits) {
  const Options o{.n = 40,
                  .c = 5,
                  .k = 12,
                  .in = {9, 9},
                  .kernel = {3, 3},
                  .stride = {1, 1},
                  .dilation = {1, 1},
                  .low = {1, 1},
                  .high = {1, 1},
                  .bias = true};
  const Convolution d = describe(o, ConvolutionPass::BackwardWeight);
  Tensor x(f32, d.input), y(f32, d.output), first(f32, d.weight), second(f32, d.weight), bias(f32, Layout::dense({12}));
  x.randomize(), y.randomize();
  const auto call = make_convolution(d);
  for (const int threads : {1, 2}) {
    test::run_guarded(*call, {x.data(), y.data(), first.data(), bias.data()}, threads);
    for (int i = 0; i < 5; ++i) {
      test::run_guarded(*make_convolution(d), {x.data(), y.data(), second.data(), bias.data()}, threads);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), static_cast<std::size_t>(numel(d.weight.shape)) * 4), 0);
    }
  }
}

TEST(Convolution, OneCallRunsInSeveralThreadsAtOnce) {
  const Options o{
      .n = 2, .c = 16, .k = 32, .in = {9, 9}, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .low = {1, 1}, .high = {1, 1}};
  const Convolution d = describe(o, ConvolutionPass::Forward);
  Tensor x(f32, d.input), w(f32, d.weight), expected(f32, d.output);
  x.randomize(), w.randomize();
  for (const auto& call : candidates(d)) {
    test::run_guarded(*call, {x.data(), w.data(), expected.data()}, 1);
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> callers;
    for (std::size_t caller = 0; caller < wrong.size(); ++caller) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 20; ++i) {
          Tensor y(f32, d.output);
          test::run_guarded(*call, {x.data(), w.data(), y.data()}, 1);
          wrong[caller] += std::memcmp(y.data(), expected.data(), static_cast<std::size_t>(numel(d.output.shape)) * 4) != 0;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const int count : wrong) EXPECT_EQ(count, 0) << call->describe();
  }
}

TEST(Convolution, ReluKeepsNan) {
  for (const std::int64_t n : {1, 16}) {
    const Options o{.n = n,
                    .c = 16,
                    .k = 16,
                    .in = {4, 4},
                    .kernel = {3, 3},
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .low = {1, 1},
                    .high = {1, 1},
                    .activation = Activation::Relu};
    const Convolution d = describe(o, ConvolutionPass::Forward);
    Tensor x(f32, d.input), w(f32, d.weight), y(f32, d.output);
    x.randomize(), w.randomize();
    x.set({0, 3, 2, 2}, std::numeric_limits<double>::quiet_NaN());
    test::run_guarded(*make_convolution(d), {x.data(), w.data(), y.data()}, 1);
    EXPECT_TRUE(std::isnan(y({0, 5, 2, 2})));
    EXPECT_FALSE(std::isnan(y({0, 5, 0, 0})));
  }
}

TEST(Convolution, WhatDoesNotFitIsRefused) {
  const Options o{
      .n = 2, .c = 4, .k = 4, .in = {5, 5}, .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .low = {0, 0}, .high = {0, 0}};
  Convolution d = describe(o, ConvolutionPass::Forward);
  EXPECT_NO_THROW(make_convolution(d));
  d.dtype = i32;
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.output.shape[2] = 4;
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.groups = 2;
  EXPECT_THROW(make_convolution(d), Error);
  d = describe(o, ConvolutionPass::Forward);
  d.activation = Activation::Tanh;
  EXPECT_THROW(make_convolution(d), Error);
}

}  // namespace
}  // namespace tegula::cpu
