// Layers of images whose channels come last are the same layers as of images whose channels come first, with the same weights.
#include <gtest/gtest.h>

#include <algorithm>

#include <tegula/tegula.h>

#include "tests/support/message.h"
#include "tests/support/occurrences.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

/// (N, C, spatial…) to (N, spatial…, C) and back; without a batch where `batch` is 0.
Tensor to_last(const Tensor& x, int batch = 1) { return movedim(x, batch, -1); }

/// Values, and gradients by x and the weights, of two layers with one state.
template <class Layer>
void expect_same(Layer first, Layer last, const Tensor& x, int batch = 1) {
  load(last, state_dict(first));
  const auto of = [&](Layer& layer, const Tensor& given, bool is_last) {
    std::vector<Tensor> wanted{given};
    for (const Parameter& one : parameters(layer)) wanted.push_back(one.read());
    Tensor y = layer(given);
    if (is_last) y = movedim(y, -1, batch);
    std::vector<Tensor> out{y};
    const Tensor loss = sum(y * reshape(cos(arange(static_cast<double>(y.numel()))), y.shape()));
    const Tensor dx = grad(loss, given);
    out.push_back(is_last ? movedim(dx, -1, batch) : dx);
    for (const Tensor& one : grad(loss, parameters(layer))) out.push_back(one);
    return out;
  };
  const auto expected = of(first, x, false), got = of(last, to_last(x, batch), true);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), expected[i].shape()) << i;
    test::expect_close(got[i], expected[i], 1e-5);
  }
}

TEST(ChannelsLast, ConvolutionsHaveTheSameWeights) {
  constexpr AxisOrder kLast = Layout::NHWC;
  expect_same(nn::Conv1d{4, 6, 3, {.padding = 1}}, nn::Conv1d{4, 6, 3, {.padding = 1, .layout = kLast}}, normal({2, 4, 9}));
  expect_same(nn::Conv2d{4, 6, 3, {.stride = 2, .padding = Same, .groups = 2}},
              nn::Conv2d{4, 6, 3, {.stride = 2, .padding = Same, .groups = 2, .layout = kLast}}, normal({2, 4, 7, 6}));
  expect_same(nn::Conv3d{2, 3, 2}, nn::Conv3d{2, 3, 2, {.layout = kLast}}, normal({1, 2, 3, 4, 5}));
  expect_same(nn::Conv2d{3, 4, 3}, nn::Conv2d{3, 4, 3, {.layout = kLast}}, normal({3, 5, 6}), 0);
  expect_same(nn::ConvTranspose2d{4, 3, 3, {.stride = 2, .output_padding = 1}},
              nn::ConvTranspose2d{4, 3, 3, {.stride = 2, .output_padding = 1, .layout = kLast}}, normal({2, 4, 3, 4}));
}

TEST(ChannelsLast, PoolingIsTheSame) {
  const Tensor x = normal({2, 3, 7, 6});
  expect_same(nn::MaxPool2d{2}, nn::MaxPool2d{2, {.layout = Layout::NHWC}}, x);
  expect_same(nn::AvgPool2d{3, {.stride = 2, .padding = 1}}, nn::AvgPool2d{3, {.stride = 2, .padding = 1, .layout = Layout::NHWC}}, x);
  expect_same(nn::AvgPool2d{2, {.ceil_mode = true}}, nn::AvgPool2d{2, {.ceil_mode = true, .layout = Layout::NHWC}}, x);
  expect_same(nn::AdaptiveAvgPool2d{{3, 2}}, nn::AdaptiveAvgPool2d{{3, 2}, Layout::NHWC}, x);
  expect_same(nn::AdaptiveMaxPool2d{2}, nn::AdaptiveMaxPool2d{2, Layout::NHWC}, x);
  expect_same(nn::MaxPool1d{2}, nn::MaxPool1d{2, {.layout = Layout::NHWC}}, normal({3, 8}), 0);
}

TEST(ChannelsLast, NormsAndUpsamplingAreTheSame) {
  const Tensor x = normal({3, 4, 5, 6});
  expect_same(nn::BatchNorm2d{4}, nn::BatchNorm2d{4, {.layout = Layout::NHWC}}, x);
  expect_same(nn::GroupNorm{2, 4}, nn::GroupNorm{2, 4, {.layout = Layout::NHWC}}, x);
  expect_same(nn::InstanceNorm2d{4, {.affine = true}}, nn::InstanceNorm2d{4, {.affine = true, .layout = Layout::NHWC}}, x);
  expect_same(nn::Upsample{.scale_factor = 2, .mode = Interpolation::Bilinear},
              nn::Upsample{.scale_factor = 2, .mode = Interpolation::Bilinear, .layout = Layout::NHWC}, x);
  nn::BatchNorm2d first{4}, last{4, {.layout = Layout::NHWC}};
  first(x), last(to_last(x));  // statistics
  test::expect_close(last.running_var, first.running_var.read().to_host<double>(), 1e-6);
  eval(first), eval(last);
  test::expect_close(movedim(last(to_last(x)), -1, 1), first(x).to_host<double>(), 1e-5);
  expect_same(nn::BatchNorm1d{4}, nn::BatchNorm1d{4, {.layout = Layout::NHWC}}, normal({5, 4}));  // (N, C) has one order
}

TEST(ChannelsLast, FlattenKeepsTheOrderOfTheLinearLayerBehind) {
  const Tensor x = normal({2, 3, 4, 5});
  test::expect_close(nn::Flatten{.layout = Layout::NHWC}(to_last(x)), flatten(x, 1).to_host<double>(), 0);
}

TEST(ChannelsLast, ActivationsLocalNormsAndPixelsAreTheSame) {
  const Tensor x = normal({2, 8, 4, 6});
  nn::PReLU slopes{8}, slopes_last{8, {.layout = Layout::NHWC}};
  slopes.weight = uniform({8});
  expect_same(slopes, slopes_last, x);
  expect_same(slopes, slopes_last, normal({3, 8, 5}));
  expect_same(nn::LocalResponseNorm{3, 0.3}, nn::LocalResponseNorm{.size = 3, .alpha = 0.3, .layout = Layout::NHWC}, x);
  expect_same(nn::PixelShuffle{2}, nn::PixelShuffle{2, Layout::NHWC}, x);
  expect_same(nn::PixelUnshuffle{2}, nn::PixelUnshuffle{2, Layout::NHWC}, x);
  expect_same(nn::PixelShuffle{2}, nn::PixelShuffle{2, Layout::NHWC}, normal({4, 3, 5}), 0);
  test::expect_close(nn::Unfold{3, {.padding = 1, .layout = Layout::NHWC}}(to_last(x)), nn::Unfold{3, {.padding = 1}}(x).to_host<double>(),
                     0);
  const Tensor columns = normal({2, 8 * 9, 24});
  test::expect_close(movedim(nn::Fold{{4, 6}, 3, {.padding = 1, .layout = Layout::NHWC}}(columns), -1, 1),
                     nn::Fold{{4, 6}, 3, {.padding = 1}}(columns).to_host<double>(), 1e-6);
}

TEST(ChannelsLast, GlobalPoolingIsTheSame) {
  for (const Tensor& x : {normal({2, 3, 7}), normal({2, 3, 4, 5}), normal({2, 3, 2, 3, 4})}) {
    test::expect_close(global_avg_pool(to_last(x), Layout::NHWC), global_avg_pool(x).to_host<double>(), 1e-6);
    test::expect_close(global_max_pool(to_last(x), Layout::NHWC), global_max_pool(x).to_host<double>(), 0);
  }
  EXPECT_HAS_MESSAGE(global_avg_pool(ones({2, 3}), Layout::NHWC), "expected (batch, spatial…, channels)");
}

TEST(ChannelsLast, DropoutTakesWholeChannels) {
  Generator first(5), last(5);
  const Tensor x = normal({8, 16, 3, 2});
  const Tensor expected = nn::Dropout2d{0.5, {.generator = &first}}(x);
  test::expect_close(movedim(nn::Dropout2d{0.5, {.layout = Layout::NHWC, .generator = &last}}(to_last(x)), -1, 1),
                     expected.to_host<double>(), 0);
  const auto values = expected.to_host();
  EXPECT_GT(std::ranges::count(values, 0.0F), 100);
  nn::Dropout2d quiet{0.5, {.layout = Layout::NHWC}};
  eval(quiet);
  test::expect_close(quiet(x), x.to_host<double>(), 0);
}

struct Net {
  AxisOrder layout;
  nn::Conv2d conv1{3, 8, 3, {.padding = 1, .layout = layout}};
  nn::BatchNorm2d norm{8, {.layout = layout}};
  nn::MaxPool2d pool{2, {.layout = layout}};
  nn::Conv2d conv2{8, 8, 3, {.padding = 1, .layout = layout}};
  nn::AvgPool2d mean{2, {.layout = layout}};
  nn::Flatten flat{.layout = layout};
  nn::Linear head{8 * 4 * 4, 10};
  Tensor operator()(Tensor x) {
    x = pool(relu(norm(conv1(x))));
    return head(flat(mean(relu(conv2(x)))));
  }
};

TEST(ChannelsLast, NoTranspositionStaysBetweenLayers) {
  Net first{.layout = Layout::NCHW}, last{.layout = Layout::NHWC};
  load(last, state_dict(first));
  eval(first), eval(last);
  auto expected = jit([&](const Tensor& x) { return first(permute(x, {0, 3, 1, 2})); });
  auto got = jit([&](const Tensor& x) { return last(x); });
  const Tensor x = normal({2, 16, 16, 3});
  test::expect_close(got(x), expected(x).to_host<double>(), 1e-5);
  // The plan has as many steps, copies among them, as with one permutation in front.
  EXPECT_EQ(test::occurrences(got.print_plan(), "\n"), test::occurrences(expected.print_plan(), "\n"))
      << got.print_plan() << expected.print_plan();
  EXPECT_EQ(test::occurrences(got.print_plan(), "copy"), test::occurrences(expected.print_plan(), "copy")) << got.print_plan();
}

TEST(ChannelsLast, OtherOrdersAreNamed) {
  const nn::Conv2d conv{3, 8, 3, {.layout = Layout::NHWC}};
  const std::string message = message_of([&] { conv(zeros({2, 3, 16, 16})); });
  EXPECT_NE(message.find("expected 3 channels in axis 3"), std::string::npos) << message;
  EXPECT_NE(message.find("without .layout = Layout::NHWC"), std::string::npos) << message;
}

}  // namespace
}  // namespace tegula
