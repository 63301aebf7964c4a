#include "tegula/nn/sequential.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/elementwise/arithmetic.h"

namespace tegula::nn {

void Layer::throw_not_copyable() {
  throw Error({.op = "Layer",
               .got = "a copy of a layer that cannot be copied",
               .expected = "a move, or a layer whose fields can be copied",
               .advice = "std::unique_ptr fields prevent copies; std::optional ones do not",
               .where = origin_at({}).where});
}

Layer::Held& Layer::held() const {
  if (!held_) {
    throw Error(
        {.op = "Layer", .got = "a layer that was moved away", .expected = "one that holds something", .where = origin_at({}).where});
  }
  return *held_;
}

Sequential::Sequential(std::initializer_list<Layer> layers) {
  layers_.reserve(layers.size());
  for (const Layer& layer : layers) {
    if (!layer.held_) layer.held();  // refuses
    layers_.push_back(Layer(std::move(layer.held_)));
  }
}

// No frame: layers open their own, and an error should name the lines of the user's own layers.
Tensor Sequential::operator()(Arg x) {
  Tensor y = x.tensor("Sequential");
  for (Layer& layer : layers_) y = layer(Arg(y, x.loc));
  return y;
}

void Sequential::visit(Visitor& visitor, const Path& path) {
  std::int64_t i = 0;
  for (Layer& layer : layers_) layer.visit(visitor, Path{&path, {}, i++});
}

Tensor Residual::operator()(Arg x) {
  const Tensor input = x.tensor("Residual");
  const Tensor y = body(Arg(input, x.loc));
  const Tensor around = shortcut(Arg(input, x.loc));
  In frame("Residual", x.loc);
  return y + around;
}

void Residual::visit(Visitor& visitor, const Path& path) {
  body.visit(visitor, Path{&path, "body"});
  shortcut.visit(visitor, Path{&path, "shortcut"});
}

}  // namespace tegula::nn
