// ONNX files at the command line.

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tests/app/cli.h"
#include "tests/onnx/writer.h"

namespace tegula {
namespace {

using testing::attribute;
using testing::GraphText;
using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;
using testing::tensor_proto;
using testing::value_proto;

/// Sums of images of 2 x 2 and their negatives: two classes.
GraphText two_classes() {
  return {.nodes = {{"Flatten", {"x"}, {"f"}}, {"MatMul", {"f", "w"}, {"y"}, {}, "scores"}},
          .inputs = {value_proto("x", {1, 1, 28, 28})},
          .outputs = {value_proto("y", {1, 2})},
          .initializers = {tensor_proto("w", {784, 2}, std::vector<float>(2 * 784, 0.5f))}};
}

std::string file_in(const TemporaryFolder& folder, const GraphText& graph) {
  const std::string path = folder / "net.onnx";
  io::write_atomically(path, testing::bytes_of(testing::model_proto(graph)));
  return path;
}

TEST(OnnxCommands, InfoListsOperatorsAndWhatCannotBeBuilt) {
  const TemporaryFolder folder;
  GraphText graph = two_classes();
  const Ran known = tegula_cli({"info", file_in(folder, graph)});
  EXPECT_HAS(known.out, "an ONNX file, ");
  EXPECT_HAS(known.out, "2 nodes, 1 tensor of 1.57 k numbers, operator set 17");
  EXPECT_HAS(known.out, "input   x  f32  (1, 1, 28, 28)");
  EXPECT_HAS(known.out, "all of it can be built");
  EXPECT_HAS(tegula_cli({"info", "--all", file_in(folder, graph)}).out, "scores        MatMul   f, w -> y");
  graph.nodes.push_back({"Bessel", {"y"}, {"z"}, {}, "last"});
  EXPECT_HAS(tegula_cli({"info", file_in(folder, graph)}).out, "what cannot be built:\n  last  the operator Bessel");
}

TEST(OnnxCommands, SummaryAndGraphShowNodes) {
  const TemporaryFolder folder;
  const std::string path = file_in(folder, two_classes());
  const Ran summary = tegula_cli({"summary", path});
  EXPECT_EQ(summary.status, 0) << summary.err;
  EXPECT_HAS(summary.out, "MatMul");
  EXPECT_HAS(summary.out, "w (784, 2)");
  const Ran graph = tegula_cli({"graph", path});
  EXPECT_EQ(graph.status, 0) << graph.err;
  EXPECT_HAS(graph.out, "net.onnx, node scores");
}

TEST(OnnxCommands, ExportWritesModelsAndGraphFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "mlp.onnx", saved = folder / "net.graph", of_graph = folder / "graph.onnx";
  const Ran listed = tegula_cli({"export", "mnist-mlp", "--onnx", path, "--opset", "17"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_HAS(listed.out, "mnist-mlp, ");
  EXPECT_HAS(listed.out, "operator set 17");
  const Ran info = tegula_cli({"info", path});
  EXPECT_HAS(info.out, "input   x0  f32  (batch, 1, 28, 28)");
  EXPECT_HAS(info.out, "all of it can be built");
  save_graph(saved, [](const Tensor& x) { return relu(x) * 2.0; }, ones({3, 2}));
  EXPECT_EQ(tegula_cli({"export", saved, "--onnx", of_graph}).status, 0);
  EXPECT_HAS(tegula_cli({"info", of_graph}).out, "input   x0  f32  (3, 2)");
  EXPECT_HAS(tegula_cli({"export", "mnist-mlp", "--onnx", path, "--opset", "9"}).err, "onnx::save: got operator set 9, expected 17 to 24");
}

TEST(OnnxCommands, EvalFindsTheDigitsOfAPublishedModel) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no ../shared/data";
  const std::string model = data + "/models/mnist-cntk/mnist-8.onnx";
  const Ran ran = tegula_cli({"eval", model, "--data", data + "/mnist", "--scale", "255"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_HAS(ran.out, "10000 images: accuracy 98.91 %");
  const Ran seen =
      tegula_cli({"predict", model, data + "/mnist/t10k-images-idx3-ubyte.gz", "--scale", "255", "--count", "2", "--no-pictures"});
  EXPECT_HAS(seen.out, "[0]: 7 (100.0 %)");
  EXPECT_HAS(seen.out, "[1]: 2 (100.0 %)");
}

/// The net of PyTorch's example of MNIST, with its mean and deviation.
struct LeNet {
  nn::Conv2d conv1{1, 20, 5}, conv2{20, 50, 5};
  nn::Linear fc1{4 * 4 * 50, 500}, fc2{500, 10};
  Tensor operator()(Tensor x) {
    x = max_pool2d(relu(conv1((x - 0.1307) / 0.3081)), 2);
    return fc2(relu(fc1(flatten(max_pool2d(relu(conv2(x)), 2), 1))));
  }
};

TEST(OnnxCommands, GraphFilesAreTakenLikeOnnxFiles) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no ../shared/data";
  const TemporaryFolder folder;
  const std::string one = folder / "one.graph", several = folder / "several.graph", digits = data + "/mnist/t10k-images-idx3-ubyte.gz";
  LeNet net;
  load(net, data + "/models/mnist-pytorch/lenet_mnist_cnn.pt");
  eval(net);
  save_graph(one, net, zeros({1, 1, 28, 28}));
  save_graph(several, net, zeros({7, 1, 28, 28}));
  const Ran ran = tegula_cli({"eval", one, "--data", data + "/mnist"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_HAS(ran.out, "graph on 10000 images: accuracy 98.94 %");
  EXPECT_HAS(tegula_cli({"predict", one, digits, "--count", "2", "--no-pictures"}).out, "[0]: 7 (100.0 %)");
  EXPECT_HAS(tegula_cli({"summary", one}).out, "(1, 20, 24, 24)");
  EXPECT_HAS(tegula_cli({"graph", one}).out, "f32(1, 1, 28, 28)");
  EXPECT_HAS(tegula_cli({"predict", several, digits, "--count", "2"}).err, "for a net that takes 7, expected a net of one image");
}

TEST(OnnxCommands, EvalSaysWhichModelsItTakes) {
  const TemporaryFolder folder;
  GraphText graph = two_classes();
  graph.inputs = {value_proto("x", {1, 4})};
  const Ran ran = tegula_cli({"eval", file_in(folder, graph), "--data", folder / ""});
  EXPECT_NE(ran.status, 0);
  EXPECT_HAS(ran.err, "an input of 2 axes, expected one input of images, (N, C, H, W) of f32");
}

}  // namespace
}  // namespace tegula
