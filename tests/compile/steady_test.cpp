// A value that depends only on Variables that a jit-ed function does not write is computed once, and again after a write.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>

#include "tegula/models/text/gpt2.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

// The part of a plan that runs every time.
std::string every_time(const std::string& plan) {
  const auto at = plan.find("every time:");
  return at == std::string::npos ? plan : plan.substr(at);
}

TEST(Steady, AChangedWeightIsSeenByWhateverWayItChanged) {
  Variable w(normal({8, 16}));
  const auto product = [&](Tensor x) { return matmul(x, exp(w.read())); };  // exp is read by a call: kept
  auto jitted = jit(product);
  Tensor x = normal({4, 8});
  eval(x);
  for (int i = 0; i < 3; ++i) expect_near(jitted(x), product(x), 1e-4);
  EXPECT_EQ(jitted.refreshes(), 1) << jitted.print_plan();
  EXPECT_NE(jitted.print_plan().find("kept"), std::string::npos);

  w = normal({8, 16});  // pending until something is evaluated
  expect_near(jitted(x), product(x), 1e-4);
  EXPECT_EQ(jitted.refreshes(), 2);

  auto halve = jit([&] { w = w.read() * 0.5; });  // in place, by another executable
  for (int i = 0; i < 3; ++i) {
    halve();
    expect_near(jitted(x), product(x), 1e-4);
    EXPECT_EQ(jitted.refreshes(), 3 + i);
  }
  Tensor old = w.read();  // a holder of the old value makes the cell move before it is written
  halve();
  expect_near(jitted(x), product(x), 1e-4);
  expect_near(old * 0.5, w.read(), 1e-4);
  const int so_far = jitted.refreshes();
  jitted(x), jitted(normal({4, 8}));
  EXPECT_EQ(jitted.refreshes(), so_far);
}

TEST(Steady, AnOptimiserAndAFileAreSeen) {
  nn::Linear layer(8, 3);
  auto predict = jit([&](Tensor x) { return matmul(x, tanh(permute(layer.weight.read(), {1, 0}))); });
  const auto direct = [&](Tensor x) { return matmul(x, tanh(permute(layer.weight.read(), {1, 0}))); };
  auto sgd = optim::SGD(parameters(layer), {.lr = 0.1});
  auto train = jit([&](Tensor x) {
    Tensor loss = sum(layer(x) * layer(x));
    sgd.step(grad(loss, parameters(layer)));
    return loss;
  });
  Tensor x = normal({5, 8});
  eval(x);
  predict(x), predict(x);
  EXPECT_EQ(predict.refreshes(), 1) << predict.print_plan();
  train(x);
  expect_near(predict(x), direct(x), 1e-4);
  EXPECT_EQ(predict.refreshes(), 2);
  EXPECT_EQ(train.refreshes(), 0);
  EXPECT_EQ(train.print_plan().find("kept"), std::string::npos) << "a step that writes its Variables keeps nothing";

  const std::string path = "steady_test.safetensors";
  nn::Linear other(8, 3);
  save(other, path);
  load(layer, path);
  std::filesystem::remove(path);
  expect_near(predict(x), matmul(x, tanh(permute(other.weight.read(), {1, 0}))), 1e-4);
  EXPECT_EQ(predict.refreshes(), 3);
}

/// Two layers whose weights are kept in half and transposed, at one batch size after another.
struct TwoLayers {
  Variable first{normal({256, 512})}, second{normal({64, 256})}, scale{uniform({64})};
  Tensor operator()(Tensor x) const {
    const PrecisionScope half(Precision::bf16);
    return matmul(relu(matmul(x, transpose(exp(first.read())))), transpose(exp(second.read()))) * scale.read();
  }
};

TEST(Steady, SignaturesShareWhatIsKept) {
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU fuses so small products with what is around them";
  TwoLayers net;
  auto run = jit([&](Tensor x) { return net(x); });
  std::size_t after_one = 0;
  for (const std::int64_t rows : {32, 64, 17, 1, 128, 33, 32}) {
    const Tensor x = normal({rows, 512}) * 0.01;
    expect_near(run(x), net(x), 0.5f);
    EXPECT_EQ(run.refreshes(), 1) << rows << "\n" << run.print_plan();
    if (after_one == 0) after_one = run.kept_bytes();
  }
  EXPECT_EQ(run.executables(), 6);
  EXPECT_GE(after_one, 2u * (256 * 512 + 64 * 256));
  EXPECT_LE(run.kept_bytes(), after_one * 6 / 5);

  net.second = normal({64, 256});
  for (const std::int64_t rows : {64, 32, 64}) {
    const Tensor x = normal({rows, 512}) * 0.01;
    expect_near(run(x), net(x), 0.5f);
    EXPECT_EQ(run.refreshes(), 2) << rows;
  }
}

TEST(Steady, AGptOfEightLengthsHoldsItsWeightsInHalfOnce) {
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU fuses so small products with what is around them";
  const models::Gpt2 net({.vocabulary = 128, .width = 64, .layers = 2, .heads = 4, .context = 64});
  const PrecisionScope arithmetic(Precision::bf16);
  auto run = jit([&](Tensor ids) { return net(ids); });
  std::size_t after_one = 0;
  for (const std::int64_t length : {8, 9, 16, 17, 31, 40, 50, 64}) {
    run(zeros({1, length}, i64));
    EXPECT_EQ(run.refreshes(), 1) << length;
    if (after_one == 0) after_one = run.kept_bytes();
  }
  EXPECT_EQ(run.executables(), 8);
  EXPECT_GE(after_one, 2u * 2 * 12 * 64 * 64);  // the layers' matrices
  EXPECT_LE(run.kept_bytes(), after_one * 6 / 5);
}

TEST(Steady, WhatALoopKeepsIsCounted) {
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU has loops of few steps written out";
  const Variable w(normal({256, 256}) * 0.05);
  auto run = jit([&](Tensor x) {
    const PrecisionScope half(Precision::bf16);
    return scan([&](const std::vector<Tensor>& h,
                    const std::vector<Tensor>& x) { return Scanned{{tanh(matmul(h[0], w.read()) + x[0])}, {}}; },
                {zeros({64, 256})}, {x})
        .carry[0];
  });
  run(normal({9, 64, 256}));
  const std::size_t after_one = run.kept_bytes();
  EXPECT_GE(after_one, 2u * 256 * 256) << run.print_plan();
  run(normal({10, 64, 256}));
  EXPECT_LE(run.kept_bytes(), 2 * after_one) << "each signature has a loop of its own";
}

TEST(Steady, ASignatureThatReadsLessIsRightToo) {
  Variable a(normal({32, 32})), b(normal({32, 32}));
  auto run = jit([&](Tensor x) {
    Tensor y = matmul(x, exp(a.read()));
    return x.shape()[0] > 4 ? matmul(y, exp(b.read())) : y;
  });
  const auto want = [&](const Tensor& x) {
    Tensor y = matmul(x, exp(a.read()));
    return x.shape()[0] > 4 ? matmul(y, exp(b.read())) : y;
  };
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t rows : {8, 2, 16, 3}) {
      const Tensor x = normal({rows, 32}) * 0.1;
      expect_near(run(x), want(x), 1e-2f);
    }
    b = normal({32, 32});
    a = normal({32, 32});
  }
}

TEST(Steady, NumbersAreOfTheirSignature) {
  Variable w(normal({16, 16}));
  auto run = jit([&](Tensor x) { return matmul(x, exp(w.read()) * static_cast<double>(x.shape()[0])); });
  for (const std::int64_t rows : {2, 4, 2, 8, 4}) {
    const Tensor x = normal({rows, 16});
    expect_near(run(x), matmul(x, exp(w.read()) * static_cast<double>(rows)), 1e-3f);
  }
}

TEST(Steady, WhatFailsOnceFailsUntilItIsMended) {
  Variable labels(tensor({std::int64_t{0}, std::int64_t{7}}));
  auto loss = jit([&](Tensor x) { return cross_entropy(x, labels.read()); });
  const Tensor x = zeros({2, 3});
  for (int call = 0; call < 3; ++call) EXPECT_THROW(loss(x).item(), Error) << call;
  labels = tensor({std::int64_t{0}, std::int64_t{2}});
  EXPECT_NEAR(loss(x).item(), std::log(3.0), 1e-5);
  labels = tensor({std::int64_t{3}, std::int64_t{2}});
  for (int call = 0; call < 3; ++call) EXPECT_THROW(loss(x).item(), Error) << call;
}

TEST(Steady, NothingLargeIsKept) {
  Variable w(normal({64}));
  auto outer = jit([&](Tensor x) { return matmul(x, exp(reshape(w.read(), {64, 1}) * w.read())); });  // (64, 64) out of (64)
  outer(ones({2, 64}));
  EXPECT_EQ(outer.refreshes(), 0) << outer.print_plan();
  auto elementwise = jit([&](Tensor x) { return x * exp(w.read()); });  // fused with its reader
  elementwise(ones({64}));
  EXPECT_EQ(elementwise.refreshes(), 0) << elementwise.print_plan();
}

struct Block {
  nn::Conv2d conv{16, 32, 3, {.padding = 1, .bias = false}};
  nn::BatchNorm2d norm{32};
  Tensor operator()(Tensor x) { return relu(norm(conv(x))); }
};

void expect_one_call(bool bias) {
  Block block;
  block.conv = nn::Conv2d{16, 32, 3, {.padding = 1, .bias = bias}};
  Tensor x = normal({2, 16, 10, 10});
  eval(x);
  auto train_step = jit([&](Tensor x) { return sum(block(x)); });  // moves the statistics
  for (int i = 0; i < 3; ++i) train_step(x);
  block.norm.weight = uniform({32}) + 0.5;
  block.norm.bias = normal({32});
  eval(block);
  auto run = jit([&](Tensor x) { return block(x); });
  const auto separately = [&] {
    const Tensor y = bias ? conv2d(x, block.conv.weight, block.conv.bias, {.padding = 1}) : conv2d(x, block.conv.weight, {.padding = 1});
    eval(y);
    return relu(batch_norm(y, block.norm.running_mean.read(), block.norm.running_var.read(),
                           {.weight = block.norm.weight.read(), .bias = block.norm.bias.read(), .eps = 1e-5}));
  };
  expect_near(run(x), separately(), 1e-4);
  const std::string plan = every_time(run.print_plan());
  EXPECT_EQ(test::occurrences(plan, "call convolution"), 1) << plan;
  EXPECT_EQ(test::occurrences(plan, "multiply"), 0) << plan;
  EXPECT_EQ(test::occurrences(plan, "tile relu"), 0) << plan;
  block.norm.bias = normal({32});
  expect_near(run(x), separately(), 1e-4);
  EXPECT_EQ(run.refreshes(), 2);
  train(block);
  train_step(x);
  eval(block);
  expect_near(run(x), separately(), 1e-4);
}

TEST(Steady, ABatchNormOfRunningStatisticsIsPartOfTheConvolution) {
  expect_one_call(false);
  expect_one_call(true);
}

/// A convolution, and a factor for each of its channels.
struct Scaled {
  Variable weight{normal({8, 4, 3, 3})}, scale{uniform({8}) + 0.5};
  Tensor convolution(Tensor x) const {
    const PrecisionScope half(Precision::fp16);
    return conv2d(x, weight.read(), {.padding = 1});
  }
  static Tensor times(const Tensor& y, const Tensor& factor) { return y * reshape(factor, {8, 1, 1}); }
};

TEST(Steady, AFactorInF32IsNotRoundedWithTheWeightOfAHalfConvolution) {
  const Scaled block;
  Tensor x = normal({2, 4, 6, 6});
  Tensor y = block.convolution(x);
  eval(x, y);
  auto run = jit([&](Tensor x) { return block.times(block.convolution(x), block.scale.read()); });
  const Tensor want = block.times(y, block.scale.read());
  const std::vector<Tensor> got{run(x), run(x), run(x)};
  // If a convolution this small runs in TF32, its f32 weight takes the factor and is rounded once, as it is without the fold.
  const std::string plan = every_time(run.print_plan());
  const bool in_tf32 = plan.find("tf32") != std::string::npos;
  // Weights are rounded to 11 bits in both, and the result of the half convolution once more.
  const Tensor sums = block.times(conv2d(abs(x), abs(block.weight.read()), {.padding = 1}), block.scale.read());
  const double roundings = 3 * std::ldexp(max(sums).item(), -11);
  for (const Tensor& each : got) expect_near(each, want, in_tf32 ? roundings : 0);
  EXPECT_TRUE(in_tf32 || std::regex_search(plan, std::regex("tile [a-z_]*multiply.*=out#0"))) << plan;
}

TEST(Steady, AFactorThatComesWithEachCallStaysOutOfTheWeight) {
  const Scaled block;
  Tensor x = normal({2, 4, 6, 6}), scale = uniform({8}) + 0.5;
  eval(x, scale);
  auto run = jit([&](Tensor x, Tensor scale) { return block.times(conv2d(x, block.weight.read(), {.padding = 1}), scale); });
  const Tensor y = conv2d(x, block.weight.read(), {.padding = 1});
  expect_near(run(x, scale), block.times(y, scale), 1e-4);
  const std::string plan = every_time(run.print_plan());
  EXPECT_EQ(test::occurrences(plan, "tile multiply"), 1) << plan;
  EXPECT_TRUE(std::regex_search(plan, std::regex("tile multiply.*=out#0"))) << plan;  // in the result, not in the weight
}

}  // namespace
}  // namespace tegula
