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

TEST(OnnxSaveMoreLayers, MaximaWithTheirPlaces) {
  const auto one = [](const std::string& name, const std::function<PooledPlaces(const Tensor&)>& pool, const Tensor& x) {
    const auto f = [&](const std::vector<Tensor>& in) {
      const PooledPlaces pooled = pool(in[0]);
      return std::vector<Tensor>{pooled.values, pooled.indices};
    };
    check_round_trip(name, f, {}, {x});
    const onnx::File file = onnx::to_file(name + ".onnx", {}, f, std::vector<Tensor>{x});
    EXPECT_EQ(std::ranges::count(file.graph.nodes, "MaxPool", &onnx::Node::type), 1) << name;
    EXPECT_EQ(std::ranges::count(file.graph.nodes, "Mod", &onnx::Node::type), 1) << name;
  };
  one("max_pool1d_with_indices", [](const Tensor& x) { return max_pool1d_with_indices(x, 3, {.stride = 2, .padding = 1}); }, lines());
  one(
      "max_pool2d_with_indices",
      [](const Tensor& x) { return max_pool2d_with_indices(x, 3, {.stride = 2, .padding = 1, .dilation = {1, 2}}); }, images());
  one("max_pool3d_with_indices", [](const Tensor& x) { return max_pool3d_with_indices(x, 2, {.ceil_mode = true}); }, volumes());
  one(
      "places of channels that come last", [](const Tensor& x) { return max_pool2d_with_indices(x, 2, {.layout = Layout::NHWC}); },
      normal({2, 6, 5, 3}));
  check_round_trip("places in large pads",
                   [](const std::vector<Tensor>& in) {
                     const PooledPlaces pooled = max_pool2d_with_indices(in[0], 2, {.stride = 2, .padding = {3, 2}});
                     return std::vector<Tensor>{pooled.values, pooled.indices};
                   },
                   {}, {images()}, {.gradients = false});
  // Without a reader the places are not asked for.
  const auto values = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{max_pool2d_with_indices(in[0], 2).values}; };
  const onnx::File file = onnx::to_file("values.onnx", {}, values, std::vector<Tensor>{images()});
  ASSERT_EQ(file.graph.nodes.size(), 1u);
  EXPECT_EQ(file.graph.nodes[0].outputs.size(), 1u);
  // Sizes may be open: the plane is a product of them.
  const auto places = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{max_pool2d_with_indices(in[0], 3, {.stride = 1, .padding = 1}).indices};
  };
  check_round_trip(
      "places in images of any size", places, {}, {images()},
      {.gradients = false,
       .open = {{.input = 0, .axis = 0, .name = "N"}, {.input = 0, .axis = 2, .name = "H"}, {.input = 0, .axis = 3, .name = "W"}}});
}

TEST(OnnxSaveMoreLayers, WindowsAndColumnsOfLinesAndVolumes) {
  check("Unfold of lines", nn::Unfold{4, {.stride = 2, .axes = 1}}, lines());
  check("Unfold of volumes", nn::Unfold{{2, 3, 1}, {.padding = {1, 0, 1}}}, volumes());
  check("Fold to volumes", nn::Fold{{4, 5, 6}, {2, 2, 2}, {.stride = {1, 2, 1}}}, normal({2, 16, 30}));
  check("max pooling with large pads", nn::MaxPool2d{2, {.padding = 3}}, images());
  check("average pooling with large pads", nn::AvgPool2d{2, {.padding = 3, .count_include_pad = false}}, images());
  check("average pooling without pads", nn::AvgPool2d{2, {.stride = 1, .padding = 1, .count_include_pad = false}}, images());
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
