// Models out of ONNX files: called, compiled, trained further, saved; what they say where they cannot be.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tegula/data/idx.h"
#include "tegula/onnx.h"
#include "tests/io/files.h"
#include "tests/onnx/writer.h"
#include "tests/support/values.h"

namespace tegula::testing {
namespace {

/// relu(x (N, 2) · wᵀ + b) · 2, w (3, 2).
GraphText small_net() {
  return {.nodes = {{"Gemm", {"x", "w", "b"}, {"h"}, {attribute("transB", std::int64_t{1})}, "dense"},
                    {"Relu", {"h"}, {"r"}, {}, "act"},
                    {"Mul", {"r", "two"}, {"y"}}},
          .inputs = {value_proto("x", {-1, 2})},
          .outputs = {value_proto("y", {-1, 3})},
          .initializers = {tensor_proto("w", {3, 2}, {1, 2, 3, 4, -5, -6}), tensor_proto("b", {3}, {0.5f, 0, 0}),
                           tensor_proto("two", {}, {2})}};
}

std::string written(const std::string& name, const std::string& contents) {
  std::ofstream(name, std::ios::binary) << contents;
  return name;
}

TEST(OnnxModel, IsCalledWithEverySizeOfADynamicAxis) {
  const onnx::Model model(parsed(model_proto(small_net())));
  EXPECT_EQ(model(tensor({1.f, 1.f}, {1, 2})).to_host(), (std::vector<float>{7, 14, 0}));
  EXPECT_EQ(model(tensor({1.f, 1.f, 0.f, 1.f}, {2, 2})).to_host(), (std::vector<float>{7, 14, 0, 5, 8, 0}));
}

TEST(OnnxModel, GivesTheSameInAJitedFunction) {
  const onnx::Model model(parsed(model_proto(small_net())));
  auto f = jit([&](Tensor x) { return model(x); });
  for (int call = 0; call < 5; ++call) EXPECT_EQ(f(tensor({1.f, 1.f}, {1, 2})).to_host(), (std::vector<float>{7, 14, 0}));
  EXPECT_EQ(f.executables(), 1);
}

TEST(OnnxModel, HasItsInitializersAsParameters) {
  onnx::Model model(parsed(model_proto(small_net())));
  const Parameters all = parameters(model);
  ASSERT_EQ(all.size(), 2u);  // the number is a constant
  EXPECT_EQ(all[0].name, "w");
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(num_parameters(model), 9);
}

TEST(OnnxModel, TakesDeterminantsAndTransformsOfAnySize) {
  const onnx::Model det_of(
      parsed(model_proto({.nodes = {{"Det", {"x"}, {"y"}}}, .inputs = {value_proto("x", {-1, -1})}, .outputs = {value_proto("y", {})}})));
  const Tensor scales = arange(9.0) + 1.0;  // of the rows of a triangle: their product is 9!
  EXPECT_NEAR(det_of(cast(where(reshape(arange(9), {9, 1}) > arange(9), 0.5, 0.0) + eye(9) * scales, f32)).item(), 362880, 0.1);
  const onnx::Model dft_of(parsed(
      model_proto({.nodes = {{"DFT", {"x"}, {"y"}}}, .inputs = {value_proto("x", {1, -1, 1})}, .outputs = {value_proto("y", {})}}, 20)));
  constexpr std::int64_t kPoints = 10'007;  // a prime
  const Tensor wave = cast(cos(arange(static_cast<double>(kPoints)) * (2 * 3.14159265358979324 * 21 / kPoints)), f32);
  const Tensor y = dft_of(reshape(wave, {1, kPoints, 1}));
  ASSERT_EQ(y.shape(), (Shape{1, kPoints, 2}));
  const std::vector<float> values = y.to_host();
  EXPECT_NEAR(values[2 * 21], kPoints / 2.0, 0.1);
  EXPECT_NEAR(values[2 * 22], 0, 0.1);
}

TEST(OnnxModel, IsTrainedFurtherAndSaved) {
  onnx::Model model(parsed(model_proto(small_net())));
  const Tensor x = tensor({1.f, 1.f}, {1, 2}), y = tensor({1.f, 1.f, 1.f}, {1, 3});
  auto sgd = optim::SGD(parameters(model), {.lr = 0.01});
  const auto loss = [&] { return mse_loss(model(x), y); };
  const float before = loss().item();
  for (int step = 0; step < 10; ++step) sgd.step(grad(loss(), parameters(model)));
  EXPECT_LT(loss().item(), before / 2);
  save(model, "trained.safetensors");
  onnx::Model again(parsed(model_proto(small_net())));
  load(again, "trained.safetensors");
  EXPECT_EQ(again(x).to_host(), model(x).to_host());
}

TEST(OnnxModel, GradientIsThatOfTheSameNetWrittenHere) {
  onnx::Model model(parsed(model_proto(small_net())));
  const Tensor w = tensor({1.f, 2.f, 3.f, 4.f, -5.f, -6.f}, {3, 2}), b = tensor({0.5f, 0.f, 0.f}),
               x = tensor({0.3f, -0.7f, 1.f, 2.f}, {2, 2});
  const auto got = grad(sum(square(model(x))), parameters(model));
  const auto want = grad(sum(square(relu(linear(x, w, b)) * 2.0)), {w, b});
  EXPECT_EQ(got.at(0).to_host(), want.at(0).to_host());
  EXPECT_EQ(got.at(1).to_host(), want.at(1).to_host());
}

/// y = exp(h) * z with h = x * x; the gradient by h is asked for at another h than the graph's own.
TEST(OnnxModel, GivesGradientsThatANodeAsksFor) {
  const auto texts = [](std::string_view name, const std::vector<std::string>& values) {
    Text out;
    out.bytes(1, name);
    for (const std::string& one : values) out.bytes(9, one);
    return out.varint(20, 8).text();
  };
  const auto text = [](std::string_view name, std::string_view value) {
    return Text().bytes(1, name).bytes(4, value).varint(20, 3).text();
  };
  GraphText graph{
      .nodes =
          {{"Mul", {"x", "x"}, {"h"}},
           {"Exp", {"h"}, {"e"}},
           {"Mul", {"e", "z"}, {"y"}},
           {"Gradient", {"x", "z"}, {"dx"}, {texts("xs", {"x"}), texts("zs", {"z"}), text("y", "y")}, "by x", "ai.onnx.preview.training"},
           {"Gradient", {"x", "z"}, {"dh", "dz"}, {texts("xs", {"h", "z"}), text("y", "y")}, "by h", "ai.onnx.preview.training"}},
      .inputs = {value_proto("x", {2}), value_proto("z", {2})},
      .outputs = {value_proto("dx", {2}), value_proto("dh", {2}), value_proto("dz", {2})}};
  const onnx::Model model(parsed(model_proto(graph)));
  const Tensor x = tensor({0.5f, -1.f}), z = tensor({2.f, 3.f});
  const auto f = [&](const std::vector<Tensor>& in) { return model(in); };
  for (const auto& got : {f({x, z}), jit(f)(std::vector<Tensor>{x, z})}) {
    test::expect_near(got[0], exp(x * x) * z * 2.0 * x, 1e-5);
    test::expect_near(got[1], exp(x) * z, 1e-5);
    test::expect_near(got[2], exp(x), 1e-5);
  }
}

struct Own {
  nn::Linear dense{2, 3}, head{3, 2};
};
struct Wider {
  nn::Linear dense{2, 4};
};

TEST(OnnxModel, IsReportedLikeEveryFileOfWeights) {
  using Names = std::vector<std::string>;
  onnx::Model model(parsed(model_proto(small_net())));
  const StateDict state = renamed(state_dict(model), {{"w", "dense.weight"}, {"b", "dense.bias"}});
  Own net;
  LoadReport report = load(net, state, Strict::No);
  EXPECT_EQ(report.missing, (Names{"head.weight", "head.bias"}));
  EXPECT_EQ(report.renamed, (Names{"dense.weight from w", "dense.bias from b"}));
  EXPECT_EQ(net.dense.weight.read().to_host(), (std::vector<float>{1, 2, 3, 4, -5, -6}));
  Wider wider;
  EXPECT_EQ(load_report(wider, state).mismatched, (Names{"dense.weight (3, 2) for (4, 2)", "dense.bias (3,) for (4,)"}));
  EXPECT_ERROR(load(wider, state, Strict::No), "dense.weight (3, 2) for (4, 2)");
  // A file of weights is loaded into the model.
  report = load_report(model, {{"w", zeros({3, 2})}, {"b", zeros({2})}, {"c", zeros({1})}});
  EXPECT_EQ(report.mismatched, Names{"b (2,) for (3,)"});
  EXPECT_EQ(report.unexpected, Names{"c"});
}

TEST(OnnxModel, CopyHasWeightsOfItsOwn) {
  onnx::Model model(parsed(model_proto(small_net())));
  onnx::Model copy = model;
  parameters(copy)[0].assign(zeros({3, 2}));
  EXPECT_EQ(model(tensor({1.f, 1.f}, {1, 2})).to_host()[0], 7);
  EXPECT_EQ(copy(tensor({1.f, 1.f}, {1, 2})).to_host()[0], 1);
}

TEST(OnnxModel, StatisticsOfABatchNormalisationAreBuffers) {
  const GraphText graph{.nodes = {{"BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}}},
                        .inputs = {value_proto("x", {-1, 2, -1})},
                        .outputs = {value_proto("y", {-1, 2, -1})},
                        .initializers = {tensor_proto("s", {2}, {1, 1}), tensor_proto("b", {2}, {0, 0}), tensor_proto("m", {2}, {1, 2}),
                                         tensor_proto("v", {2}, {1, 4})}};
  onnx::Model model(parsed(model_proto(graph)));
  EXPECT_EQ(parameters(model).size(), 2u);
  EXPECT_EQ(state_dict(model).size(), 4u);
}

TEST(OnnxModel, ComputesShapesWhileItIsTraced) {
  // (N, 2, 3) -> Shape -> Gather -> Concat with -1 -> Reshape: (N, 6)
  const GraphText graph{.nodes = {{"Shape", {"x"}, {"s"}},
                                  {"Gather", {"s", "zero"}, {"n"}},
                                  {"Concat", {"n", "rest"}, {"to"}, {attribute("axis", std::int64_t{0})}},
                                  {"Reshape", {"x", "to"}, {"y"}}},
                        .inputs = {value_proto("x", {-1, 2, 3})},
                        .outputs = {value_proto("y", {-1, -1})},
                        .initializers = {tensor_proto("zero", {0}), tensor_proto("rest", {-1})}};
  const onnx::Model model(parsed(model_proto(graph)));
  auto f = jit([&](Tensor x) { return model(x); });
  for (const std::int64_t n : {1, 4, 1, 4, 2}) {
    EXPECT_EQ(f(ones({n, 2, 3})).shape(), (Shape{n, 6}));
    EXPECT_EQ(model(ones({n, 2, 3})).shape(), (Shape{n, 6}));
  }
}

TEST(OnnxModel, CallsFunctionsOfTheFileWithTheirAttributes) {
  Text function;
  function.bytes(1, "Scaled").bytes(4, "a").bytes(5, "b").bytes(6, "slope");
  function.bytes(7, node_proto({"LeakyRelu", {"a"}, {"c"}, {reference("alpha", "slope", 1)}}));
  function.bytes(7, node_proto({"Neg", {"c"}, {"b"}})).bytes(9, opset_proto("", 17)).bytes(10, "own");
  const GraphText graph{.nodes = {{"Scaled", {"x"}, {"y"}, {attribute("slope", 0.5f)}, "", "own"},
                                  {"Scaled", {"y"}, {"z"}, {attribute("slope", 0.25f)}, "", "own"}},
                        .inputs = {value_proto("x", {2})},
                        .outputs = {value_proto("z", {2})}};
  const onnx::Model model(parsed(model_proto(graph, 17, {function.text()})));
  EXPECT_EQ(model(tensor({4.f, -4.f})).to_host(), (std::vector<float>{1, -2}));
}

TEST(OnnxModel, CastsInAFunctionToTheTypeOfTheCall) {
  Text function;
  function.bytes(1, "As").bytes(4, "a").bytes(5, "b").bytes(6, "type").bytes(
      7, node_proto({"Cast", {"a"}, {"b"}, {reference("to", "type", 2)}}));
  function.bytes(9, opset_proto("", 17)).bytes(10, "own");
  const GraphText graph{.nodes = {{"As", {"x"}, {"y"}, {attribute("type", std::int64_t{7})}, "", "own"}},
                        .inputs = {value_proto("x", {2})},
                        .outputs = {value_proto("y", {2}, 7)}};
  const onnx::Model model = onnx::load(written("function.onnx", model_proto(graph, 17, {function.text()})));
  EXPECT_EQ(model(tensor({4.5f, -4.5f})).to_host<std::int64_t>(), (std::vector<std::int64_t>{4, -4}));
}

TEST(OnnxModel, ChoosesABranchWhenTheConditionIsComputed) {
  const auto branch = [](const std::string& type) {
    return graph_proto({.nodes = {{type, {"x"}, {"out"}}}, .inputs = {}, .outputs = {value_proto("out", {2})}});
  };
  const GraphText graph{
      .nodes = {{"ReduceSum", {"x"}, {"s"}, {attribute("keepdims", std::int64_t{0})}},
                {"Greater", {"s", "zero"}, {"c"}},
                {"If", {"c"}, {"y"}, {graph_attribute("then_branch", branch("Neg")), graph_attribute("else_branch", branch("Abs"))}}},
      .inputs = {value_proto("x", {2})},
      .outputs = {value_proto("y", {2})},
      .initializers = {tensor_proto("zero", {}, {0})}};
  const onnx::Model model(parsed(model_proto(graph)));
  auto f = jit([&](Tensor x) { return model(x); });
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(tensor({1.f, 2.f})).to_host(), (std::vector<float>{-1, -2}));
    EXPECT_EQ(f(tensor({1.f, -2.f})).to_host(), (std::vector<float>{1, 2}));
  }
}

TEST(OnnxModel, ReadsTensorsOutOfFilesBesideIt) {
  const std::vector<float> values{1, 2, 3};
  written("weights.bin", "****" + std::string(reinterpret_cast<const char*>(values.data()), 12));
  const auto entry = [](std::string_view key, std::string_view value) { return Text().bytes(1, key).bytes(2, value).text(); };
  const auto model_of = [&](const std::string& location) {
    const std::string weight = Text()
                                   .varint(1, 3)
                                   .varint(2, 1)
                                   .bytes(8, "w")
                                   .bytes(13, entry("location", location))
                                   .bytes(13, entry("offset", "4"))
                                   .bytes(13, entry("length", "12"))
                                   .varint(14, 1)
                                   .text();
    return model_proto({.nodes = {{"Add", {"x", "w"}, {"y"}}},
                        .inputs = {value_proto("x", {3})},
                        .outputs = {value_proto("y", {3})},
                        .initializers = {weight}});
  };
  EXPECT_EQ(onnx::load(written("beside.onnx", model_of("weights.bin")))(zeros({3})).to_host(), values);
  EXPECT_ERROR(onnx::load(written("outside.onnx", model_of("../weights.bin"))), "which must lie in the model's folder");
}

TEST(OnnxModel, IsCutWhereAValueHasAName) {
  GraphText graph = small_net();
  graph.nodes.push_back({"Bessel", {"y"}, {"z"}, {}, "head"});  // which cannot be built, and is not needed
  graph.initializers.push_back(tensor_proto("unused", {2}, {1, 2}));
  graph.outputs = {value_proto("z", {-1, 3})};
  const std::string path = written("cut.onnx", model_proto(graph));
  onnx::Model features = onnx::load(path, {.results = {"h"}});
  EXPECT_EQ(features(tensor({1.f, 1.f}, {1, 2})).to_host(), (std::vector<float>{3.5f, 7, -11}));
  EXPECT_EQ(parameters(features).size(), 2u);
  // With another head, trained as one network.
  nn::Sequential net{features, nn::ReLU(), nn::Linear(3, 1)};
  EXPECT_EQ(parameters(net).size(), 4u);
  EXPECT_EQ(net(ones({5, 2})).shape(), (Shape{5, 1}));
  EXPECT_ERROR(onnx::load(path, {.results = {"g"}}), "cut.onnx: no value g");
}

TEST(OnnxCheck, ListsEverythingThatCannotBeBuilt) {
  GraphText graph = small_net();
  graph.nodes.push_back({"Bessel", {"y"}, {"z"}, {}, "first"});
  graph.nodes.push_back({"Relu", {"z"}, {"u"}, {attribute("slope", 1.f)}, "second"});
  graph.nodes.push_back({"Cast", {"u"}, {"t"}, {attribute("to", std::int64_t{8})}, "third"});
  const std::string path = written("unknown.onnx", model_proto(graph));
  const auto findings = onnx::check(path);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].node + ": " + findings[0].problem, "first: the operator Bessel");
  EXPECT_EQ(findings[1].node + ": " + findings[1].problem, "second: the attribute slope of Relu");
  EXPECT_EQ(findings[2].node + ": " + findings[2].problem, "third: the type string");
  EXPECT_ERROR(onnx::load(path), "node second: the attribute slope of Relu");
  EXPECT_TRUE(onnx::check(written("known.onnx", model_proto(small_net()))).empty());
}

TEST(OnnxErrors, NameTheNode) {
  GraphText graph = small_net();
  graph.initializers[0] = tensor_proto("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  const onnx::Model model(parsed(model_proto(graph), "net.onnx"));
  EXPECT_ERROR(model(ones({1, 2})), "at net.onnx, node dense");
}

TEST(OnnxErrors, NameTheNodeOfAFailureAtRunTime) {
  const GraphText graph{.nodes = {{"Gather", {"x", "i"}, {"y"}, {}, "lookup"}},
                        .inputs = {value_proto("x", {3}), value_proto("i", {1}, 7)},
                        .outputs = {value_proto("y", {1})}};
  const onnx::Model model(parsed(model_proto(graph), "net.onnx"));
  EXPECT_ERROR(model({ones({3}), tensor({std::int64_t{5}})})[0].item(), "net.onnx, node lookup");
}

TEST(OnnxErrors, NameTheInput) {
  const onnx::Model model(parsed(model_proto(small_net()), "net.onnx"));
  EXPECT_ERROR(model(ones({1, 3})), "net.onnx: input x of shape (1, 3), expected (any, 2)");
  EXPECT_ERROR(model(ones({1, 2}, f64)), "net.onnx: input x of f64, expected f32");
  EXPECT_ERROR(model(std::vector<Tensor>{}), "0 inputs, expected 1");
}

TEST(OnnxErrors, OfFilesThatAreNoModels) {
  EXPECT_ERROR(parsed("\x08\x08\x12\x07pytorch"), "no graph");
  EXPECT_ERROR(parsed(model_proto(small_net()).substr(0, 100)), "before byte 100 of 100");
  EXPECT_ERROR(onnx::load("none.onnx"), "none.onnx");
  GraphText graph = small_net();
  graph.initializers[0] = tensor_proto("w", {3, 1'000'000'000'000}, {1});
  EXPECT_ERROR(parsed(model_proto(graph)), "in 4 bytes");
}

// ---- published models

std::string models_folder() {
  const std::string data = shared_data();
  return data.empty() || !std::filesystem::exists(data + "/models") ? "" : data + "/models";
}

/// The number of digits of MNIST's test set, as bytes, that the model finds.
int correct_digits(const std::string& path) {
  const onnx::Model model = onnx::load(path);
  const std::string folder = shared_data() + "/mnist/";
  const HostArray images = data::read_idx(folder + "t10k-images-idx3-ubyte.gz"),
                  labels = data::read_idx(folder + "t10k-labels-idx1-ubyte.gz");
  auto classify = jit([&](Tensor x) { return argmax(model(reshape(cast(x, f32), {1, 1, 28, 28})), 1); });
  const Tensor all = from_array(images);
  int correct = 0;
  for (std::int64_t i = 0; i < images.shape[0]; ++i)
    correct += classify(select(all, 0, i)).item<std::int64_t>() == labels.values<std::uint8_t>()[static_cast<std::size_t>(i)];
  return correct;
}

TEST(OnnxPublishedModels, FindTheDigitsThatTheyFoundWhereTheyCameFrom) {
  if (models_folder().empty()) GTEST_SKIP() << "skipped: no ../shared/data/models";
  for (const char* name : {"mnist-8.onnx", "mnist-7.onnx", "opt-mnist.onnx"}) {
    const std::string path = models_folder() + "/mnist-cntk/" + name;
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(correct_digits(path), 9891) << name;
  }
}

/// The samples of a WAV file of 16 bits, from -1 to 1.
std::vector<float> samples(const std::string& path) {
  const std::string bytes = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  std::vector<float> out;
  for (std::size_t i = bytes.find("data") + 8; i + 1 < bytes.size(); i += 2) {
    std::int16_t value = 0;
    std::memcpy(&value, bytes.data() + i, 2);
    out.push_back(static_cast<float>(value) / 32768.f);
  }
  return out;
}

TEST(OnnxPublishedModels, HearSpeechWhereOthersHearIt) {
  if (models_folder().empty()) GTEST_SKIP() << "skipped: no ../shared/data/models";
  const onnx::Model model = onnx::load(models_folder() + "/silero-vad/silero_vad_16k_op15.onnx");
  const std::vector<float> sound = samples(models_folder() + "/silero-vad/test.wav");
  const Tensor rate = tegula::Tensor(std::int64_t{16000});
  // The rate chooses a branch: a constant of the trace.
  auto hear = jit([&](Tensor x, Tensor state) { return model({x, state, rate}); });
  Tensor state = zeros({2, 1, 128});
  std::vector<float> chunk(576, 0.f);
  int chunks = 0, speech = 0;
  double sum = 0;
  for (std::size_t at = 0; at + 512 <= sound.size(); at += 512, ++chunks) {
    std::copy_n(sound.begin() + static_cast<std::ptrdiff_t>(at), 512, chunk.begin() + 64);
    const auto heard = hear(tensor(chunk, {1, 576}), state);
    const float probability = heard[0].item();
    state = heard[1];
    sum += probability, speech += probability > 0.5f;
    std::copy_n(chunk.end() - 64, 64, chunk.begin());
  }
  EXPECT_EQ(chunks, 1875);
  EXPECT_EQ(speech, 1452);  // of onnxruntime 1.32 over the same chunks
  EXPECT_NEAR(sum / chunks, 0.7783314, 1e-5);
}

TEST(OnnxPublishedModels, MakeAPictureThreeTimesAsLarge) {
  if (models_folder().empty()) GTEST_SKIP() << "skipped: no ../shared/data/models";
  const onnx::Model model = onnx::load(models_folder() + "/super-resolution/super_resolution.onnx");  // IR version 1
  const Tensor x = reshape(sin(cast(arange(224 * 224), f32) * 0.001) * 0.5 + 0.5, {1, 1, 224, 224});
  const Tensor y = model(x);
  EXPECT_EQ(y.shape(), (Shape{1, 1, 672, 672}));
  const Tensor smaller = avg_pool2d(y, 3);  // what it was made of
  EXPECT_LT(mean(abs(slice(smaller, {{}, {}, {4, -4}, {4, -4}}) - slice(x, {{}, {}, {4, -4}, {4, -4}}))).item(), 0.02);
}

}  // namespace
}  // namespace tegula::testing
