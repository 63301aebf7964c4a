// Every layer as an ONNX model, read again: the same values and gradients, in operator sets of different age.

#include "tests/onnx/round_trip.h"

namespace tegula::testing {
namespace {

using namespace test;

template <class Net, class... X>
void check(const std::string& name, Net net, const X&... x) {
  check_module(name, net, RoundTrip(), x...);
}
/// Without parameters.
void check_function(const std::string& name, const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  check_round_trip(name, [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; }, {}, {x});
}

Tensor images(std::int64_t channels = 4) { return normal({2, channels, 9, 8}); }

TEST(OnnxSaveLayers, LinearLayersAndTables) {
  check("Linear", nn::Linear{5, 3}, normal({4, 5}));
  check("Linear of sequences", nn::Linear{5, 3}, normal({2, 4, 5}));
  check("Linear without bias", nn::Linear{5, 3, {.bias = false}}, normal({4, 5}));
  check("Bilinear", nn::Bilinear{3, 4, 2}, normal({5, 3}), normal({5, 4}));
  check("Embedding", nn::Embedding{7, 3}, tensor({0, 3, 6, 1}, {2, 2}));
  nn::Embedding padded{7, 3, {.padding_idx = 0}};
  check_module("Embedding with padding", padded, {.gradients = false}, tensor({0, 3, 6, 1}, {2, 2}));  // a file says nothing of gradients
  check("Flatten", nn::Flatten{}, images());
  check("PReLU", nn::PReLU{4}, images());
  check("PReLU of one", nn::PReLU{}, images());
}

TEST(OnnxSaveLayers, Convolutions) {
  check("Conv1d", nn::Conv1d{4, 6, 3, {.stride = 2, .padding = 1}}, normal({2, 4, 9}));
  check("Conv2d", nn::Conv2d{4, 6, 3, {.padding = Same}}, images());
  check("Conv2d in groups", nn::Conv2d{4, 6, {3, 2}, {.padding = {1, 0}, .dilation = 2, .groups = 2, .bias = false}}, images());
  check("Conv2d by channel", nn::Conv2d{4, 8, 3, {.stride = 2, .padding = 1, .groups = 4}}, images());
  check("Conv3d", nn::Conv3d{2, 3, 2, {.padding = 1}}, normal({1, 2, 4, 5, 3}));
  check("ConvTranspose1d", nn::ConvTranspose1d{4, 3, 4, {.stride = 3}}, normal({2, 4, 5}));
  check("ConvTranspose2d", nn::ConvTranspose2d{4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2}}, images());
  check("ConvTranspose3d", nn::ConvTranspose3d{2, 3, 2}, normal({1, 2, 3, 4, 2}));
}

TEST(OnnxSaveLayers, Poolings) {
  check("MaxPool1d", nn::MaxPool1d{3}, normal({2, 3, 10}));
  check("MaxPool2d", nn::MaxPool2d{3, {.stride = 2, .padding = 1}}, images());
  check("MaxPool2d with dilation", nn::MaxPool2d{2, {.stride = 1, .dilation = 2, .ceil_mode = true}}, images());
  check("MaxPool3d", nn::MaxPool3d{2}, normal({1, 2, 4, 4, 5}));
  check("AvgPool2d", nn::AvgPool2d{3, {.stride = 2, .padding = 1}}, images());
  check("AvgPool2d of what is there", nn::AvgPool2d{3, {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}},
        images());
  check("AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d{{3, 2}}, images());
  check("AdaptiveMaxPool2d", nn::AdaptiveMaxPool2d{{3, 2}}, images());
}

template <class Net>
void check_with_statistics(const std::string& name, Net net, const Tensor& x) {
  net.weight = normal({x.size(1)});
  net.bias = normal({x.size(1)});
  net.running_mean = normal({x.size(1)});
  net.running_var = uniform({x.size(1)}) + 0.5;
  check_module(name, net, RoundTrip(), x);
}

TEST(OnnxSaveLayers, Norms) {
  check_with_statistics("BatchNorm1d", nn::BatchNorm1d{4}, normal({3, 4}));
  check_with_statistics("BatchNorm1d of sequences", nn::BatchNorm1d{4}, normal({3, 4, 5}));
  check_with_statistics("BatchNorm2d", nn::BatchNorm2d{4}, images());
  check_with_statistics("BatchNorm3d", nn::BatchNorm3d{2}, normal({2, 2, 3, 4, 3}));
  check("BatchNorm2d without weight", nn::BatchNorm2d{4, {.affine = false}}, images());
  const auto with_weights = [](auto net) {
    net.weight = normal(net.weight.shape());
    if constexpr (requires { net.bias; }) net.bias = normal(net.bias.shape());
    return net;
  };
  check("LayerNorm", with_weights(nn::LayerNorm{{8}}), images());
  check("LayerNorm of two axes", with_weights(nn::LayerNorm{{9, 8}}), images());
  check("LayerNorm without weight", nn::LayerNorm{{8}, {.elementwise_affine = false}}, images());
  check("RMSNorm", with_weights(nn::RMSNorm{{8}}), images());
  check("GroupNorm", with_weights(nn::GroupNorm{2, 4}), images());
  check("GroupNorm without weight", nn::GroupNorm{2, 4, {.affine = false}}, images());
  check("InstanceNorm2d", nn::InstanceNorm2d{4}, images());
  check("InstanceNorm2d with weight", with_weights(nn::InstanceNorm2d{4, {.affine = true}}), images());
  check("LocalResponseNorm", nn::LocalResponseNorm{3}, images());
}

TEST(OnnxSaveLayers, RecurrentLayers) {
  const Tensor x = normal({5, 2, 3});
  const auto of = [&](const std::string& name, auto net) {
    eval(net);
    check_round_trip(name, [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{net(in[0]).output}; }, nn::state(net), {x});
  };
  of("RNN", nn::RNN{3, 4});
  of("LSTM", nn::LSTM{3, 4});
  of("LSTM of two layers in both directions", nn::LSTM{3, 4, {.layers = 2, .bidirectional = true}});
  of("GRU", nn::GRU{3, 4, {.bidirectional = true}});
  check("GRUCell", nn::GRUCell{3, 4}, normal({2, 3}), normal({2, 4}));
  check("RNNCell", nn::RNNCell{3, 4}, normal({2, 3}), normal({2, 4}));
}

TEST(OnnxSaveLayers, AttentionAndTransformers) {
  const nn::TransformerOptions options{
      .dim_feedforward = 16, .dropout = 0, .activation = nn::FeedForwardActivation::Gelu, .batch_first = true};
  check("TransformerEncoder", nn::TransformerEncoder{2, 8, 2, options}, normal({2, 5, 8}));
  check("TransformerDecoder", nn::TransformerDecoder{1, 8, 2, options}, normal({2, 5, 8}), normal({2, 4, 8}));
  nn::MultiheadAttention attention{8, 2, {.batch_first = true}};
  check_round_trip("MultiheadAttention",
                   [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{attention(in[0], in[1], in[1]).output}; },
                   nn::state(attention), {normal({2, 5, 8}), normal({2, 4, 8})});
}

TEST(OnnxSaveLayers, AttentionOfEveryForm) {
  const Tensor q = normal({2, 4, 5, 3}), k = normal({2, 2, 6, 3}), v = normal({2, 2, 6, 3});
  const auto of = [&](const std::string& name, const AttentionOptions& options, const std::vector<Tensor>& more = {}) {
    std::vector<Tensor> x{q, k, v};
    x.insert(x.end(), more.begin(), more.end());
    check_round_trip(
        name,
        [&](const std::vector<Tensor>& in) {
          AttentionOptions with = options;
          if (in.size() > 3) (in[3].dtype() == boolean ? with.mask : with.bias) = in[3];
          return std::vector<Tensor>{scaled_dot_product_attention(in[0], in[1], in[2], with)};
        },
        {}, x);
  };
  of("attention", {});
  of("attention causal", {.causal = true});
  of("attention with a mask", {}, {normal({5, 6}) > -0.5});
  of("attention with a bias", {}, {normal({2, 1, 5, 6})});
}

TEST(OnnxSaveLayers, Images) {
  check("Upsample", nn::Upsample{.scale_factor = 2}, images());
  check("Upsample bilinear", nn::Upsample{.size = {13, 7}, .mode = Interpolation::Linear}, images());
  check("Upsample bicubic", nn::Upsample{.scale_factor = 1.5, .mode = Interpolation::Cubic, .align_corners = true}, images());
  check("PixelShuffle", nn::PixelShuffle{2}, images());
  check("PixelUnshuffle", nn::PixelUnshuffle{2}, normal({2, 3, 6, 8}));
  check("Unfold", nn::Unfold{3, {.padding = 1}}, images());
}

TEST(OnnxSaveLayers, Activations) {
  const Tensor x = normal({3, 7}) * 3;
  check("ReLU", nn::ReLU{}, x);
  check("ReLU6", nn::ReLU6{}, x);
  check("SELU", nn::SELU{}, x);
  check("SiLU", nn::SiLU{}, x);
  check("Mish", nn::Mish{}, x);
  check("Tanh", nn::Tanh{}, x);
  check("Sigmoid", nn::Sigmoid{}, x);
  check("LogSigmoid", nn::LogSigmoid{}, x);
  check("Softsign", nn::Softsign{}, x);
  check("Tanhshrink", nn::Tanhshrink{}, x);
  check("Hardsigmoid", nn::Hardsigmoid{}, x);
  check("Hardswish", nn::Hardswish{}, x);
  check("LeakyReLU", nn::LeakyReLU{}, x);
  check("ELU", nn::ELU{}, x);
  check("CELU", nn::CELU{}, x);
  check("GELU", nn::GELU{}, x);
  check("GELU tanh", nn::GELU{Approximate::Tanh}, x);
  check("Softplus", nn::Softplus{}, x);
  check("Hardtanh", nn::Hardtanh{}, x);
  check("Hardshrink", nn::Hardshrink{}, x);
  check("Softshrink", nn::Softshrink{}, x);
  check("Threshold", nn::Threshold{0.1, 20}, x);
  check("Softmax", nn::Softmax{}, x);
  check("LogSoftmax", nn::LogSoftmax{}, x);
  check_function("Maxout", [](Tensor t) { return maxout(t, 7, 1); }, x);
}

TEST(OnnxSaveLayers, AroundOtherLayers) {
  check("WeightNorm", nn::WeightNorm{nn::Linear{5, 3}}, normal({4, 5}));
  check("SpectralNorm", nn::SpectralNorm{nn::Linear{5, 3}}, normal({4, 5}));
  check("Dropout", nn::Sequential{nn::Linear{5, 3}, nn::Dropout{0.5}, nn::AlphaDropout{0.1}}, normal({4, 5}));
}

}  // namespace
}  // namespace tegula::testing
