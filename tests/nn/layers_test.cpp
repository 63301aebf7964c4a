// Shapes and values of the layers; constants were computed with PyTorch 2.
#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>

#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

Tensor powers() {  // (1, 4, 2, 2): 0, 1, 2^1.5, …
  return reshape(pow(arange(16.0), 1.5), {1, 4, 2, 2});
}

TEST(Linear, IsXWTransposedPlusB) {
  nn::Linear fc{2, 3};
  fc.weight = tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}, {3, 2});
  fc.bias = tensor({0.5F, -0.5F, 1.F});
  expect_close(fc(tensor({1.F, -1.F}, {1, 2})), {-0.5, -1.5, 0}, 2e-6);
  EXPECT_EQ(fc(ones({4, 5, 2})).shape(), (Shape{4, 5, 3}));
}

TEST(Linear, BeginsWithinOneOverRootOfFanIn) {
  nn::Linear fc{64, 256};
  const double bound = 1 / std::sqrt(64.0), greatest = max(abs(fc.weight)).item();
  EXPECT_LE(greatest, bound);
  EXPECT_GT(greatest, 0.98 * bound);
  EXPECT_NEAR(stddev(fc.weight).item(), bound / std::sqrt(3.0), 0.02 * bound);
  EXPECT_LE(max(abs(fc.bias)).item(), bound);
}

TEST(Bilinear, IsAWB) {
  nn::Bilinear layer{2, 3, 2};
  layer.weight = reshape(arange(12.0) / 10, {2, 2, 3});
  layer.bias = tensor({1.F, 2.F});
  expect_close(layer(tensor({1.F, 2.F}, {1, 2}), tensor({1.F, -1.F, 3.F}, {1, 3})), {4.3, 10.7}, 2e-6);
}

TEST(Embedding, TakesRowsAndZeroesThePadding) {
  nn::Embedding table{5, 3, {.padding_idx = -5}};
  EXPECT_EQ(table(tensor({4, 0, 1, 1}, {2, 2})).shape(), (Shape{2, 2, 3}));
  expect_close(table(tensor({0})), {0, 0, 0}, 2e-6);
  const Tensor loss = sum(table(tensor({0, 1, 1})));
  expect_close(sum(grad(loss, table.weight), 1), {0, 6, 0, 0, 0}, 2e-6);
}

TEST(Conv, ShapesFollowTheOptions) {
  EXPECT_EQ((nn::Conv2d{1, 12, 3, {.padding = Same}}(zeros({2, 1, 28, 28})).shape()), (Shape{2, 12, 28, 28}));
  EXPECT_EQ((nn::Conv2d{12, 24, 6, {.stride = 2, .padding = Same}}(zeros({2, 12, 28, 28})).shape()), (Shape{2, 24, 14, 14}));
  EXPECT_EQ((nn::Conv2d{4, 6, {3, 1}, {.padding = {1, 0}, .groups = 2}}(zeros({2, 4, 5, 5})).shape()), (Shape{2, 6, 5, 5}));
  EXPECT_EQ((nn::Conv1d{4, 6, 3, {.dilation = 2}}(zeros({2, 4, 9})).shape()), (Shape{2, 6, 5}));
  EXPECT_EQ((nn::Conv3d{1, 2, 2}(zeros({1, 1, 3, 4, 5})).shape()), (Shape{1, 2, 2, 3, 4}));
  EXPECT_EQ((nn::ConvTranspose2d{2, 4, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}}(zeros({1, 2, 5, 5})).shape()),
            (Shape{1, 4, 10, 10}));
  EXPECT_EQ((nn::ConvTranspose1d{2, 3, 4}(zeros({1, 2, 5})).shape()), (Shape{1, 3, 8}));
  EXPECT_EQ((nn::ConvTranspose3d{2, 3, 2}(zeros({1, 2, 2, 3, 4})).shape()), (Shape{1, 3, 3, 4, 5}));
}

TEST(Conv, WeightsHavePyTorchsShapes) {
  EXPECT_EQ((nn::Conv1d{4, 6, 3, {.groups = 2}}.weight.shape()), (Shape{6, 2, 3}));
  EXPECT_EQ((nn::ConvTranspose2d{2, 4, 3, {.groups = 2}}.weight.shape()), (Shape{2, 2, 3, 3}));
  EXPECT_FALSE((nn::Conv2d{1, 1, 1, {.bias = false}}.bias.defined()));
}

TEST(Conv, AddsItsBias) {
  nn::Conv2d conv{1, 1, 2};
  conv.weight = ones({1, 1, 2, 2});
  conv.bias = 0.5;
  expect_close(conv(reshape(arange(9.0), {1, 1, 3, 3})), {8.5, 12.5, 20.5, 24.5}, 2e-6);
}

TEST(BatchNorm, NormalisesAndAveragesAsPyTorch) {
  nn::BatchNorm1d norm{2};
  const Tensor x = tensor({1.F, 2.F, 3.F, 5.F, -1.F, 4.F}, {3, 2});
  expect_close(norm(x), {0, -1.336302, 1.2247425, 1.0690415, -1.2247425, 0.267260}, 2e-6);
  expect_close(norm.running_mean, {0.1, 0.36666667}, 2e-6);
  expect_close(norm.running_var, {1.3, 1.1333333}, 2e-6);
  norm(x * 2 + 1);
  expect_close(norm.running_mean, {0.39, 1.1633333}, 2e-6);
  expect_close(norm.running_var, {2.77, 1.9533333}, 2e-6);
  EXPECT_EQ(norm.num_batches_tracked.read().item<int>(), 2);
  eval(norm);
  expect_close(norm(x), {0.3665128, 0.5986365, 1.5681942, 2.745142, -0.8351686, 2.0296402}, 2e-6);
  EXPECT_EQ(norm.num_batches_tracked.read().item<int>(), 2);
}

TEST(BatchNorm, WithoutMomentumAveragesAllBatches) {
  nn::BatchNorm1d norm{2, {.momentum = std::nullopt}};
  const Tensor x = tensor({1.F, 2.F, 3.F, 5.F, -1.F, 4.F}, {3, 2});
  norm(x);
  norm(x * 2 + 1);
  expect_close(norm.running_mean, {2, 6}, 2e-6);
  expect_close(norm.running_var, {10, 5.833333}, 2e-6);
}

TEST(BatchNorm, TheStatisticsFollowInAJit) {
  nn::BatchNorm1d norm{2};
  const Tensor x = tensor({1.F, 2.F, 3.F, 5.F, -1.F, 4.F}, {3, 2});
  auto f = jit([&](Tensor input) { return norm(input); });
  f(x);
  f(x * 2 + 1);
  expect_close(norm.running_mean, {0.39, 1.1633333}, 2e-6);
  expect_close(norm.running_var, {2.77, 1.9533333}, 2e-6);
}

TEST(Norm, ValuesAreThoseOfPyTorch) {
  expect_close(nn::GroupNorm{2, 4}(powers()),
               {-1.2286084, -1.0685867, -0.7759989, -0.3971117, 0.0515646, 0.5604877, 1.1232195, 1.7350336, -1.4575565, -1.081643,
                -0.6842203, -0.2663951, 0.170881, 0.6267785, 1.1005654, 1.5915904},
               2e-6);
  expect_close(nn::InstanceNorm2d{4}(powers()),
               {-1.1410077, -0.6352743, 0.2894223, 1.4868599, -1.2991846, -0.4889205, 0.4070133, 1.3810916, -1.317548, -0.4710573,
                0.4238683, 1.3647368, -1.3248116, -0.4639199, 0.4307532, 1.3579777},
               2e-6);
  expect_close(nn::LocalResponseNorm{3, 0.1, 0.5, 2}(powers()),
               {0, 0.4016097, 0.9192771, 1.3724869, 1.737489, 2.024441, 2.2464926, 2.4172859, 2.5490117, 2.6513946, 2.731792, 2.7956429,
                4.7475395, 4.6981921, 4.6519217, 4.6091461},
               2e-6);
  expect_close(nn::LayerNorm{4}(tensor({1.F, 2.F, 4.F, 8.F})), {-1.0257546, -0.6527529, 0.0932504, 1.5852571}, 2e-6);
  expect_close(nn::RMSNorm{4}(tensor({1.F, 2.F, 4.F, 8.F})), {0.2169305, 0.4338609, 0.8677219, 1.7354437}, 2e-6);
}

TEST(Norm, ParametersHavePyTorchsShapes) {
  EXPECT_EQ((nn::LayerNorm{{3, 4}}.weight.shape()), (Shape{3, 4}));
  EXPECT_FALSE((nn::LayerNorm{4, {.bias = false}}.bias.defined()));
  EXPECT_FALSE((nn::InstanceNorm2d{4}.weight.defined()));
  EXPECT_EQ((nn::GroupNorm{2, 6}.bias.shape()), (Shape{6}));
}

TEST(Pool, ValuesAndShapes) {
  const Tensor x = reshape(arange(16.0), {1, 1, 4, 4});
  expect_close(nn::MaxPool2d{2}(x), {5, 7, 13, 15}, 2e-6);
  expect_close(nn::AvgPool2d{2}(x), {2.5, 4.5, 10.5, 12.5}, 2e-6);
  expect_close(nn::AdaptiveAvgPool2d{1}(x), {7.5}, 2e-6);
  expect_close(nn::AdaptiveMaxPool2d{{1, 2}}(x), {13, 15}, 2e-6);
  EXPECT_EQ((nn::MaxPool2d{3, {.stride = 2, .padding = 1}}(x).shape()), (Shape{1, 1, 2, 2}));
}

TEST(Dropout, ScalesWhatItKeeps) {
  manual_seed(1);
  const nn::Dropout drop{0.25};
  const std::vector<float> y = drop(ones({10000})).to_host();
  int zeros = 0;
  for (float value : y) {
    zeros += value == 0;
    EXPECT_FLOAT_EQ(value, value == 0 ? 0 : 4.0F / 3);
  }
  EXPECT_NEAR(zeros, 2500, 200);
}

TEST(Dropout, WholeChannelsGo) {
  manual_seed(1);
  const Tensor y = nn::Dropout2d{0.5}(ones({8, 8, 3, 3}));
  expect_close(var(y, {2, 3}), std::vector<double>(64, 0.0), 2e-6);
}

TEST(Shape, FlattenAndUnflatten) {
  EXPECT_EQ((nn::Flatten{}(zeros({2, 3, 4})).shape()), (Shape{2, 12}));
  EXPECT_EQ((nn::Unflatten{1, {3, 4}}(zeros({2, 12, 5})).shape()), (Shape{2, 3, 4, 5}));
  EXPECT_EQ((nn::Identity{}(zeros({2})).shape()), (Shape{2}));
}

TEST(Activation, LayersAreTheFunctions) {
  const Tensor x = tensor({-2.F, -0.5F, 0.F, 3.F});
  expect_close(nn::LeakyReLU{0.1}(x), {-0.2, -0.05, 0, 3}, 2e-6);
  expect_close(nn::Hardtanh{-1, 2}(x), {-1, -0.5, 0, 2}, 2e-6);
  expect_close(nn::Softmax{}(tensor({0.F, 0.F})), {0.5, 0.5}, 2e-6);
  expect_close(nn::Maxout{2}(tensor({1.F, 4.F, 3.F, 2.F}, {1, 4})), {4, 3}, 2e-6);
  nn::PReLU prelu{1, 0.5};
  expect_close(prelu(x), {-1, -0.25, 0, 3}, 2e-6);
  EXPECT_EQ(parameters(prelu)[0].name, "weight");
}

TEST(Layer, NodesNameTheLayerAndTheUsersLine) {
  nn::Linear fc{2, 3};
  const int line = __LINE__ + 1;
  const Tensor y = fc(ones({1, 2}));
  EXPECT_EQ(y.node()->origin().where.line(), static_cast<unsigned>(line));
  ASSERT_NE(y.node()->origin().path, nullptr);
  EXPECT_TRUE(y.node()->origin().path->starts_with("Linear"));
}

}  // namespace
}  // namespace tegula
