// Promises of dynamic loss scaling: a step that overflows changes nothing but the scale, and the host does not look.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tegula/tegula.h>

namespace tegula::optim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::vector<double>> values_of(const Parameters& cells) {
  std::vector<std::vector<double>> all;
  for (const Parameter& cell : cells) {
    all.emplace_back();
    for (const float value : cast(cell.read(), f32).to_host()) all.back().push_back(value);
  }
  return all;
}

TEST(LossScaler, GradientsComeBackAtTheirOwnSize) {
  const Variable w = tensor({1.F, 2.F});
  const LossScaler scaler({.scale = 1024});
  const auto [gradients, finite] = scaler.unscale(grad(scaler.scaled(sum(w * w)), std::vector<Wrt>{w}));
  EXPECT_EQ(gradients[0].to_host(), (std::vector<float>{2, 4}));
  EXPECT_TRUE(finite.item<bool>());
}

TEST(LossScaler, AnOverflowSkipsTheStepAndHalvesTheScale) {
  Variable w = tensor({1.F, 2.F}), v = tensor({3.F});
  Adam adam({{"w", w.cell()}, {"v", v.cell()}}, {.lr = 0.1});
  LossScaler scaler({.scale = 256, .interval = 2});
  auto train = jit([&](Tensor g, Tensor h) {
    const auto [gradients, finite] = scaler.unscale({g, h});
    scaler.step(adam, gradients, finite);
  });
  const Tensor good = tensor({256.F, -256.F}), one = tensor({256.F});
  train(good, one);
  Parameters all = adam.state();
  for (const Parameter& p : adam.parameters()) all.push_back(p);
  const auto before = values_of(all);
  EXPECT_EQ(adam.steps().read().item<std::int64_t>(), 1);
  EXPECT_NEAR(w.read().to_host()[0], 0.9, 1e-5);

  for (const float bad : {kInfinity, std::nanf("")}) {
    train(good, tensor({bad}));
    train(tensor({bad, 1.F}), one);
  }
  EXPECT_EQ(values_of(all), before);
  EXPECT_EQ(scaler.scale().read().item(), 16);  // 256 / 2^4
  EXPECT_EQ(scaler.skipped().read().item<std::int64_t>(), 4);

  train(good, one);
  EXPECT_EQ(scaler.scale().read().item(), 16);
  train(good, one);
  EXPECT_EQ(scaler.scale().read().item(), 32);  // two good steps
  EXPECT_EQ(adam.steps().read().item<std::int64_t>(), 3);
  EXPECT_EQ(scaler.skipped().read().item<std::int64_t>(), 4);
  EXPECT_EQ(train.executables(), 1);
}

TEST(LossScaler, GrowthEndsAtTheMaximum) {
  Variable w = tensor({1.F});
  SGD sgd({{"w", w.cell()}}, {.lr = 0.1});
  LossScaler scaler({.scale = 16, .interval = 1, .maximum = 40});
  for (int i = 0; i < 3; ++i) {
    const auto [gradients, finite] = scaler.unscale({tensor({1.F})});
    scaler.step(sgd, gradients, finite);
  }
  EXPECT_EQ(scaler.scale().read().item(), 40);
}

TEST(LossScaler, FindsTheScaleAtWhichF16Holds) {
  manual_seed(5);
  nn::Linear layer{32, 8};
  SGD sgd(parameters(layer), {.lr = 1e-3});
  LossScaler scaler({.scale = 16777216});
  const Tensor x = normal({64, 32}), y = normal({64, 8});
  auto train = jit([&](Tensor in, Tensor out) {
    const Tensor loss = mse_loss(layer(in), out);
    const auto [gradients, finite] = scaler.unscale(grad(scaler.scaled(loss), sgd.parameters()));
    scaler.step(sgd, gradients, finite);
    return loss;
  });
  const PrecisionScope scope(Precision::fp16);
  float first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    last = train(x, y).item();
    if (i == 0) first = last;
  }
  const auto skipped = scaler.skipped().read().item<std::int64_t>();
  EXPECT_GT(skipped, 0);  // 2^24 times these gradients is beyond 65504
  EXPECT_LT(skipped, 20);
  EXPECT_EQ(scaler.scale().read().item<double>(), std::ldexp(1.0, 24 - static_cast<int>(skipped)));
  EXPECT_EQ(sgd.steps().read().item<std::int64_t>() + skipped, 40);
  EXPECT_LT(last, first);
  for (const Parameter& p : sgd.parameters()) {
    for (const float value : p.read().to_host()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(LossScaler, StateTravels) {
  LossScaler scaler({.scale = 8}), other;
  Variable w = tensor({1.F});
  SGD sgd({{"w", w.cell()}}, {.lr = 0.1});
  scaler.step(sgd, {tensor({kInfinity})}, all(isfinite(tensor({kInfinity}))));
  const Parameters from = scaler.state(), to = other.state();
  ASSERT_EQ(from.size(), 3u);
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].name, to[i].name);
    to[i].assign(from[i].read());
  }
  EXPECT_EQ(other.scale().read().item(), 4);
  EXPECT_EQ(other.skipped().read().item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace tegula::optim
