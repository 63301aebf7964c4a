// Layers whose calls take or give more than a tensor, pooling over other axes, tables, positions, and channels that come last, as ONNX models.

#include "tests/onnx/round_trip.h"

namespace tegula::testing {
namespace {

using namespace test;

template <class Net, class... X>
void check(const std::string& name, Net net, const X&... x) {
  check_module(name, net, RoundTrip(), x...);
}

/// f of a layer's parameters over a list of tensors.
template <class Net>
void check_calls(const std::string& name, Net& net, const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                 const std::vector<Tensor>& x) {
  eval(net);
  check_round_trip(name, f, nn::state(net), x);
}

Tensor images(std::int64_t channels = 4) { return normal({2, channels, 9, 8}); }
Tensor volumes() { return normal({2, 2, 4, 6, 5}); }
Tensor lines() { return normal({2, 3, 10}); }

TEST(OnnxSaveMoreLayers, PoolingsOfLinesAndVolumes) {
  check("AvgPool1d", nn::AvgPool1d{3, {.stride = 2, .padding = 1}}, lines());
  check("AvgPool3d", nn::AvgPool3d{2}, volumes());
  check("AdaptiveAvgPool1d", nn::AdaptiveAvgPool1d{4}, lines());
  check("AdaptiveAvgPool3d", nn::AdaptiveAvgPool3d{{2, 3, 1}}, volumes());
  check("AdaptiveMaxPool1d", nn::AdaptiveMaxPool1d{4}, lines());
  check("AdaptiveMaxPool3d", nn::AdaptiveMaxPool3d{{2, 3, 1}}, volumes());
}

TEST(OnnxSaveMoreLayers, NormsOfLinesAndVolumes) {
  check("InstanceNorm1d", nn::InstanceNorm1d{3, {.affine = true}}, lines());
  check("InstanceNorm3d", nn::InstanceNorm3d{2}, volumes());
}

TEST(OnnxSaveMoreLayers, WhatDoesNothingInEvaluation) {
  check("Identity", nn::Sequential{nn::Linear{5, 3}, nn::Identity{}}, normal({4, 5}));
  check("dropout of channels", nn::Sequential{nn::Conv2d{4, 3, 1}, nn::Dropout2d{0.5}, nn::StochasticDepth{0.5}}, images());
  check("dropout of channels of lines", nn::Sequential{nn::Conv1d{3, 3, 1}, nn::Dropout1d{0.5}}, lines());
  check("dropout of channels of volumes", nn::Sequential{nn::Conv3d{2, 3, 1}, nn::Dropout3d{0.5}}, volumes());
}

TEST(OnnxSaveMoreLayers, LayersThatMoveElements) {
  check("Unflatten", nn::Unflatten{1, {2, 2}}, images());
  check("Fold", nn::Fold{{9, 8}, 3, {.padding = 1}}, normal({2, 18, 72}));
  check("Maxout", nn::Maxout{3}, normal({4, 6}));
}

TEST(OnnxSaveMoreLayers, TransformerLayers) {
  const nn::TransformerOptions options{.dim_feedforward = 16, .dropout = 0, .batch_first = true, .norm_first = true};
  check("TransformerEncoderLayer", nn::TransformerEncoderLayer{8, 2, options}, normal({2, 5, 8}));
  check("TransformerDecoderLayer", nn::TransformerDecoderLayer{8, 2, options}, normal({2, 5, 8}), normal({2, 4, 8}));
}

TEST(OnnxSaveMoreLayers, Positions) {
  check("SinusoidalPositions", nn::SinusoidalPositions{12, 8}, normal({2, 5, 8}));
  check("LearnedPositions", nn::LearnedPositions{12, 8}, normal({2, 5, 8}));
  check("Rotary", nn::Rotary{6}, normal({2, 5, 3, 6}), arange(5));
  check("Rotary interleaved", nn::Rotary{6, {.interleaved = true}}, normal({2, 5, 3, 6}), arange(5));
}

TEST(OnnxSaveMoreLayers, AttentionOfSequences) {
  const std::vector<Tensor> x{normal({2, 3, 4}), normal({2, 5, 6})};
  nn::AdditiveAttention additive{4, 6, 7};
  check_calls(
      "AdditiveAttention", additive,
      [&](const auto& in) {
        const nn::AttendedSequence out = additive(in[0], in[1]);
        return std::vector<Tensor>{out.context, out.weights};
      },
      x);
  nn::GeneralAttention general{4, 6};
  check_calls(
      "GeneralAttention", general,
      [&](const auto& in) {
        const nn::AttendedSequence out = general(in[0], in[1]);
        return std::vector<Tensor>{out.context, out.weights};
      },
      x);
}

TEST(OnnxSaveMoreLayers, ACellGivesItsState) {
  nn::LSTMCell cell{3, 4};
  check_calls("LSTMCell", cell,
              [&](const auto& in) {
                const auto out = cell(in[0], {in[1], in[2]});
                return std::vector<Tensor>{out.h, out.c};
              },
              {normal({2, 3}), normal({2, 4}), normal({2, 4})});
}

TEST(OnnxSaveMoreLayers, AdaptiveSoftmax) {
  nn::AdaptiveLogSoftmaxWithLoss layer{16, 20, {4, 10}};
  check_calls("AdaptiveLogSoftmaxWithLoss", layer, [&](const auto& in) { return std::vector<Tensor>{layer.log_prob(in[0])}; },
              {normal({5, 16})});
}

TEST(OnnxSaveMoreLayers, Tables) {
  const Tensor x = normal({6, 3}) * 4.0 + 2.0;
  nn::StandardScaler scale{3};
  scale.fit(x);
  check("StandardScaler", scale, x);
  nn::Imputer fill{3};
  fill.fit(x);
  check_module("Imputer", fill, {.gradients = false}, where(x > 4, NAN, x));
  nn::OneHot hot{{3, 4}};
  check_module("OneHot", hot, {.gradients = false}, tensor({0.F, 3.F, 2.F, -1.F}, {2, 2}));
}

TEST(OnnxSaveMoreLayers, ChannelsThatComeLast) {
  const Tensor x = normal({2, 9, 8, 4});
  constexpr AxisOrder kLast = Layout::NHWC;
  check("Conv2d of channels that come last", nn::Conv2d{4, 6, 3, {.padding = 1, .layout = kLast}}, x);
  check("MaxPool2d of channels that come last", nn::MaxPool2d{2, {.layout = kLast}}, x);
  check("net of channels that come last",
        nn::Sequential{nn::Conv2d{4, 6, 3, {.stride = 2, .layout = kLast}}, nn::BatchNorm2d{6, {.layout = kLast}},
                       nn::Flatten{.layout = kLast}, nn::Linear{6 * 4 * 3, 5}},
        x);
}

}  // namespace
}  // namespace tegula::testing
