#include "app/onnx_model.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "tegula/core/error.h"
#include "tegula/formats/graph_file.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/onnx/model.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::app {
namespace {

struct ImageNet {
  std::function<Tensor(const Tensor&)> net;
  double scale;
  std::int64_t batch;  // images that a call takes; below 1: any number
  void visit(nn::Visitor&, const nn::Path&) {}  // nobody trains it

  Tensor operator()(const Tensor& images) {
    const Tensor x = scale == 1 ? images : images * scale;
    if (batch < 1 || x.size(0) == batch) return net(x);
    if (batch > 1) {
      throw Error({.op = "tegula",
                   .got = std::to_string(x.size(0)) + " images for a net that takes " + std::to_string(batch),
                   .expected = "a net of one image, or of any number",
                   .advice = "save_graph(path, net, zeros({1, …}))"});
    }
    const auto each = [&](const std::vector<Tensor>&, const std::vector<Tensor>& one) {
      const Tensor y = net(unsqueeze(one[0], 0));
      return Scanned{{}, {reshape(y, {y.numel()})}};
    };
    return scan(each, {}, {x}).ys[0];
  }
};

/// The description of a net in an ONNX file or a graph file.
struct ImageNetOfFile {
  std::function<Tensor(const Tensor&)> net;
  std::size_t inputs = 0;
  std::vector<std::int64_t> sizes;  // of the first; below 1: any
  bool is_f32 = false;
};

ImageNetOfFile net_in(const std::string& path) {
  if (is_graph_file(path)) {
    const GraphFunction f = load_graph(path);
    ImageNetOfFile out{.net = [f](const Tensor& x) { return f(std::vector<Tensor>{x}).at(0); }, .inputs = f.inputs().size(), .sizes = {}};
    if (out.inputs > 0) out.sizes.assign(f.inputs()[0].shape.begin(), f.inputs()[0].shape.end()), out.is_f32 = f.inputs()[0].dtype == f32;
    return out;
  }
  const onnx::Model model = onnx::load(path);
  ImageNetOfFile out{.net = [model](const Tensor& x) { return model(x); }, .inputs = model.inputs().size(), .sizes = {}};
  if (out.inputs > 0) out.sizes = model.inputs()[0].sizes, out.is_f32 = model.inputs()[0].element == onnx::Type::Float;
  return out;
}

/// The Variables of a graph file have no fields: nothing to visit.
struct NoFields {
  void visit(nn::Visitor&, const nn::Path&) {}
};

}  // namespace

bool is_onnx(const std::string& path) {
  if (!io::is_there(path) || io::is_folder(path)) return false;
  const io::InputFile file(path, "onnx");
  io::Bytes begin(std::min<std::uint64_t>(file.size(), io::kKindBytes));
  file.read_at(0, begin);
  return io::kind_of(begin) == io::FileKind::Onnx;
}

FileModel onnx_file_model(const std::string& path, std::int64_t batch, std::int64_t length) {
  const auto model = std::make_shared<onnx::Model>(onnx::load(path));
  std::vector<Tensor> inputs;
  for (const onnx::ValueType& one : model->inputs()) {
    Shape shape;
    for (const std::int64_t size : one.sizes) shape.push_back(size > 0 ? size : shape.empty() ? batch : length);
    inputs.push_back(zeros(shape, onnx::dtype_of(one.element)));
  }
  const auto all = [model](const std::vector<Tensor>& x) { return (*model)(x); };
  return {"onnx", nn::state(*model), inputs, [all](const std::vector<Tensor>& x) { return all(x).at(0); },
          [model, all, inputs] { return nn::detail::summary(*model, all, inputs, Line()); }};
}

FileModel graph_file_model(const std::string& path) {
  const GraphFunction f = load_graph(path);
  std::vector<Tensor> inputs;
  for (const GraphValue& one : f.inputs()) inputs.push_back(zeros(one.shape, one.dtype));
  const auto all = [f](const std::vector<Tensor>& x) { return f(x); };
  return {"graph", f.state(), inputs, [all](const std::vector<Tensor>& x) { return all(x).at(0); },
          [all, inputs] { return nn::detail::summary(NoFields(), all, inputs, Line()); }};
}

bool has_net(const std::string& path) { return is_onnx(path) || is_graph_file(path); }

models::Model net_of_images(const std::string& path, double scale) {
  const ImageNetOfFile file = net_in(path);
  const auto refuse = [&](const std::string& got) {
    throw Error({.op = is_onnx(path) ? "onnx" : "graph", .got = path + ": " + got, .expected = "one input of images, (N, C, H, W) of f32"});
  };
  if (file.inputs != 1) refuse(std::to_string(file.inputs) + " inputs");
  if (file.sizes.size() != 4 || !file.is_f32) refuse("an input of " + std::to_string(file.sizes.size()) + " axes");
  Shape sample;
  for (std::size_t i = 1; i < 4; ++i) {
    if (file.sizes[i] < 1) refuse("images of any size");
    sample.push_back(file.sizes[i]);
  }
  return {is_onnx(path) ? "onnx" : "graph", {}, sample, nn::Layer(ImageNet{file.net, scale, file.sizes[0]})};
}

}  // namespace tegula::app
