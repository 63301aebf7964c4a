// The files that onnx::save writes: names, constants, axes of any size, external data; and that files are read as they were written.

#include <fstream>

#include "tests/onnx/round_trip.h"
#include "tests/onnx/writer.h"

namespace tegula::testing {
namespace {

using namespace test;

struct Net {
  nn::Linear hidden{4, 3}, head{3, 2};
  Tensor operator()(const Tensor& x) { return softmax(head(relu(hidden(x))), 1); }
};

std::vector<std::string> types_of(const onnx::File& file) {
  std::vector<std::string> out;
  for (const onnx::Node& node : file.graph.nodes) out.push_back(node.type);
  return out;
}

TEST(OnnxSave, WritesOperatorsAndTheNamesOfParameters) {
  Net net;
  const onnx::File file = onnx::to_file("net.onnx", {.inputs = {"image"}, .outputs = {"probabilities"}}, net, ones({5, 4}));
  EXPECT_EQ(types_of(file), (std::vector<std::string>{"Gemm", "Relu", "Gemm", "Softmax"}));
  std::vector<std::string> names;
  for (const auto& one : file.graph.initializers) names.push_back(one.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"head.bias", "head.weight", "hidden.bias", "hidden.weight"}));
  EXPECT_EQ(file.graph.inputs.at(0).name, "image");
  EXPECT_EQ(file.graph.inputs.at(0).sizes, (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(file.graph.outputs.at(0).name, "probabilities");
  EXPECT_EQ(file.graph.outputs.at(0).sizes, (std::vector<std::int64_t>{5, 2}));
  EXPECT_EQ(file.opsets.at(""), 21);
}

TEST(OnnxSave, IsReadByLoad) {
  Net net;
  const Tensor x = normal({5, 4});
  onnx::save("net.onnx", net, x);
  onnx::Model model = onnx::load("net.onnx");
  EXPECT_EQ(model(x).to_host(), net(x).to_host());
  EXPECT_EQ(parameters(model).size(), 4u);
}

TEST(OnnxSave, LeavesAxesOpen) {
  Net net;
  onnx::save("open.onnx", {.open = {{.input = 0, .axis = 0, .name = "batch"}}}, net, ones({1, 4}));
  const onnx::Model model = onnx::load("open.onnx");
  EXPECT_EQ(model.inputs().at(0).sizes, (std::vector<std::int64_t>{-1, 4}));
  EXPECT_EQ(model.inputs().at(0).symbols.at(0), "batch");
  EXPECT_EQ(model.outputs().at(0).symbols.at(0), "batch");
  for (const std::int64_t batch : {1, 2, 7}) {
    const Tensor x = normal({batch, 4});
    EXPECT_EQ(model(x).to_host(), net(x).to_host());
  }
}

TEST(OnnxSave, SizesOfOpenAxesAreComputed) {
  const auto f = [](const Tensor& x) {
    const std::int64_t n = x.size(0), t = x.size(1);
    const Tensor rows = reshape(x, {n * t, 3}), place = cast(arange(t), f32);
    const Tensor y = rows * static_cast<double>(n) + mean(rows, {0}, Keep::Yes);
    return concat({reshape(y, {n, t, 3}) + reshape(place, {t, 1}), ones({n, 1, 3})}, 1);
  };
  const onnx::Model model(read_again(onnx::to_file("sizes.onnx", {.open = {{0, 0, "N"}, {0, 1, "T"}}}, f, ones({2, 4, 3}))));
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{1, 1, 3}, Shape{5, 3, 3}}) {
    const Tensor x = normal(shape);
    EXPECT_LE(difference(model(x), f(x)), 1e-6) << to_string(shape);
  }
}

TEST(OnnxSave, PutsManyParametersBesideTheModel) {
  Net net;
  const Tensor x = normal({5, 4});
  onnx::save("beside-it.onnx", {.external_above = 20}, net, x);
  EXPECT_LT(std::filesystem::file_size("beside-it.onnx"), 2000u);
  EXPECT_GT(std::filesystem::file_size("beside-it.onnx.data"), 4096u);
  EXPECT_EQ(onnx::load("beside-it.onnx")(x).to_host(), net(x).to_host());
}

TEST(OnnxSave, ResultsMayBeArgumentsVariablesAndTheSameValueTwice) {
  Variable v(tensor({1.f, 2.f}));
  const auto f = [&](const Tensor& x) {
    const Tensor y = x + v;
    return std::vector<Tensor>{x, v, y, y, full({2}, 3)};
  };
  const onnx::Model model(read_again(onnx::to_file("results.onnx", {}, f, ones({2}))));
  const auto got = model(std::vector<Tensor>{tensor({4.f, 5.f})});
  ASSERT_EQ(got.size(), 5u);
  EXPECT_EQ(got[0].to_host(), (std::vector<float>{4, 5}));
  EXPECT_EQ(got[1].to_host(), (std::vector<float>{1, 2}));
  EXPECT_EQ(got[2].to_host(), (std::vector<float>{5, 7}));
  EXPECT_EQ(got[3].to_host(), got[2].to_host());
  EXPECT_EQ(got[4].to_host(), (std::vector<float>{3, 3}));
}

TEST(OnnxSave, CapturedTensorsAreConstantsAndNotTrained) {
  const Tensor w = normal({3});
  onnx::Model model(read_again(onnx::to_file("constant.onnx", {}, [&](const Tensor& x) { return x * w; }, ones({3}))));
  EXPECT_TRUE(parameters(model).empty());
  EXPECT_EQ(model(ones({3})).to_host(), w.to_host());
}

TEST(OnnxSave, HoldsEveryDtype) {
  for (const DType dtype : kAllDTypes) {
    SCOPED_TRACE(std::string(name(dtype)));
    const Tensor x = cast(arange(6), dtype), more = cast(arange(6) + 1, dtype);
    const auto f = [&](const Tensor& t) { return transpose(reshape(concat({t, more}, 0), {3, 4}), 0, 1); };
    const onnx::Model model(read_again(onnx::to_file("dtype.onnx", {}, f, x)));
    EXPECT_EQ(model(x).dtype(), dtype);
    EXPECT_EQ(cast(model(x), f64).to_host<double>(), cast(f(x), f64).to_host<double>());
  }
}

TEST(OnnxSave, TakesGraphFilesAndLoadedModels) {
  Net net;
  const Tensor x = normal({5, 4});
  save_graph("net.graph", net, x);
  const GraphFunction graph = load_graph("net.graph");
  const onnx::File of_graph = onnx::to_file("graph.onnx", {}, graph, x);
  EXPECT_EQ(of_graph.graph.initializers.size(), 4u);
  EXPECT_EQ(onnx::Model(read_again(of_graph))(x).to_host(), net(x).to_host());
  onnx::save("once.onnx", net, x);
  onnx::Model once = onnx::load("once.onnx");
  const onnx::File twice = onnx::to_file("twice.onnx", {}, once, x);
  EXPECT_EQ(onnx::Model(read_again(twice))(x).to_host(), net(x).to_host());
  EXPECT_TRUE(std::ranges::any_of(twice.graph.initializers, [](const auto& one) { return one.name == "head.weight"; }));
}

TEST(OnnxSave, WritesGradientsAsWell) {
  nn::Conv2d conv{2, 3, 3, {.stride = 2, .padding = 1}};
  const Tensor x = normal({2, 2, 8, 8});
  const auto f = [&](const Tensor& in) {
    const Tensor loss = objective({layer_norm(conv(in), {3, 4, 4})});
    return grad(loss, {in, conv.weight, conv.bias});
  };
  const std::vector<Tensor> want = f(x), got = onnx::Model(read_again(onnx::to_file("gradients.onnx", {}, f, x)))(std::vector<Tensor>{x});
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(difference(got[i], want[i]), 1e-5) << i;
}

TEST(OnnxSave, FilesAreReadAsTheyWereWritten) {
  const GraphText inner{.nodes = {{"Add", {"a", "b"}, {"c"}}}, .inputs = {}, .outputs = {value_proto("c", {2})}};
  const std::string model = model_proto(
      {.nodes = {{"If",
                  {"which"},
                  {"y"},
                  {graph_attribute("then_branch", graph_proto(inner)), graph_attribute("else_branch", graph_proto(inner))}},
                 {"Conv",
                  {"y", "w"},
                  {"z"},
                  {attribute("pads", std::vector<std::int64_t>{0, -1}), attribute("alpha", 0.5f), attribute("group", std::int64_t{2})},
                  "named"}},
       .inputs = {value_proto("a", {-1, 2}), value_proto("b", {2}, 7)},
       .outputs = {value_proto("z", {})},
       .initializers = {tensor_proto("w", {2, 1}, {1, 2}), tensor_proto("n", {3, -4})}});
  const onnx::File file = parsed(model);
  const std::string once = onnx::bytes_of(file), twice = onnx::bytes_of(parsed(once));
  EXPECT_EQ(once, twice);
  const onnx::File again = parsed(once);
  EXPECT_EQ(again.graph.nodes.at(1).name, "named");
  EXPECT_EQ(again.graph.nodes.at(1).find("pads")->integers, (std::vector<std::int64_t>{0, -1}));
  EXPECT_EQ(again.graph.nodes.at(1).find("alpha")->number, 0.5f);
  EXPECT_EQ(again.graph.nodes.at(0).find("then_branch")->graph->nodes.at(0).type, "Add");
  EXPECT_EQ(again.graph.inputs.at(0).symbols, (std::vector<std::string>{"any", ""}));
  EXPECT_EQ(again.graph.initializers.at(1).array.values<std::int64_t>()[1], -4);
}

}  // namespace
}  // namespace tegula::testing
