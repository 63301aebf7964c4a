// "Neural networks from scratch: GPUs and neural networks" (Heidelberg University, HAWAII group): two ways to write the gradient of the
// sigmoid, and the linear layer's gradient divided by the batch size.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/support/values.h"

namespace tegula::test {
namespace {

TEST(HeidelbergLecture, BothSigmoidGradientsAreTheSame) {
  std::mt19937 engine(1);
  const std::vector<double> numbers = random_numbers(64, engine, -8, 8), directions = random_numbers(64, engine);
  const Tensor x = tensor(numbers, {64}), grad_output = tensor(directions, {64});
  const Tensor output = sigmoid(x);

  const Tensor direct = grad_output * exp(-x) / pow(1.0 + exp(-x), 2.0);
  const Tensor with_itself = output * (1.0 - output) * grad_output;
  const Tensor ours = vjp({output}, {grad_output}, {x})[0];
  std::vector<double> expected;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double s = 1 / (1 + std::exp(-numbers[i]));
    expected.push_back(s * (1 - s) * directions[i]);
  }
  expect_close(direct, expected, 1e-14);
  expect_close(with_itself, expected, 1e-14);
  expect_close(ours, expected, 1e-14);
}

TEST(HeidelbergLecture, OursStaysFiniteWhereTheDirectFormDoesNot) {
  const Tensor x = tensor({-1000.0, 1000.0});
  const Tensor direct = exp(-x) / pow(1.0 + exp(-x), 2.0);
  EXPECT_TRUE(std::isnan(direct.to_host<double>()[0]));
  expect_close(grad(sum(sigmoid(x)), x), {0, 0}, 0);
}

TEST(HeidelbergLecture, TheLinearGradientDividedByTheBatchSizeIsThatOfTheMeanLoss) {
  constexpr std::int64_t kBatch = 6, kIn = 4, kOut = 3;
  std::mt19937 engine(2);
  const Tensor input = tensor(random_numbers(kBatch * kIn, engine), {kBatch, kIn});
  const Tensor weight = tensor(random_numbers(kIn * kOut, engine), {kIn, kOut});
  const Tensor bias = tensor(random_numbers(kOut, engine), {kOut});
  const Tensor grad_output = tensor(random_numbers(kBatch * kOut, engine), {kBatch, kOut});

  // The lecture's layer.
  const Tensor grad_input = matmul(grad_output, transpose(weight));
  const Tensor grad_weight = (1.0 / kBatch) * matmul(transpose(input), grad_output);
  const Tensor grad_bias = (1.0 / kBatch) * sum(grad_output, 0);

  // A loss per sample whose gradient is grad_output, averaged over the batch.
  const Tensor output = matmul(input, weight) + bias;
  const Tensor loss = sum(output * grad_output) / static_cast<double>(kBatch);
  const auto ours = grad(loss, {Wrt(weight), Wrt(bias), Wrt(input)});
  expect_close(ours[0], grad_weight.to_host<double>(), 1e-14);
  expect_close(ours[1], grad_bias.to_host<double>(), 1e-14);
  expect_close(ours[2] * static_cast<double>(kBatch), grad_input.to_host<double>(), 1e-14);
}

TEST(HeidelbergLecture, TheStepDoesNotDependOnTheBatchSize) {
  std::mt19937 engine(3);
  const std::vector<double> rows = random_numbers(4 * 5, engine);
  std::vector<double> twice = rows;
  twice.insert(twice.end(), rows.begin(), rows.end());
  const Tensor weight = tensor(random_numbers(5, engine), {5, 1});
  const auto step = [&](const Tensor& x) { return grad(mean(square(matmul(x, weight) - 1.0)), weight); };
  expect_close(step(tensor(twice, {8, 5})), step(tensor(rows, {4, 5})).to_host<double>(), 1e-14);
}

}  // namespace
}  // namespace tegula::test
