// Whole nets as ONNX models, with random weights, read again: the same values, gradients and names; with axes of any size.

#include "tegula/models.h"
#include "tegula/models/text/bert.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/llama.h"
#include "tegula/models/text/lstm_language_model.h"
#include "tegula/models/text/seq2seq.h"
#include "tegula/models/text/text_classifier.h"
#include "tegula/models/text/transformer.h"
#include "tests/onnx/round_trip.h"

namespace tegula::testing {
namespace {

using namespace test;

Tensor tokens(const Shape& shape, std::int64_t vocabulary) { return randint(0, vocabulary, shape); }

/// Statistics as after a training: those of a new net hide what they are used for.
template <class Net>
void with_statistics(Net& net) {
  for (const Parameter& one : nn::state(net)) {
    if (one.name.ends_with("running_mean")) one.assign(normal(one.whole_shape()) * 0.1);
    if (one.name.ends_with("running_var")) one.assign(uniform(one.whole_shape()) + 0.5);
  }
}

/// Patches of 4 x 4 pixels, two blocks in two heads (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021).
struct Vit {
  nn::Conv2d patches{3, 16, 4, {.stride = 4}};
  Variable positions{normal({16, 16}) * 0.02};
  nn::TransformerEncoder blocks{
      2,
      16,
      2,
      {.dim_feedforward = 32, .dropout = 0, .activation = nn::FeedForwardActivation::Gelu, .batch_first = true, .norm_first = true}};
  nn::Linear head{16, 10};
  Tensor operator()(Tensor x) {
    x = permute(reshape(patches(x), {x.shape()[0], 16, 16}), {0, 2, 1});
    return head(mean(blocks(x + positions), {1}));
  }
};

nn::Sequential block(std::int64_t in, std::int64_t out) {
  return {nn::Conv2d{in, out, 3, {.padding = 1, .bias = false}}, nn::BatchNorm2d{out}, relu};
}

/// One level down and up again, joined with the values of the way down (Ronneberger et al., 2015).
struct UNet {
  nn::Sequential in = block(3, 8), down = block(8, 16);
  nn::ConvTranspose2d up{16, 8, 2, {.stride = 2}};
  nn::Sequential join = block(16, 8);
  nn::Conv2d out{8, 4, 1};
  Tensor operator()(Tensor x) {
    const Tensor a = in(x);
    return out(join(concat({up(down(max_pool2d(a, 2))), a}, 1)));
  }
};

/// An inverted residual (Sandler et al., "MobileNetV2", 2018).
struct InvertedResidual {
  nn::Conv2d widen{8, 48, 1, {.bias = false}}, depthwise{48, 48, 3, {.padding = 1, .groups = 48, .bias = false}},
      narrow{48, 8, 1, {.bias = false}};
  nn::BatchNorm2d norm1{48}, norm2{48}, norm3{8};
  Tensor operator()(Tensor x) { return x + norm3(narrow(relu6(norm2(depthwise(relu6(norm1(widen(x)))))))); }
};
struct MobileNetV2 {
  nn::Conv2d first{3, 8, 3, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d norm{8};
  InvertedResidual a, b;
  nn::Linear head{8, 10};
  Tensor operator()(Tensor x) { return head(mean(b(a(relu6(norm(first(x))))), {2, 3})); }
};

const std::vector<onnx::OpenAxis> kAnyBatch{{.input = 0, .axis = 0, .name = "N"}};

template <class Net>
void check_images(const std::string& name, Net net, std::int64_t size, double tolerance = 1e-6) {
  with_statistics(net);
  check_module(name, net, {.tolerance = tolerance, .gradient_tolerance = 1e-4, .open = kAnyBatch}, normal({2, 3, size, size}));
  const onnx::Model model(read_again(onnx::to_file(name + ".onnx", {.open = kAnyBatch}, net, normal({2, 3, size, size}))));
  for (const std::int64_t batch : {1, 3}) {
    const Tensor x = normal({batch, 3, size, size});
    EXPECT_LE(difference(model(x), net(x)), tolerance) << batch << " images";
  }
}

TEST(OnnxSaveModels, VisionTransformer) { check_images("ViT", Vit{}, 16); }
TEST(OnnxSaveModels, UNetOfTwoLevels) { check_images("U-Net", UNet{}, 12); }
TEST(OnnxSaveModels, MobileNet) { check_images("MobileNetV2", MobileNetV2{}, 16); }
TEST(OnnxSaveModels, ResNet50) {
  models::ResNet50 net{.classes = 10};
  with_statistics(net);
  check_module("ResNet-50", net, {.tolerance = 1e-5, .gradients = false, .open = kAnyBatch}, normal({2, 3, 32, 32}));
  const onnx::File file = onnx::to_file("resnet.onnx", {.open = kAnyBatch}, net, normal({2, 3, 32, 32}));
  const auto count = [&](std::string_view type) { return std::ranges::count(file.graph.nodes, type, &onnx::Node::type); };
  EXPECT_EQ(count("BatchNormalization"), 53);
  EXPECT_EQ(count("Conv"), 53);
  EXPECT_EQ(count("Gemm"), 1);
  EXPECT_EQ(count("Mul"), 0);
}

/// Token sequences (2, 6), of any number and length.
template <class Net>
void check_tokens(const std::string& name, Net net, std::int64_t vocabulary,
                  std::vector<onnx::OpenAxis> open = {{0, 0, "N"}, {0, 1, "T"}}) {
  eval(net);
  const auto call = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{net(in[0])}; };
  const Tensor x = tokens({2, 6}, vocabulary);
  check_round_trip(name, call, nn::state(net), {x}, {.tolerance = 2e-6, .gradient_tolerance = 1e-4, .open = open});
  if (open.empty()) return;
  const onnx::Model model(read_again(onnx::to_file(name + ".onnx", {.open = open}, call, std::vector<Tensor>{x})));
  for (const Shape& shape : {Shape{1, 6}, Shape{3, 4}, Shape{2, 9}}) {
    const Tensor other = tokens(shape, vocabulary);
    if (open.size() == 1 && shape[1] != 6) continue;
    EXPECT_LE(difference(model(other), net(other)), 2e-6) << to_string(shape);
  }
}

TEST(OnnxSaveModels, Bert) {
  check_tokens("BERT", models::Bert{{.vocabulary = 50, .width = 16, .layers = 2, .heads = 2, .hidden = 32, .context = 32, .dropout = 0}},
               50);
}
TEST(OnnxSaveModels, Gpt2) {
  check_tokens("GPT-2", models::Gpt2{{.vocabulary = 50, .width = 16, .layers = 2, .heads = 2, .context = 32}}, 50);
}
TEST(OnnxSaveModels, Llama) {
  check_tokens("Llama", models::Llama{{.vocabulary = 50, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 32, .context = 32}},
               50);
}
TEST(OnnxSaveModels, LstmLanguageModel) {
  check_tokens("LSTM language model", models::LstmLanguageModel{{.vocabulary = 20, .embedding = 6, .hidden = 8}}, 20, {});
}

TEST(OnnxSaveModels, TextsWithLengths) {
  models::TransformerClassifier transformer{{.vocabulary = 30, .width = 8, .heads = 2, .hidden = 16, .layers = 1, .context = 12}};
  models::LstmClassifier lstm{{.vocabulary = 30, .embedding = 5, .hidden = 6}};
  const Tensor x = tokens({3, 7}, 30), lengths = tensor({7, 2, 5});
  check_module("classifier by a transformer", transformer, {.gradient_tolerance = 1e-4}, x, lengths);
  check_module("classifier by an LSTM", lstm, {.gradient_tolerance = 1e-4}, x, lengths);
}

TEST(OnnxSaveModels, TransformerOfTwoTexts) {
  models::Transformer net{{.source_vocabulary = 30,
                           .target_vocabulary = 20,
                           .width = 8,
                           .heads = 2,
                           .hidden = 16,
                           .encoder_layers = 1,
                           .decoder_layers = 1,
                           .context = 16}};
  check_module("Transformer", net, {.gradient_tolerance = 1e-4}, tokens({2, 5}, 30), tokens({2, 4}, 20));
}

TEST(OnnxSaveModels, EveryListedModel) {
  for (const std::string name : {"mnist-mlp", "mnist-cnn", "lenet5"}) {
    models::Model model = models::make(name);
    with_statistics(model.net);
    Shape shape = model.input;
    shape.insert(0, 2);
    check_module(name, model.net, {.gradient_tolerance = 1e-4}, normal(shape));
  }
}

}  // namespace
}  // namespace tegula::testing
