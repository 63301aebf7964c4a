// Plain, plain with a look at every value, eagerly and by jit: the same numbers.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"

namespace tegula {
namespace {

using Floats = std::vector<float>;

enum class Mode { Plain, Looked, Eager, Jit };
constexpr Mode kModes[] = {Mode::Plain, Mode::Looked, Mode::Eager, Mode::Jit};
constexpr const char* kNames[] = {"plain", "looked", "eager", "jit"};

/// Runs `step` five times in a mode; a trace sees no values, so there `look` does nothing.
template <class Step>
void five_steps(Mode mode, Step&& step) {
  set_eager(mode == Mode::Eager);
  const auto look = [&](const Tensor& t) {
    if (mode == Mode::Looked) t.to_host();
    return t;
  };
  auto jitted = jit([&](Tensor x) { return step(x, look); });
  for (int i = 0; i < 5; ++i) {
    const Tensor x = sin(reshape(arange(0.f, 48.f), {8, 6}) * 0.7 + i);
    if (mode == Mode::Jit) jitted(x).to_host();
    else step(x, look).to_host();
  }
  set_eager(false);
}

void append(Floats& all, const Tensor& t) {
  for (const float x : t.to_host()) all.push_back(x);
}

template <class Train>
void expect_modes_agree(Train&& train) {
  const Floats want = train(Mode::Plain);
  for (const Mode mode : kModes) {
    const Floats got = train(mode);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 2e-5 * (1 + std::abs(want[i]))) << kNames[static_cast<int>(mode)] << " " << i;
  }
}

struct Net {
  nn::Linear in{6, 16, {.bias = false}};  // its gradient would be rounding alone, behind the mean
  nn::BatchNorm1d norm{16};
  nn::Dropout drop{0.5};
  nn::Linear out{16, 1};

  template <class Look>
  Tensor operator()(const Tensor& x, Look&& look) {
    return look(out(look(drop(look(relu(look(norm(look(in(x))))))))));
  }
};

Floats state_of(Net& net) {
  Floats all;
  for (const Parameter& p : parameters(net)) append(all, p.read());
  append(all, net.norm.running_mean);
  append(all, net.norm.running_var);
  append(all, cast(net.norm.num_batches_tracked, f32));
  return all;
}

TEST(Modes, TrainingWithDropoutAndBatchNorm) {
  expect_modes_agree([](Mode mode) {
    manual_seed(11);
    Net net;
    optim::Adam adam(parameters(net), {.lr = 0.01});
    five_steps(mode, [&](const Tensor& x, auto look) {
      const Tensor loss = look(mean(square(net(x, look) - 1.0)));
      const auto g = grad(loss + look(0.01 * sum(square(net.in.weight))), parameters(net));
      for (const Tensor& t : g) look(t);
      adam.step(g);
      return loss;
    });
    EXPECT_EQ(net.norm.num_batches_tracked.read().item<int>(), 5);
    return state_of(net);
  });
}

TEST(Modes, LossesAccumulatedOverFortySteps) {
  expect_modes_agree([](Mode mode) {
    manual_seed(12);
    Net net;
    optim::SGD sgd(parameters(net), {.lr = 0.001});
    five_steps(mode, [&](const Tensor& x, auto look) {
      Tensor total = 0.f;
      for (int i = 0; i < 40; ++i) total = look(total + look(mean(square(net(x * (1 + i * 0.01), look) - 1.0))));
      sgd.step(grad(total, parameters(net)));
      return total;
    });
    EXPECT_EQ(net.norm.num_batches_tracked.read().item<int>(), 200);
    return state_of(net);
  });
}

TEST(Modes, ATargetNetwork) {
  expect_modes_agree([](Mode mode) {
    manual_seed(13);
    nn::Linear net(6, 4), target = net;
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    five_steps(mode, [&](const Tensor& x, auto look) {
      const Tensor loss = look(mse_loss(look(net(x)), look(slice(x, 1, {.begin = 0, .end = 4})) + 0.9 * look(target(x))));
      sgd.step(grad(loss, parameters(net)));
      target.weight = lerp(target.weight, net.weight, 0.1);
      look(target.weight);
      return loss;
    });
    Floats all;
    append(all, net.weight);
    append(all, target.weight);
    return all;
  });
}

TEST(Modes, TwoOptimisersThatTrainAgainstEachOther) {
  expect_modes_agree([](Mode mode) {
    manual_seed(14);
    nn::Linear maker(6, 6), judge(6, 1);
    optim::Adam first(parameters(judge), {.lr = 0.01}), second(parameters(maker), {.lr = 0.02});
    five_steps(mode, [&](const Tensor& x, auto look) {
      const Tensor made = look(maker(x));
      const Tensor judged = look(mean(softplus(look(judge(stop_gradient(made)))) + softplus(-look(judge(x)))));
      first.step(grad(judged, parameters(judge)));
      const Tensor fooled = look(mean(softplus(-look(judge(made)))));  // by the weights that the first step left
      second.step(grad(fooled, parameters(maker)));
      return judged + fooled;
    });
    Floats all;
    for (const auto& list : {parameters(maker), parameters(judge)})
      for (const Parameter& p : list) append(all, p.read());
    return all;
  });
}

TEST(Modes, StateThatIsCarriedInAVariable) {
  expect_modes_agree([](Mode mode) {
    manual_seed(15);
    nn::Linear cell(6, 6);
    Variable state = zeros({8, 6});
    optim::SGD sgd(parameters(cell), {.lr = 0.1});
    five_steps(mode, [&](const Tensor& x, auto look) {
      const Tensor next = look(tanh(cell(x) + state));
      state = next;
      const Tensor seen = look(state);
      const Tensor loss = look(mean(square(next - 0.5)) + mean(seen * next));
      sgd.step(grad(loss, parameters(cell)));
      return loss;
    });
    Floats all;
    append(all, cell.weight);
    append(all, state);
    return all;
  });
}

TEST(Modes, CheckpointsWithinCheckpoints) {
  expect_modes_agree([](Mode mode) {
    manual_seed(16);
    Variable w = normal({6, 6}) * 0.3;
    optim::SGD sgd(Parameters{{"w", w.cell()}}, {.lr = 0.1});
    using List = std::vector<Tensor>;
    five_steps(mode, [&](const Tensor& x, auto look) {
      const Tensor y = checkpoint(
          [&](const List& outer) {
            const Tensor h = dropout(tanh(matmul(outer[0], w)), 0.25);
            return checkpoint(
                [&](const List& inner) { return checkpoint([&](const List& v) { return exp(matmul(v[0], w)); }, {sin(inner[0])}); },
                {h + outer[0]});
          },
          {x});
      const Tensor loss = look(mean(look(y)));
      const Tensor g = look(grad(loss, w));
      sgd.step({grad(sum(g * g) + loss, w)});  // second derivatives
      return loss;
    });
    return w.read().to_host();
  });
}

TEST(Checkpoint, NestedGivesTheGradientsOfTheFunction) {
  using List = std::vector<Tensor>;
  const Tensor x = tensor({1.0, 2.0});
  const auto f = [](const Tensor& v) { return exp(sin(v) * v); };
  const Tensor nested =
      checkpoint([&](const List& v) { return checkpoint([](const List& u) { return exp(u[0] * u[1]); }, {sin(v[0]), v[0]}); }, {x});
  const Tensor first = grad(sum(nested), x), want = grad(sum(f(x)), x);
  const Tensor second = grad(sum(first * first), x), wanted = grad(sum(want * want), x);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(first.to_host<double>()[static_cast<std::size_t>(i)], want.to_host<double>()[static_cast<std::size_t>(i)], 1e-9);
    EXPECT_NEAR(second.to_host<double>()[static_cast<std::size_t>(i)], wanted.to_host<double>()[static_cast<std::size_t>(i)], 1e-7);
  }
}

}  // namespace
}  // namespace tegula
