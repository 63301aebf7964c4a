// Layers that a user builds with scan: an LSTM with layer norms and a convolutional LSTM, each against its equations step by step; and layers of large nets.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

using Tensors = std::vector<Tensor>;

/// The gates' sums and the cell are normalised (Ba, Kiros and Hinton, "Layer normalization", 2016, appendix).
struct LayerNormLstm {
  std::int64_t features, hidden;
  nn::Linear in{features, 4 * hidden, {.bias = false}};
  nn::Linear state{hidden, 4 * hidden, {.bias = false}};
  nn::LayerNorm of_input{4 * hidden}, of_state{4 * hidden}, of_cell{hidden};

  Tensors step(const Tensors& carry, const Tensor& input) const {  // input (N, 4 hidden), normalised
    const Tensors z = chunk(input + of_state(state(carry[0])), 4, 1);
    const Tensor c = sigmoid(z[1]) * carry[1] + sigmoid(z[0]) * tanh(z[2]);
    return {sigmoid(z[3]) * tanh(of_cell(c)), c};
  }
  Tensor operator()(Tensor x) const {  // (T, N, features) -> (T, N, hidden)
    const Tensor none = zeros({x.size(1), hidden});
    return scan(
               [&](const Tensors& carry, const Tensors& in) {
                 const Tensors next = step(carry, in[0]);
                 return Scanned{next, {next[0]}};
               },
               {none, none}, {of_input(in(x))})
        .ys[0];
  }
};

/// Products are convolutions, states are images (Shi et al., "Convolutional LSTM network", 2015, without peepholes).
struct ConvLstm {
  std::int64_t channels, hidden;
  nn::Conv2d in{channels, 4 * hidden, 3, {.padding = Same}};
  nn::Conv2d state{hidden, 4 * hidden, 3, {.padding = Same, .bias = false}};

  Tensors step(const Tensors& carry, const Tensor& x) {  // x (N, C, H, W)
    const Tensors z = chunk(in(x) + state(carry[0]), 4, 1);
    const Tensor c = sigmoid(z[1]) * carry[1] + sigmoid(z[0]) * tanh(z[2]);
    return {sigmoid(z[3]) * tanh(c), c};
  }
  Tensor operator()(Tensor x) {  // (T, N, C, H, W) -> (T, N, hidden, H, W)
    const Tensor none = zeros({x.size(1), hidden, x.size(3), x.size(4)});
    return scan(
               [&](const Tensors& carry, const Tensors& at) {
                 const Tensors next = step(carry, at[0]);
                 return Scanned{next, {next[0]}};
               },
               {none, none}, {x})
        .ys[0];
  }
};

/// Checks the net as a scan and with the steps written out: values, and the gradients by all parameters.
template <class Net, class Steps>
void expect_the_loop(Net& net, const Tensor& x, Steps steps) {
  const Tensor looped = net(x), written = stack(steps(), 0);
  const auto expected = written.to_host<double>();
  expect_close(looped, expected, 1e-5);
  const Tensors a = grad(sum(square(looped)), parameters(net)), b = grad(sum(square(written)), parameters(net));
  for (std::size_t i = 0; i < a.size(); ++i) expect_close(a[i], b[i].to_host<double>(), 1e-4);
}

TEST(BuiltOnScan, AnLstmWithLayerNormsIsItsEquations) {
  manual_seed(1);
  LayerNormLstm net{3, 5};
  const Tensor x = normal({6, 2, 3});
  eval(x);
  expect_the_loop(net, x, [&] {
    Tensors carry{zeros({2, 5}), zeros({2, 5})}, out;
    for (std::int64_t t = 0; t < 6; ++t) out.push_back((carry = net.step(carry, net.of_input(net.in(select(x, 0, t)))))[0]);
    return out;
  });
}

TEST(BuiltOnScan, AConvolutionalLstmIsItsEquations) {
  manual_seed(1);
  ConvLstm net{2, 3};
  const Tensor x = normal({4, 2, 2, 5, 6});
  eval(x);
  expect_the_loop(net, x, [&] {
    Tensors carry{zeros({2, 3, 5, 6}), zeros({2, 3, 5, 6})}, out;
    for (std::int64_t t = 0; t < 4; ++t) out.push_back((carry = net.step(carry, select(x, 0, t)))[0]);
    return out;
  });
}

/// A dot that moves along a row: where is it next?
TEST(BuiltOnScan, AConvolutionalLstmLearnsWhereADotMoves) {
  manual_seed(3);
  struct Net {
    ConvLstm lstm{1, 6};
    nn::Conv2d out{6, 1, 1};
    Tensor operator()(Tensor x) { return out(select(lstm(x), 0, -1)); }
  } net;
  optim::Adam adam(parameters(net), {.lr = 0.02});
  auto step = jit([&](const Tensor& x, const Tensor& next) {
    const Tensor loss = binary_cross_entropy_with_logits(net(x), next);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  float first = 0, last = 0;
  for (int k = 0; k < 80; ++k) {
    const Tensor begin = randint(0, 4, {8}), row = randint(0, 6, {8}), direction = 2 * randint(0, 2, {8}) - 1;  // to the right or left
    const auto frame = [&](std::int64_t t) {
      const Tensor column = where(direction > 0, begin + t, 7 - begin - t);
      const Tensor there = expand_dims(one_hot(row, 6), 2) * expand_dims(one_hot(column, 8), 1);  // (N, 6, 8)
      return cast(expand_dims(there, 1), f32);
    };
    last = step(stack({frame(0), frame(1), frame(2)}, 0), frame(3)).item();
    if (k == 0) first = last;
  }
  EXPECT_LT(last, 0.2f * first);
}

TEST(StochasticDepth, LeavesOutWholeSamplesAndKeepsTheMean) {
  manual_seed(2);
  const Tensor x = ones({4000, 3});
  nn::StochasticDepth drop(0.25);
  const auto y = drop(x).to_host();
  int left_out = 0;
  for (std::size_t i = 0; i < y.size(); i += 3) {
    EXPECT_TRUE(y[i] == y[i + 1] && y[i] == y[i + 2]);
    EXPECT_TRUE(y[i] == 0 || std::abs(y[i] - 4.0f / 3) < 1e-6);
    left_out += y[i] == 0;
  }
  EXPECT_NEAR(left_out / 4000.0, 0.25, 0.03);
  eval(drop);
  EXPECT_EQ(drop(x).to_host(), x.to_host());
}

TEST(StochasticDepth, SkipsPartsOfTransformersForWholeSamples) {
  manual_seed(2);
  for (const bool batch_first : {true, false}) {
    nn::TransformerEncoder net(
        2, 8, 2, {.dim_feedforward = 16, .dropout = 0, .stochastic_depth = 1, .batch_first = batch_first, .norm_first = true});
    const Tensor x = normal({5, 6, 8});
    eval(x);
    // The last layer, which is always left out, changes nothing; the first is left out for half of the samples.
    nn::TransformerEncoderLayer& last = net.layers[1];
    EXPECT_EQ(last(x).to_host(), x.to_host());
    EXPECT_NE(net.layers[0](x).to_host(), x.to_host());
    EXPECT_DOUBLE_EQ(net.layers[0].drop_path.p, 0.5);
    eval(net);
    EXPECT_NE(last(x).to_host(), x.to_host());
  }
}

TEST(AdaptiveSoftmax, ItsProbabilitiesAreThoseOfAllClasses) {
  manual_seed(6);
  nn::AdaptiveLogSoftmaxWithLoss layer(16, 50, {6, 20, 35}, {.div_value = 2, .head_bias = true, .dtype = f64});
  const Tensor x = normal({7, 16}, 0, 2, {.dtype = f64}), labels = tensor(std::vector<std::int64_t>{0, 5, 6, 19, 20, 34, 49}, {7});
  eval(x);
  const Tensor all = layer.log_prob(x);  // (7, 50)
  expect_close(sum(exp(all), 1), std::vector<double>(7, 1.0), 1e-9);
  const auto [output, loss] = layer(x, labels);
  expect_close(output, squeeze(gather(all, 1, expand_dims(labels, 1)), 1).to_host<double>(), 1e-9);
  expect_close(loss, {-mean(output).item<double>()}, 1e-12);
  EXPECT_EQ(layer.predict(x).to_host<std::int64_t>(), argmax(all, 1).to_host<std::int64_t>());
  // Its gradients are those of the log-probabilities of all classes.
  const auto a = grad(loss, parameters(layer)), b = grad(nll_loss(layer.log_prob(x), labels), parameters(layer));
  const auto names = parameters(layer);
  for (std::size_t i = 0; i < a.size(); ++i) expect_close(a[i], b[i].to_host<double>(), 1e-8);
  EXPECT_EQ(names[0].name, "head.weight");
  EXPECT_EQ(names[2].name, "tail.0.0.weight");
  EXPECT_EQ(names.back().name, "tail.2.1.weight");
  const auto shaped = layer(reshape(slice(x, 0, {0, 6}), {2, 3, 16}), reshape(slice(labels, 0, {0, 6}), {2, 3}));
  EXPECT_EQ(shaped.output.shape(), (Shape{2, 3}));
}

}  // namespace
}  // namespace tegula
