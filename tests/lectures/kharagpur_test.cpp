// "Efficient neural network training/inferencing" (IIT Kharagpur, 2020): the perceptron on NAND, linear regression, and a two-layer
// network with J = 1/2 Σ (y - o)², which learns XOR; the perceptron does not.

#include <gtest/gtest.h>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/values.h"

namespace tegula::test {
namespace {

const std::vector<float> kInputs{0, 0, 0, 1, 1, 0, 1, 1};
const std::vector<double> kNand{1, 1, 1, 0}, kXor{0, 1, 1, 0};

// The lecture's perceptron: x = [x1, x2, 1], w = [w1, w2, b]; w += eta * (y - heaviside(w·x)) * x, one example after the other.
std::vector<double> perceptron(const std::vector<double>& targets, int epochs) {
  Variable w(tensor({0.f, 0.f, 0.f}));
  const auto heaviside = [](const Tensor& x) { return cast(x >= 0, f32); };
  auto learn = jit([&](Tensor x, Tensor y) {
    const Tensor predicted = heaviside(dot(w, x));
    w = w + (y - predicted) * 0.5 * x;
  });
  const auto example = [](std::size_t i) { return tensor({kInputs[2 * i], kInputs[2 * i + 1], 1.f}); };
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t i = 0; i < 4; ++i) learn(example(i), static_cast<float>(targets[i]));
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < 4; ++i) out.push_back(heaviside(dot(w, example(i))).item<double>());
  return out;
}

TEST(KharagpurLecture, ThePerceptronLearnsNand) { EXPECT_EQ(perceptron(kNand, 20), kNand); }

TEST(KharagpurLecture, NoPerceptronLearnsXor) { EXPECT_NE(perceptron(kXor, 100), kXor); }

TEST(KharagpurLecture, LinearRegressionFindsSlopeAndIntercept) {
  std::mt19937 engine(4);
  const std::vector<double> numbers = random_numbers(64, engine);
  const Tensor x = tensor(numbers, {64}), y = 3.0 * x - 0.5;
  Variable w(tensor({0.0}, Shape{})), b(tensor({0.0}, Shape{}));
  auto step = jit([&](Tensor inputs, Tensor targets) {
    const Tensor loss = 0.5 * mean(square(targets - (w * inputs + b)));
    const auto gradients = grad(loss, {Wrt(w), Wrt(b)});
    w = w - 0.5 * gradients[0];
    b = b - 0.5 * gradients[1];
    return loss;
  });
  for (int i = 0; i < 400; ++i) step(x, y);
  EXPECT_NEAR(w.read().item<double>(), 3, 1e-9);
  EXPECT_NEAR(b.read().item<double>(), -0.5, 1e-9);
}

// Z = XW, A = f(Z), G = AW', O = f(G), with a column of ones for the biases of the first layer.
struct TwoLayers {
  Tensor x = tensor(std::vector<double>{0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1}, {4, 3});
  Tensor y = tensor(kXor, {4, 1});
  Tensor loss(const Tensor& w1, const Tensor& w2) const {
    const Tensor a = sigmoid(matmul(x, w1));
    const Tensor o = sigmoid(matmul(a, w2));
    return 0.5 * sum(square(y - o));
  }
};

TEST(KharagpurLecture, GradientsAreThoseOfTheDeltaRule) {
  const TwoLayers net;
  std::mt19937 engine(5);
  const Tensor w1 = tensor(random_numbers(3 * 3, engine), {3, 3}), w2 = tensor(random_numbers(3, engine), {3, 1});
  const Tensor a = sigmoid(matmul(net.x, w1)), o = sigmoid(matmul(a, w2));
  const Tensor delta1 = -(net.y - o) * o * (1.0 - o);                     // (4, 1)
  const Tensor delta2 = matmul(delta1, transpose(w2)) * a * (1.0 - a);    // (4, 3)
  const auto gradients = grad(net.loss(w1, w2), {Wrt(w1), Wrt(w2)});
  expect_close(gradients[1], matmul(transpose(a), delta1).to_host<double>(), 1e-14);
  expect_close(gradients[0], matmul(transpose(net.x), delta2).to_host<double>(), 1e-14);
}

TEST(KharagpurLecture, TwoLayersLearnXor) {
  const TwoLayers net;
  std::mt19937 engine(6);
  Variable w1(tensor(random_numbers(3 * 4, engine, -2, 2), {3, 4})), w2(tensor(random_numbers(4, engine, -2, 2), {4, 1}));
  auto step = jit([&] {
    const Tensor j = net.loss(w1, w2);
    const auto gradients = grad(j, {Wrt(w1), Wrt(w2)});
    w1 = w1 - 2.0 * gradients[0];
    w2 = w2 - 2.0 * gradients[1];
    return j;
  });
  const double first = step().item<double>();
  for (int i = 0; i < 4000; ++i) step();
  const double last = step().item<double>();
  EXPECT_LT(last, 0.02);
  EXPECT_LT(last, first / 10);
  const Tensor o = sigmoid(matmul(sigmoid(matmul(net.x, w1)), w2));
  const auto values = o.to_host<double>();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(values[i] > 0.5, kXor[i] > 0.5) << i;
}

}  // namespace
}  // namespace tegula::test
