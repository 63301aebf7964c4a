// Layers whose weight is made from other numbers, layers that resize images, and buffers that are not saved.

#include "tegula/nn/weight_norm.h"

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

std::vector<std::string> names(const Parameters& cells) {
  std::vector<std::string> out;
  for (const Parameter& cell : cells) out.push_back(cell.name);
  return out;
}
using Names = std::vector<std::string>;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(WeightNorm, BeginsAsTheLayer) {
  const nn::Conv2d plain{3, 5, 3, {.padding = 1}};
  const nn::WeightNorm conv{plain};
  const Tensor x = normal({2, 3, 4, 4});
  expect_close(conv(x), plain(x).to_host<double>(), 1e-5);
  EXPECT_EQ(conv.scale.shape(), (Shape{5, 1, 1, 1}));
  EXPECT_EQ(names(parameters(conv)), (Names{"weight_g", "weight_v", "bias"}));
  const nn::WeightNorm whole{nn::Linear{4, 3, {.bias = false}}, {.dim = {}}};
  EXPECT_EQ(whole.scale.shape(), Shape{});
  EXPECT_EQ(names(parameters(whole)), (Names{"weight_g", "weight_v"}));
  expect_close(whole.weight(), whole.layer.weight.to_host<double>(), 1e-6);
}

TEST(WeightNorm, LengthsAndDirectionsAreApart) {
  nn::WeightNorm layer{nn::Linear{2, 2}};
  layer.layer.weight = tensor({3.F, 4.F, 0.F, 2.F}, {2, 2});
  layer.scale = tensor({10.F, 1.F}, {2, 1});
  expect_close(layer.weight(), {6, 8, 0, 1}, 2e-6);
  layer.layer.weight = layer.layer.weight.read() * 7;  // a direction has no length
  expect_close(layer.weight(), {6, 8, 0, 1}, 2e-6);
}

TEST(WeightNorm, GradientsAreThoseOfTheFormula) {
  nn::WeightNorm layer{nn::Linear{3, 2, {.dtype = f64}}};
  const Tensor x = normal({4, 3}, 0, 1, {.dtype = f64});
  const auto gradients = grad(sum(square(layer(x))), parameters(layer));
  const Tensor bias = layer.layer.bias;
  check_gradients(
      [&](const std::vector<Tensor>& in) {
        const Tensor weight = in[0] * in[1] / sqrt(sum(square(in[1]), 1, Keep::Yes));
        return sum(square(linear(x, weight, bias)));
      },
      {layer.scale.read(), layer.layer.weight.read()});
  Tensor g = layer.scale.read(), v = layer.layer.weight.read();
  const Tensor direct = sum(square(linear(x, g * v / sqrt(sum(square(v), 1, Keep::Yes)), bias)));
  expect_close(gradients[0], grad(direct, g).to_host<double>(), 1e-12);
  expect_close(gradients[1], grad(direct, v).to_host<double>(), 1e-12);
}

TEST(SpectralNorm, DividesByTheLargestSingularValue) {
  nn::SpectralNorm layer{nn::Linear{3, 2, {.bias = false, .dtype = f64}}};
  layer.layer.weight = tensor({3.0, 0.0, 0.0, 0.0, 0.0, -5.0}, {2, 3});
  for (int i = 0; i < 60; ++i) eval(layer(ones({1, 3}, f64)));
  expect_close(layer(ones({1, 3}, f64)), {0.6, -1}, 1e-12);
  EXPECT_EQ(names(parameters(layer)), (Names{"weight_orig"}));
  EXPECT_EQ(names(nn::state(layer)), (Names{"weight_orig", "weight_u", "weight_v"}));
}

TEST(SpectralNorm, TheVectorsMoveInTrainingOnly) {
  nn::SpectralNorm layer{nn::Conv2d{3, 4, 3}};
  const Tensor x = ones({1, 3, 5, 5});
  layer.layer.weight = normal({4, 3, 3, 3});
  eval(layer);
  const auto before = layer.sigma.u.to_host();
  const auto first = layer(x).to_host();
  EXPECT_EQ(layer(x).to_host(), first);
  EXPECT_EQ(layer.sigma.u.to_host(), before);
  train(layer);
  auto step = jit([&](const Tensor& in) { return layer(in); });
  EXPECT_NE(step(x).to_host(), first);
  const auto moved = layer.sigma.u.to_host();
  EXPECT_NE(moved, before);
  step(x);
  EXPECT_NE(layer.sigma.u.to_host(), moved);  // in every call of the compiled function
}

TEST(SpectralNorm, GradientsHoldTheVectorsFixed) {
  nn::SpectralNorm layer{nn::Linear{3, 2, {.bias = false, .dtype = f64}}};
  eval(layer);
  const Tensor x = normal({4, 3}, 0, 1, {.dtype = f64}), u = layer.sigma.u, v = layer.sigma.v;
  const auto formula = [&](const std::vector<Tensor>& in) { return sum(square(matmul(x, transpose(in[0] / dot(u, mv(in[0], v)))))); };
  const Tensor w = layer.layer.weight;
  check_gradients(formula, {w});
  expect_close(grad(sum(square(layer(x))), layer.layer.weight), grad(formula({w}), w).to_host<double>(), 1e-12);
}

TEST(SpectralNorm, TransposedConvolutionsHaveTheirOutputsInAxisOne) {
  const nn::SpectralNorm layer{nn::ConvTranspose2d{3, 4, 2}};
  EXPECT_EQ(layer.sigma.u.shape(), Shape{4});
  EXPECT_EQ(layer.sigma.v.shape(), Shape{12});
}

TEST(SpectralNorm, IsSavedAndLoaded) {
  nn::Sequential net{nn::SpectralNorm{nn::Linear{3, 4}}, relu, nn::WeightNorm{nn::Linear{4, 2}}};
  nn::Sequential other{nn::SpectralNorm{nn::Linear{3, 4}}, relu, nn::WeightNorm{nn::Linear{4, 2}}};
  load(other, state_dict(net));
  eval(net), eval(other);
  const Tensor x = normal({5, 3});
  EXPECT_EQ(net(x).to_host(), other(x).to_host());
}

TEST(SpectralNorm, Errors) {
  EXPECT_NE(refusal([] { nn::SpectralNorm layer(nn::Linear{3, 2}, {.n_power_iterations = 0}); }).find("n_power_iterations = 0"),
            std::string::npos);
  EXPECT_NE(refusal([] { nn::SpectralNorm layer(nn::Linear{3, 2}, {.dim = 2}); }).find("SpectralNorm: got axis 2"), std::string::npos);
  EXPECT_NE(refusal([] { nn::WeightNorm layer(nn::Linear{3, 2}, {.dim = 2}); }).find("WeightNorm: got axis 2"), std::string::npos);
}

TEST(NonPersistentBuffer, IsNeitherTrainedNorSaved) {
  struct Net {
    nn::Linear linear{2, 2};
    nn::NonPersistentBuffer calls{Tensor(0)};
    Tensor operator()(Arg x) {
      calls = calls + 1;
      return linear(x);
    }
  };
  Net net;
  EXPECT_EQ(names(parameters(net)), (Names{"linear.weight", "linear.bias"}));
  EXPECT_EQ(names(nn::state(net)), (Names{"linear.weight", "linear.bias"}));
  auto call = jit([&](const Tensor& x) { return net(x); });
  for (int i = 0; i < 3; ++i) call(ones({1, 2}));
  EXPECT_EQ(net.calls.item<int>(), 3);
  Net other;
  load(other, state_dict(net));
  EXPECT_EQ(other.calls.item<int>(), 0);
}

TEST(Images, LayersAreTheirOps) {
  const Tensor x = normal({2, 8, 4, 6});
  const auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.shape(), b.shape());
    EXPECT_EQ(a.to_host(), b.to_host());
  };
  same(nn::Upsample{.scale_factor = 2, .mode = Interpolation::Bilinear}(x),
       interpolate(x, {.scale_factor = 2, .mode = Interpolation::Bilinear}));
  same(nn::Upsample{.size = {3, 5}}(x), interpolate(x, {.size = {3, 5}}));
  same(nn::PixelShuffle{2}(x), pixel_shuffle(x, 2));
  same(nn::PixelUnshuffle{2}(x), pixel_unshuffle(x, 2));
  const Tensor columns = nn::Unfold{3, {.padding = 1}}(x);
  same(columns, unfold(x, 3, {.padding = 1}));
  same(nn::Fold{{4, 6}, 3, {.padding = 1}}(columns), fold(columns, {4, 6}, 3, {.padding = 1}));
  nn::Sequential net{nn::Conv2d{8, 4, 3, {.padding = Same}}, nn::Upsample{.scale_factor = 2}, nn::PixelShuffle{2}};
  EXPECT_EQ(net(x).shape(), (Shape{2, 1, 16, 24}));
  EXPECT_EQ(parameters(net).size(), 2u);
}

}  // namespace
}  // namespace tegula
