// Training steps of networks of the usual sizes, where kernels do nothing (tests/support/paper.h): every kernel that they need can be made.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tegula/models/airbench.h"
#include "tegula/models/registry.h"
#include "tegula/models/resnet.h"
#include "tegula/tegula.h"
#include "tests/support/paper.h"

namespace tegula {
namespace {

class ModelsOnPaper : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::on_paper()) GTEST_SKIP() << "this device computes";
  }
};

constexpr Precision kPrecisions[]{Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8};

/// Three steps as they are in a training, the last of them a replay, and a pass of evaluation.
template <class Net, class Optimizer>
void train_on_paper(Net& net, Optimizer& optimizer, const Tensor& x, const Tensor& y, Precision precision) {
  const PrecisionScope scope(precision);
  optim::LossScaler scaler;
  auto step = jit([&](Tensor inputs, Tensor targets) {
    Tensor loss = cross_entropy(cast(net(inputs), f32), targets);
    if (precision != Precision::fp16) {
      optimizer.step(grad(loss, optimizer.parameters()));
      return loss;
    }
    auto [gradients, finite] = scaler.unscale(grad(scaler.scaled(loss), optimizer.parameters()));
    scaler.step(optimizer, gradients, finite);
    return loss;
  });
  train(net);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(x, y).shape(), Shape{});
  eval(net);
  const Tensor best = argmax(net(x), -1);
  EXPECT_EQ(best.to_host<double>().size(), static_cast<std::size_t>(y.numel()));
}

TEST_F(ModelsOnPaper, AllOfTheRegistry) {
  for (const models::Entry& entry : models::all()) {
    for (const Precision precision : kPrecisions) {
      for (const bool regularised : {false, true}) {
        models::Model model = models::make(entry.name, {.dropout = regularised ? 0.5 : 0, .batch_norm = regularised});
        optim::AdamW optimizer(parameters(model.net));
        Shape shape = model.input;
        shape.insert(0, 128);
        train_on_paper(model.net, optimizer, normal(shape), randint(0, 10, {128}), precision);
      }
    }
  }
}

TEST_F(ModelsOnPaper, AllOptimisers) {
  using namespace optim;
  const std::vector<std::function<std::unique_ptr<Optimizer>(const Parameters&)>> all{
      [](const Parameters& p) { return std::make_unique<SGD>(p); },
      [](const Parameters& p) { return std::make_unique<SGD>(p, SGDOptions{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}); },
      [](const Parameters& p) { return std::make_unique<Adam>(p, AdamOptions{.weight_decay = 1e-4, .amsgrad = true}); },
      [](const Parameters& p) { return std::make_unique<RMSprop>(p, RMSpropOptions{.momentum = 0.9, .centered = true}); },
      [](const Parameters& p) { return std::make_unique<Adagrad>(p); },
  };
  for (const auto& make : all) {
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      models::Model model = models::make("mnist-mlp");
      const auto optimizer = make(parameters(model.net));
      train_on_paper(model.net, *optimizer, normal({100, 1, 28, 28}), randint(0, 10, {100}), precision);
    }
  }
}

TEST_F(ModelsOnPaper, ResNet50) {
  for (const Precision precision : kPrecisions) {
    models::ResNet50 net;
    optim::SGD optimizer(parameters(net), {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
    train_on_paper(net, optimizer, normal({64, 3, 224, 224}), randint(0, 1000, {64}), precision);
  }
}

TEST_F(ModelsOnPaper, Airbench) {
  for (const Precision precision : kPrecisions) {
    models::Airbench net;
    optim::SGD optimizer(net.weights(), {.lr = 0.01, .momentum = 0.85, .weight_decay = 0.01, .nesterov = true});
    train_on_paper(net, optimizer, normal({1024, 3, 32, 32}), randint(0, 10, {1024}), precision);
  }
}

/// A block of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019).
struct Block {
  std::int64_t width, heads;
  nn::LayerNorm norm1{width}, norm2{width};
  nn::Linear joint{width, 3 * width}, out{width, width}, up{width, 4 * width}, down{4 * width, width};
  nn::Dropout drop{0.1};

  Tensor attention(const Tensor& x) const {  // (B, T, C)
    const std::int64_t batch = x.shape()[0], length = x.shape()[1], size = width / heads;
    const Tensor all = joint(x);
    const auto part = [&](std::int64_t i) {  // (B, heads, T, size)
      return permute(reshape(slice(all, -1, {i * width, (i + 1) * width}), {batch, length, heads, size}), {0, 2, 1, 3});
    };
    const Tensor place = arange(length), past = reshape(place, {length, 1}) >= place;
    const Tensor scores = matmul(part(0), transpose(part(1))) / std::sqrt(static_cast<double>(size));
    const Tensor weights = drop(softmax(where(past, scores, -INFINITY)));
    return out(reshape(permute(matmul(weights, part(2)), {0, 2, 1, 3}), {batch, length, width}));
  }
  Tensor operator()(Tensor x) {
    x = x + attention(norm1(x));
    return x + down(gelu(up(norm2(x)), Approximate::Tanh));
  }
};

std::vector<Block> two_blocks(std::int64_t width) {
  std::vector<Block> blocks;
  for (int i = 0; i < 2; ++i) blocks.push_back({width, width / 64});
  return blocks;
}

struct Transformer {
  std::int64_t words, length, width;
  nn::Embedding word{words, width}, place{length, width};
  std::vector<Block> blocks = two_blocks(width);
  nn::LayerNorm norm{width};

  Tensor operator()(Tensor index) {  // (B, T) i64 -> (B * T, words)
    Tensor x = word(index) + place(arange(length));
    for (Block& block : blocks) x = block(x);
    return matmul(reshape(norm(x), {-1, width}), transpose(Tensor(word.weight)));
  }
};

TEST_F(ModelsOnPaper, Transformer) {
  for (const Precision precision : kPrecisions) {
    for (const bool large : {false, true}) {
      const std::int64_t batch = large ? 4 : 2, length = large ? 1024 : 100;
      Transformer net{large ? 50257 : 65, length, large ? 768 : 128};
      optim::AdamW optimizer(parameters(net));
      train_on_paper(net, optimizer, randint(0, net.words, {batch, length}), randint(0, net.words, {batch * length}), precision);
    }
  }
}

TEST_F(ModelsOnPaper, ConvolutionsInGroupsStayHalves) {
  const PrecisionScope scope(Precision::bf16);
  auto step = jit([](Tensor x, Tensor w) {
    const Tensor y = conv2d(x, w, {.padding = 1, .groups = 8});
    auto out = grad(sum(y * y), {x, w});
    out.push_back(y);
    return out;
  });
  step(normal({16, 64, 32, 32}), normal({64, 8, 3, 3}));
  const std::string plan = step.print_plan();
  EXPECT_NE(plan.find("convolution forward bf16"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("f32 tf32"), std::string::npos) << plan;
}

}  // namespace
}  // namespace tegula
