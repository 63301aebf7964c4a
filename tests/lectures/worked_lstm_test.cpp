// The worked LSTM of the lectures (shared/seeds/002, "LSTM – Example – Forward Path"): two steps of one unit, every delta, the updated weights.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

// Numbers are printed with five digits, and the lecture computes on with the printed ones: they are accurate to a bit more than a unit of the
// last digit. A product with an input of 3 makes that two units.
constexpr double kPrinted = 1.2e-5, kTimesInput = 2.2e-5;

void expect_printed(const Tensor& x, const std::vector<double>& printed, double within = kPrinted) {
  const auto values = x.to_host<double>();
  ASSERT_EQ(values.size(), printed.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], printed[i], within) << "element " << i;
}

Tensor numbers(const std::vector<double>& values, const Shape& shape) { return tensor(values, shape); }

// In PyTorch's order: i, f, a, o.
std::map<std::string, Tensor> weights() {
  return {{"weight_ih", numbers({0.95, 0.8, 0.7, 0.45, 0.45, 0.25, 0.6, 0.4}, {4, 2})},
          {"weight_hh", numbers({0.8, 0.1, 0.15, 0.25}, {4, 1})},
          {"bias_ih", numbers({0.65, 0.15, 0.2, 0.1}, {4})},
          {"bias_hh", zeros({4}, f64)}};
}
template <class Layer>
Layer with_weights(const std::string& end) {
  Layer layer(2, 1, {.dtype = f64});
  for (Parameter& parameter : parameters(layer))
    parameter.assign(weights().at(parameter.name.substr(0, parameter.name.size() - end.size())));
  return layer;
}

const std::vector<double> kX{1, 2, 0.5, 3}, kY{0.5, 1.25};

/// The mean square error of the lecture, whose gradient is out - y.
Tensor error(const Tensor& out, const Tensor& y) { return 0.5 * sum(square(out - y)); }

TEST(WorkedLstm, StepByStepThroughCells) {
  // A cell for each step, alike: so each step's gates have gradients of their own.
  const auto cell0 = with_weights<nn::LSTMCell>(""), cell1 = with_weights<nn::LSTMCell>("");
  const Tensor x0 = numbers({1, 2}, {1, 2}), x1 = numbers({0.5, 3}, {1, 2}), before = zeros({1, 1}, f64);
  const auto first = cell0(x0, {before, zeros({1, 1}, f64)});
  const auto second = cell1(x1, first);
  expect_printed(first.c, {0.78572});
  expect_printed(first.h, {0.53631});
  expect_printed(second.c, {1.5176}, 5e-5);
  expect_printed(second.h, {0.77197});

  const auto bias = [](const nn::LSTMCell& cell) {
    for (const Parameter& parameter : parameters(const_cast<nn::LSTMCell&>(cell)))
      if (parameter.name == "bias_ih") return parameter.read();
    return Tensor();
  };
  const Tensor loss = error(first.h, numbers({0.5}, {1, 1})) + error(second.h, numbers({1.25}, {1, 1}));
  const auto d = grad(loss, {second.h, second.c, x1, bias(cell1), first.h, first.c, x0, bias(cell0), before});
  expect_printed(d[0], {-0.47803});  // δout₁
  expect_printed(d[1], {-0.07111});  // δstate₁
  expect_printed(d[2], {-0.04743, -0.03073});  // δx₁
  expect_printed(d[3], {-0.00112, -0.00631, -0.01938, -0.05538});  // δi₁ δf₁ δa₁ δo₁
  expect_printed(d[4], {0.01803});  // δout₀ = Δ₀ + Δout₀
  EXPECT_NEAR(d[4].item<double>() - (0.53631 - 0.5), -0.01828, kPrinted);  // Δout₀
  expect_printed(d[5], {-0.05349});  // δstate₀
  expect_printed(d[6], {-0.00817, -0.00487});  // δx₀
  expect_printed(d[7], {-0.00165, 0, -0.01703, 0.00176});  // δi₀ δf₀ δa₀ δo₀
  expect_printed(d[8], {-0.00343});  // Δout₋₁
}

TEST(WorkedLstm, GatesAreThePrintedOnes) {
  const auto gates = [](const Tensor& x, const Tensor& h) {
    const Tensor z = linear(x, weights().at("weight_ih"), weights().at("bias_ih")) + linear(h, weights().at("weight_hh"));
    const auto parts = chunk(z, 4, 1);
    return concat({sigmoid(parts[0]), sigmoid(parts[1]), tanh(parts[2]), sigmoid(parts[3])}, 1);
  };
  expect_printed(gates(numbers({1, 2}, {1, 2}), zeros({1, 1}, f64)), {0.96083, 0.85195, 0.81775, 0.81757});
  expect_printed(gates(numbers({0.5, 3}, {1, 2}), numbers({0.53631}, {1, 1})), {0.98118, 0.87030, 0.84980, 0.84993});
}

TEST(WorkedLstm, SummedGradientsAndUpdatedWeightsOfTheLayer) {
  auto lstm = with_weights<nn::LSTM>("_l0");
  Parameters trained;  // the lecture has one of the two biases, whose gradients are the same
  for (const Parameter& parameter : parameters(lstm))
    if (parameter.name != "bias_hh_l0") trained.push_back(parameter);
  ASSERT_EQ(trained.size(), 3u);
  optim::SGD sgd(trained, {.lr = 0.1});
  auto step = jit([&](Tensor x, Tensor y) {
    const std::vector<Tensor> gradients = grad(error(lstm(x).output, y), trained);
    sgd.step(gradients);
    return gradients;
  });
  const auto d = step(numbers(kX, {2, 1, 2}), numbers(kY, {2, 1, 1}));
  expect_printed(d[0], {-0.00221, -0.00666, -0.00316, -0.01893, -0.02672, -0.0922, -0.02593, -0.16262}, kTimesInput);  // δW
  expect_printed(d[1], {-0.00060, -0.00338, -0.01039, -0.02970});  // δU
  expect_printed(d[2], {-0.00277, -0.00631, -0.03641, -0.05362});  // δb
  expect_printed(trained[0].read(), {0.95022, 0.80067, 0.70031, 0.45189, 0.45267, 0.25922, 0.60259, 0.41626});
  expect_printed(trained[1].read(), {0.80006, 0.10034, 0.15104, 0.25297});
  expect_printed(trained[2].read(), {0.65028, 0.15063, 0.20364, 0.10536});
}

TEST(WorkedLstm, IsTheLecturesFormulasInDouble) {
  auto lstm = with_weights<nn::LSTM>("_l0");
  const auto all = parameters(lstm);
  const Tensor loss = error(lstm(numbers(kX, {2, 1, 2})).output, numbers(kY, {2, 1, 1}));
  const auto d = grad(loss, all);
  // Forward and backward as they are printed, in double.
  const double w[4][2] = {{0.95, 0.8}, {0.7, 0.45}, {0.45, 0.25}, {0.6, 0.4}}, u[4] = {0.8, 0.1, 0.15, 0.25}, b[4] = {0.65, 0.15, 0.2, 0.1};
  double gate[2][4], state[3] = {0, 0, 0}, out[3] = {0, 0, 0};  // state[t + 1] is state_t
  for (int t = 0; t < 2; ++t) {
    for (int k = 0; k < 4; ++k) {
      const double z =
          w[k][0] * kX[static_cast<std::size_t>(2 * t)] + w[k][1] * kX[static_cast<std::size_t>(2 * t + 1)] + u[k] * out[t] + b[k];
      gate[t][k] = k == 2 ? std::tanh(z) : 1 / (1 + std::exp(-z));
    }
    state[t + 1] = gate[t][2] * gate[t][0] + gate[t][1] * state[t];
    out[t + 1] = std::tanh(state[t + 1]) * gate[t][3];
  }
  double dw[8] = {}, du[4] = {}, db[4] = {}, dout = 0, dstate = 0;
  for (int t = 1; t >= 0; --t) {
    const auto& [i, f, a, o] = gate[t];
    const double e = out[t + 1] - kY[static_cast<std::size_t>(t)] + dout, squashed = std::tanh(state[t + 1]);
    dstate = e * o * (1 - squashed * squashed) + (t == 1 ? 0 : dstate * gate[1][1]);
    const double dgate[4] = {dstate * a * i * (1 - i), dstate * state[t] * f * (1 - f), dstate * i * (1 - a * a),
                             e * squashed * o * (1 - o)};
    dout = 0;
    for (int k = 0; k < 4; ++k) {
      dout += u[k] * dgate[k], du[k] += dgate[k] * out[t], db[k] += dgate[k];
      for (int j = 0; j < 2; ++j) dw[2 * k + j] += dgate[k] * kX[static_cast<std::size_t>(2 * t + j)];
    }
  }
  expect_close(d[0], std::vector<double>(dw, dw + 8), 1e-15);
  expect_close(d[1], std::vector<double>(du, du + 4), 1e-15);
  expect_close(d[2], std::vector<double>(db, db + 4), 1e-15);
}

}  // namespace
}  // namespace tegula
