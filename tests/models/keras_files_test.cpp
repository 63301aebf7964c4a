// Networks of Keras 2 and 3, from whichever file, give the numbers that Keras gives. tests/golden/keras was made with Keras 3.15 and tf_keras 2.21: weights 0.5 sin(0.7 i + k) for tensor k.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/io/gzip.h"
#include "tegula/io/keras/keras.h"
#include "tegula/io/keras/layers.h"
#include "tegula/io/npy.h"
#include "tegula/io/weights.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

std::string golden(const std::string& name) { return source_folder() + "/tests/golden/keras/" + name; }

/// A golden file under its own name in a folder of the test's.
class Files : public ::testing::Test {
 protected:
  std::string file(const std::string& name) {
    io::write_atomically(folder_ / name, io::gunzip(io::read_file(golden(name + ".gz")), name));
    return folder_ / name;
  }
  testing::TemporaryFolder folder_;
};
using KerasFiles = Files;

struct Cnn {
  nn::Conv2d conv1{2, 3, 3, {.stride = 2, .padding = Same}};
  nn::BatchNorm2d bn{3, {.eps = 1e-3}};
  nn::Conv2d conv2{3, 4, 2, {.padding = Same}};
  nn::Linear fc1{2 * 2 * 4, 5}, fc2{5, 3};
  Tensor operator()(Tensor x) {
    x = max_pool2d(conv2(bn(relu(conv1(x)))), 2, {.padding = Same});
    return fc2(relu(fc1(flatten(x, 1))));
  }
};

/// cos(0.3 i), whose channels lie last as in Keras.
Tensor waves(const Shape& channels_last) {
  std::vector<float> values(static_cast<std::size_t>(numel(channels_last)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::cos(0.3F * static_cast<float>(i));
  return permute(tensor(values, channels_last), {0, 3, 1, 2});
}

Tensor expected(const std::string& file, int output) {
  for (const auto& [name, array] : io::read_npz(golden(file)))
    if (name == "y" + std::to_string(output)) return from_array(array);
  throw Error({.op = "test", .got = file, .expected = "output " + std::to_string(output)});
}

void expect_right(const StateDict& state, const std::string& what) {
  Cnn net;
  const LoadReport report = load(net, state);
  EXPECT_EQ(report.transposed.size(), 4u) << what;
  EXPECT_GE(report.renamed.size(), 12u) << what;
  eval(net);
  expect_near(net(waves({2, 8, 6, 2})), expected("cnn.npz", 0), 1e-6, what);
}

TEST_F(KerasFiles, ANetIsTheSameFromEveryFormatWithItsConfiguration) {
  for (const char* name : {"cnn2.h5", "cnn3.h5", "cnn2.keras", "cnn3.keras"}) expect_right(load_state(file(name)), name);
}

TEST_F(KerasFiles, WeightsAloneNeedTheChannelsInFrontOfAFlatten) {
  const std::string weights = file("cnn3.weights.h5");
  EXPECT_ERROR(load_state(weights), "fc1 with 16 inputs, and nothing that says of how many channels");
  EXPECT_ERROR(load_keras(weights, {.flattened = {{"fc1", 5}}}), "(16, 5) for a map of 5 channels");
  EXPECT_ERROR(load_keras(weights, {.flattened = {{"fc", 4}}}), "KerasOptions::flattened names fc");
  expect_right(load_keras(weights, {.flattened = {{"fc1", 4}}}), "cnn3.weights.h5");
  for (const char* folder : {"cnn2_saved", "cnn3_saved"}) {
    EXPECT_ERROR(load_state(golden(folder)), "fc1 with 16 inputs");
    expect_right(load_keras(golden(folder), {.flattened = {{"fc1", 4}}}), folder);
  }
  // Keras 2 names the layers by their classes alone.
  const StateDict numbered = load_keras(file("cnn2.weights.h5"), {.flattened = {{"dense", 4}}});
  expect_right(renamed(numbered, {{"conv2d.*", "conv1.*"},
                                  {"conv2d_1.*", "conv2.*"},
                                  {"batch_normalization.*", "bn.*"},
                                  {"dense.*", "fc1.*"},
                                  {"dense_1.*", "fc2.*"}}),
               "cnn2.weights.h5");
}

/// Without the permutation of the Dense behind the Flatten all shapes fit, and the answer is wrong.
TEST_F(KerasFiles, ADenseBehindAFlattenIsPermuted) {
  Cnn net;
  load(net, load_keras(file("cnn3.weights.h5"), {.flattened = {{"fc1", 0}}}));
  eval(net);
  const auto got = net(waves({2, 8, 6, 2})).to_host(), right = expected("cnn.npz", 0).to_host();
  float worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - right[i]));
  EXPECT_GT(worst, 1e-2F);
}

struct Separable {
  nn::Conv2d depthwise{4, 8, 2, {.groups = 4, .bias = false}}, pointwise{8, 3, 1};
  Tensor operator()(Tensor x) const { return pointwise(depthwise(x)); }
};

struct Many {
  nn::Conv2d depth{2, 4, 2, {.groups = 2}};
  Separable sep;
  nn::ConvTranspose2d up{3, 4, 3, {.stride = 2}};
  nn::Conv2d inner_conv{4, 2, 3};
  nn::LayerNorm inner_norm{2, {.eps = 1e-3}};
  nn::BatchNorm1d flat_bn{18, {.eps = 1e-3}};
  nn::Linear behind{18, 3}, to_map{3, 12};
  nn::Conv2d last_conv{3, 2, 2};
  nn::Embedding table{7, 4};
  nn::LSTM lstm{4, 3, {.batch_first = true}}, bi{4, 2, {.batch_first = true, .bidirectional = true}};
  nn::GRU gru{4, 3, {.batch_first = true}};
  nn::RNN rnn{4, 2, {.batch_first = true}};
  nn::MultiheadAttention mha{4, 2, {.batch_first = true}};
  nn::Conv1d c1{4, 3, 2};
  nn::PReLU prelu{3};

  /// The outputs of the Keras model, whose channels lie last.
  std::vector<Tensor> operator()(const Tensor& images, const Tensor& tokens) {
    const auto last = [](const Tensor& x) { return x.rank() == 4 ? permute(x, {0, 2, 3, 1}) : permute(x, {0, 2, 1}); };
    const Tensor maps = inner_norm(last(inner_conv(up(sep(depth(images))))));
    const Tensor row = behind(flat_bn(flatten(permute(maps, {0, 3, 1, 2}), 1)));
    const Tensor e = table(tokens);
    return {maps,
            row,
            lstm(e).output,
            gru(e).output,
            bi(e).output,
            rnn(e).output,
            mha(e, e, e).output,
            last(prelu(c1(permute(e, {0, 2, 1})))),
            last(last_conv(reshape(to_map(row), {-1, 3, 2, 2})))};
  }
};

TEST_F(KerasFiles, EveryLayerHasItsTransposition) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < 10; ++i) tokens.push_back(i * 3 % 7);
  for (const char* name : {"many2.h5", "many3.keras"}) {
    Many net;
    const StateDict state = load_state(file(name));
    const LoadReport report = load(net, without(state, {"old_gru.*"}));
    EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
    eval(net);
    const auto outputs = net(waves({2, 4, 4, 2}), tensor(tokens, {2, 5}));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      expect_near(outputs[i], expected("many.npz", static_cast<int>(i)), 2e-6, name + (": output " + std::to_string(i)));
    // A GRU whose reset gate comes before the product keeps Keras' names, so that no GRU here takes it for its own.
    EXPECT_EQ(load_report(net, state).unexpected, (std::vector<std::string>{"old_gru.bias", "old_gru.kernel", "old_gru.recurrent_kernel"}));
  }
}

TEST_F(KerasFiles, LayersAreListedWithWhatHasToBeSaid) {
  const auto layers = io::read_keras_layers(file("cnn3.keras"));
  ASSERT_EQ(layers.size(), 8u);
  EXPECT_EQ(layers[0].name, "conv1");
  EXPECT_EQ(layers[0].settings, "filters 3, kernel_size 3 x 3, padding same, strides 2 x 2, relu");
  EXPECT_EQ(layers[1].settings, "epsilon 0.001, momentum 0.99");
  EXPECT_TRUE(io::read_keras_layers(file("cnn3.weights.h5")).empty());
}

TEST_F(KerasFiles, ABatchNormWithoutGammaHasOnes) {
  io::keras::LayerWeights layer{.name = "bn", .kind = "BatchNormalization", .parts = {}};
  const HostArray two = HostArray::from(std::span<const float>(std::vector<float>{1, 2}), {2});
  for (const char* name : {"beta", "moving_mean", "moving_variance"}) layer.parts[""][name] = {two, name};
  const auto tensors = io::keras::tensors_of(layer, "x.h5");
  const auto found = std::ranges::find(tensors, "bn.weight", &io::KerasTensor::name);
  ASSERT_NE(found, tensors.end());
  EXPECT_EQ(found->array.values<float>()[1], 1.F);
}

TEST_F(KerasFiles, AClassCanBeSaid) {
  // The weights of a square transposed convolution do not tell that it is one.
  const StateDict state = load_keras(file("cnn3.weights.h5"), {.flattened = {{"fc1", 4}}, .kinds = {{"conv2", "Conv2DTranspose"}}});
  const auto found = std::ranges::find(state, "conv2.weight", &NamedTensor::name);
  ASSERT_NE(found, state.end());
  EXPECT_EQ(found->change, "(H, W, out, in) to (in, out, H, W)");
}

TEST_F(KerasFiles, DamagedFilesAreRefused) {
  for (const char* name : {"cnn2.h5", "cnn3.keras"}) {
    const io::Bytes whole = io::read_file(file(name));
    for (std::size_t length = 0; length < whole.size() / 2; length += 501)
      EXPECT_THROW(io::parse_keras(std::span(whole).first(length), name), Error) << length;
  }
  EXPECT_ERROR(load_keras("nowhere.keras"), "nowhere.keras");
}

}  // namespace
}  // namespace tegula
