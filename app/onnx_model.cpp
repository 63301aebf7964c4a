#include "app/onnx_model.h"

#include <algorithm>
#include <memory>

#include "tegula/core/error.h"
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
  onnx::Model model;
  double scale;
  bool takes_one;  // image at a time

  Tensor operator()(const Tensor& images) {
    const Tensor x = scale == 1 ? images : images * scale;
    if (!takes_one || x.size(0) == 1) return model(x);
    const auto each = [&](const std::vector<Tensor>&, const std::vector<Tensor>& one) {
      const Tensor y = model(unsqueeze(one[0], 0));
      return Scanned{{}, {reshape(y, {y.numel()})}};
    };
    return scan(each, {}, {x}).ys[0];
  }
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

models::Model onnx_image_model(const std::string& path, double scale) {
  onnx::Model model = onnx::load(path);
  const auto refuse = [&](const std::string& got) {
    throw Error({.op = "onnx", .got = path + ": " + got, .expected = "one input of images, (N, C, H, W) of f32"});
  };
  if (model.inputs().size() != 1) refuse(std::to_string(model.inputs().size()) + " inputs");
  const onnx::ValueType& input = model.inputs()[0];
  if (input.sizes.size() != 4 || input.element != onnx::Type::Float) refuse("an input of " + std::to_string(input.sizes.size()) + " axes");
  Shape sample;
  for (std::size_t i = 1; i < 4; ++i) {
    if (input.sizes[i] < 1) refuse("images of any size");
    sample.push_back(input.sizes[i]);
  }
  const bool takes_one = input.sizes[0] == 1;
  return {"onnx", {}, sample, nn::Layer(ImageNet{std::move(model), scale, takes_one})};
}

}  // namespace tegula::app
