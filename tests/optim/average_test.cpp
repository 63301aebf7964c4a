// Averages of parameters, accumulated gradients, groups with one schedule.

#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>

#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

struct Net {
  nn::Linear linear{2, 1, {.bias = false}};
  nn::Buffer mean{Tensor(0.0)};
  nn::Buffer count{Tensor(0)};
};

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "nothing was thrown";
}
void expect_refusal(const std::function<void()>& f, const std::string& part) {
  const std::string text = refusal(f);
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(EMA, IsPyTorchsAveragedModel) {
  Net net;
  net.linear.weight = tensor({1.F, 2.F}, {1, 2});
  Net averaged = net;
  optim::EMA ema(parameters(averaged), parameters(net), {.decay = 0.75});
  net.linear.weight = tensor({3.F, 2.F}, {1, 2});
  ema.update();  // a copy at first
  expect_near(averaged.linear.weight, {3, 2}, 1e-6);
  net.linear.weight = tensor({7.F, 0.F}, {1, 2});
  ema.update();
  expect_near(averaged.linear.weight, {4, 1.5}, 1e-6);
  expect_near(net.linear.weight, {7, 0}, 1e-6);
  EXPECT_EQ(ema.updates().item<int>(), 2);
}

TEST(EMA, WarmupForgetsTheBeginningSooner) {
  Variable p = Tensor(0.0), average = p;
  optim::EMA ema({{"p", average.cell()}}, {{"p", p.cell()}}, {.decay = 0.9, .warmup = true});
  ema.update();
  double expected = 0;
  for (int n = 1; n < 120; ++n) {
    p = 1.0 * n;
    ema.update();
    const double decay = std::min(0.9, (1.0 + n) / (10 + n));
    expected = decay * expected + (1 - decay) * n;
    EXPECT_NEAR(average.item<double>(), expected, 1e-4) << n;
  }
}

TEST(SWA, IsTheMeanOfAll) {
  Variable p = Tensor(1.0), average = p;
  optim::SWA swa({{"p", average.cell()}}, {{"p", p.cell()}});
  double sum = 0;
  for (int n = 1; n <= 10; ++n) {
    p = std::sqrt(n);
    swa.update();
    sum += static_cast<double>(std::sqrt(static_cast<float>(n)));
    EXPECT_NEAR(average.item<double>(), sum / n, 1e-6);
  }
}

TEST(EMA, BuffersAreAveragedAndCountersCopiedInAJit) {
  Net net, averaged = net;
  optim::EMA ema(nn::state(averaged), nn::state(net), {.decay = 0.5});
  auto step = jit([&](const Tensor& x) {
    net.mean = x;
    net.count = net.count + 1;
    ema.update();
  });
  for (const float x : {2.F, 4.F, 8.F}) step(Tensor(x));
  EXPECT_EQ(averaged.mean.item<float>(), ((2 + 4) / 2.F + 8) / 2);
  EXPECT_EQ(averaged.count.item<int>(), 3);
  EXPECT_EQ(ema.updates().item<int>(), 3);
}

TEST(EMA, Errors) {
  Net net, copy = net;
  expect_refusal([&] { optim::EMA(parameters(net), parameters(net)); }, "EMA: got linear.weight as its own average");
  expect_refusal([&] { optim::SWA(parameters(copy), nn::state(net)); }, "SWA: got 1 averages of 3 parameters");
  expect_refusal([&] { optim::EMA(parameters(copy), parameters(net), {.decay = 1}); }, "EMA: got decay = 1");
  Variable half = cast(ones({2}), bf16), other = half;
  expect_refusal([&] { optim::EMA({{"p", other.cell()}}, {{"p", half.cell()}}); }, "p of dtype bf16, expected averages in f32 or f64");
  Variable wide = ones({2});
  optim::EMA kept({{"p", wide.cell()}}, {{"p", half.cell()}});
  kept.update();
  Variable longer = ones({3});
  expect_refusal([&] { optim::EMA({{"p", longer.cell()}}, {{"p", half.cell()}}); }, "p(3,) for p(2,)");
}

// --- GradientAccumulator ---

TEST(GradientAccumulator, PartsGiveTheGradientOfTheWhole) {
  nn::Linear linear{3, 1};
  const Tensor x = normal({8, 3}), y = normal({8, 1});
  const auto gradient = [&](const Tensor& a, const Tensor& b) { return grad(mse_loss(linear(a), b), parameters(linear)); };
  const auto whole = gradient(x, y);
  optim::GradientAccumulator accumulator(parameters(linear));
  auto add = jit([&](const Tensor& a, const Tensor& b) { accumulator.add(gradient(a, b)); });
  for (const int round : {1, 2}) {  // begins anew
    for (std::int64_t i = 0; i < 8; i += 2) add(slice(x, 0, {i, i + 2}), slice(y, 0, {i, i + 2}));
    EXPECT_EQ(accumulator.count().item<int>(), 4) << round;
    const auto mean = accumulator.mean();
    for (std::size_t k = 0; k < 2; ++k) {
      const auto got = mean[k].to_host(), expected = whole[k].to_host();
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
    }
    EXPECT_EQ(accumulator.count().item<int>(), 0);
  }
  EXPECT_EQ(accumulator.mean()[0].to_host(), std::vector<float>(3, 0));  // the mean of none
}

TEST(GradientAccumulator, PartsCountByTheirWeights) {
  nn::Linear linear{3, 1};
  const Tensor x = normal({8, 3}), y = normal({8, 1});
  const auto gradient = [&](const Tensor& a, const Tensor& b) { return grad(mse_loss(linear(a), b), parameters(linear)); };
  const auto whole = gradient(x, y);
  optim::GradientAccumulator accumulator(parameters(linear));
  auto add = jit([&](const Tensor& a, const Tensor& b, const Tensor& weight) { accumulator.add(gradient(a, b), weight); });
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>(0, 5), {5, 6}, {6, 8}})
    add(slice(x, 0, {from, to}), slice(y, 0, {from, to}), Tensor(static_cast<double>(to - from)));
  accumulator.add({full({1, 3}, NAN), full({1}, NAN)}, 0);  // the mean of nothing
  accumulator.add({full({1, 3}, NAN), full({1}, NAN)}, Tensor(0.0));
  EXPECT_EQ(accumulator.weight().item<double>(), 8);
  EXPECT_EQ(accumulator.count().item<int>(), 5);
  const auto mean = accumulator.mean();
  for (std::size_t k = 0; k < 2; ++k) {
    const auto got = mean[k].to_host(), expected = whole[k].to_host();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  }
  EXPECT_EQ(accumulator.weight().item<double>(), 0);
}

TEST(GradientAccumulator, Errors) {
  nn::Linear linear{3, 1};
  optim::GradientAccumulator accumulator(parameters(linear));
  expect_refusal([&] { accumulator.add({ones({1, 3})}); },
                 "GradientAccumulator: got 1 gradients, expected one for each of the 2 parameters");
  expect_refusal([&] { accumulator.add({ones({1, 3}), ones({2})}); }, "a gradient of shape (2,) for bias, expected its shape (1,)");
  expect_refusal([&] { accumulator.add({ones({1, 3}), ones({1})}, -1); }, "a weight of -1, expected no negative one");
  expect_refusal([&] { accumulator.add({ones({1, 3}), ones({1})}, ones({2})); }, "a weight of shape (2,), expected a number");
}

// --- Groups ---

TEST(ParameterGroups, EachHasItsOptionsAndOneScheduleDrivesAll) {
  nn::Linear linear{2, 2};
  linear.weight = ones({2, 2});
  linear.bias = ones({2});
  auto [matrices, vectors] = optim::split(parameters(linear), [](const Parameter& p) { return p.cell->shape().rank() > 1; });
  optim::ParameterGroups groups(optim::SGD(matrices, {.lr = 0.1, .weight_decay = 1}), optim::SGD(vectors, {.lr = 0.5}));
  EXPECT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups.parameters()[1].name, "bias");
  auto step = jit([&](const Tensor& a, const Tensor& b) { groups.step({a, b}); });
  step(zeros({2, 2}), ones({2}));
  expect_near(linear.weight, {0.9, 0.9, 0.9, 0.9}, 1e-6);
  expect_near(linear.bias, {0.5, 0.5}, 1e-6);
  groups.lr = 0.2;  // twice: the other's too
  EXPECT_DOUBLE_EQ(groups.rate(1).item<double>(), 1);
  step(zeros({2, 2}), ones({2}));
  expect_near(linear.weight, {0.72, 0.72, 0.72, 0.72}, 1e-6);
  expect_near(linear.bias, {-0.5, -0.5}, 1e-6);
}

TEST(ParameterGroups, AreTheirOptimisers) {
  Variable a = ones({3}), b = ones({3}), c = a, d = b;
  const Tensor g = tensor({0.1F, -0.2F, 0.3F});
  optim::Adam first({{"a", a.cell()}}, {.lr = 0.01});
  optim::SGD second({{"b", b.cell()}}, {.lr = 0.1, .momentum = 0.9});
  optim::ParameterGroups groups(optim::Adam({{"a", c.cell()}}, {.lr = 0.01}), optim::SGD({{"b", d.cell()}}, {.lr = 0.1, .momentum = 0.9}));
  for (int i = 0; i < 3; ++i) {
    first.step({g}), second.step({g});
    groups.step({g, g});
  }
  EXPECT_EQ(a.to_host(), c.to_host());
  EXPECT_EQ(b.to_host(), d.to_host());
  std::vector<std::string> names;
  for (const Parameter& cell : groups.state()) names.push_back(cell.name);
  EXPECT_EQ(names, (std::vector<std::string>{"lr", "steps", "a.exp_avg", "a.exp_avg_sq", "b.momentum_buffer"}));
}

TEST(ParameterGroups, ACheckpointContinuesBitForBit) {
  const Tensor g = tensor({0.1F, -0.2F, 0.3F});
  Variable a = ones({3}), b = ones({3});
  const auto make = [](Variable& x, Variable& y) {
    return optim::ParameterGroups(optim::Adam({{"a", x.cell()}}), optim::Adagrad({{"b", y.cell()}}));
  };
  auto groups = make(a, b);
  groups.step({g, g});
  Variable c = a, d = b;
  auto again = make(c, d);
  load(again.state(), state_dict(groups.state()));
  groups.step({g, g});
  again.step({g, g});
  EXPECT_EQ(a.to_host(), c.to_host());
  EXPECT_EQ(b.to_host(), d.to_host());
}

TEST(ParameterGroups, Errors) {
  Variable a = ones({3});
  const Parameters list{{"a", a.cell()}};
  expect_refusal([&] { optim::ParameterGroups(optim::SGD(list), optim::Adam(list)); },
                 "ParameterGroups: got a twice, expected each parameter once");
  const int line = __LINE__ + 1;
  expect_refusal([&] { optim::ParameterGroups(optim::SGD(list, {.lr = 0})); }, "ParameterGroups: got a first group with rate 0");
  expect_refusal([&] { optim::ParameterGroups(optim::SGD(list, {.lr = 0})); }, "average_test.cpp:" + std::to_string(line + 1));
  expect_refusal([&] { optim::ParameterGroups(std::vector<std::unique_ptr<optim::Optimizer>>{}); }, "ParameterGroups: got no parameters");
}

// --- Optimisers that look at norms ---

TEST(Layerwise, WhereANormIsZeroTheStepIsPlain) {
  Variable zero = zeros({2}), p = ones({2});
  optim::LARS lars({{"zero", zero.cell()}, {"p", p.cell()}}, {.lr = 0.5, .momentum = 0});
  lars.step({ones({2}), zeros({2})});
  expect_near(zero, {-0.5, -0.5}, 1e-6);
  expect_near(p, {1, 1}, 1e-6);
  Variable q = zeros({2});
  optim::LAMB lamb({{"q", q.cell()}}, {.lr = 0.5, .weight_decay = 0});
  lamb.step({ones({2})});
  expect_near(q, {-0.5, -0.5}, 1e-5);
}

TEST(Layerwise, AdafactorKeepsRowsAndColumnsOfMatrices) {
  nn::Linear linear{30, 20};
  optim::Adafactor adafactor(parameters(linear));
  std::int64_t numbers = 0;
  for (const Parameter& cell : adafactor.state()) numbers += numel(cell.cell->shape());
  EXPECT_EQ(numbers, 2 + 30 + 20 + 20);  // lr and steps; rows, columns; the bias
  adafactor.step(grad(sum(square(linear(ones({4, 30})))), parameters(linear)));
  EXPECT_TRUE(std::isfinite(sum(linear.weight).item()));
}

TEST(Layerwise, OptionsAreChecked) {
  Variable a = ones({3});
  const Parameters list{{"a", a.cell()}};
  expect_refusal([&] { optim::LARS(list, {.momentum = -1}); }, "LARS: got momentum = -1");
  expect_refusal([&] { optim::LAMB(list, {.beta1 = 1}); }, "LAMB: got a beta outside of [0, 1)");
  expect_refusal([&] { optim::Adafactor(list, {.clip_threshold = 0}); }, "Adafactor: got a clip_threshold that is not positive");
  expect_refusal([&] { optim::Adafactor(list, {.beta2_decay = 0.8}); }, "beta2_decay above 0");
}

}  // namespace
}  // namespace tegula
