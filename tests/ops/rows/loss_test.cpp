#include "tegula/ops/rows/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tests/support/message.h"
#include "tests/support/occurrences.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

Values random_values(std::size_t n, int seed, double low = -3, double high = 3) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> draw(low, high);
  Values values(n);
  for (auto& x : values) x = draw(engine);
  return values;
}

INSTANTIATE_DECLARED_CASES(Loss, loss_cases());
INSTANTIATE_DECLARED_CASES(ClassLoss, class_loss_cases());

TEST(Loss, AgreesWithTheDefinitions) {
  const Values x = random_values(12, 1), t = random_values(12, 2);
  const auto mean_of = [&](auto f) {
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += f(x[i], t[i]);
    return total / static_cast<double>(x.size());
  };
  const Tensor a = tensor(x, {12}), b = tensor(t, {12});
  EXPECT_NEAR(mse_loss(a, b).item<double>(), mean_of([](double u, double v) { return (u - v) * (u - v); }), 1e-14);
  EXPECT_NEAR(l1_loss(a, b).item<double>(), mean_of([](double u, double v) { return std::fabs(u - v); }), 1e-14);
  EXPECT_NEAR(huber_loss(a, b, {.delta = 0.5}).item<double>(), mean_of([](double u, double v) {
                const double d = std::fabs(u - v);
                return d < 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
              }),
              1e-14);
  EXPECT_NEAR(smooth_l1_loss(a, b, {.beta = 0.5}).item<double>(), mean_of([](double u, double v) {
                const double d = std::fabs(u - v);
                return d < 0.5 ? d * d : d - 0.25;
              }),
              1e-14);
  const auto sigmoid = [](double u) { return 1 / (1 + std::exp(-u)); };
  EXPECT_NEAR(binary_cross_entropy_with_logits(a, abs(b) / 4).item<double>(), mean_of([&](double u, double v) {
                const double y = std::fabs(v) / 4;
                return -(y * std::log(sigmoid(u)) + (1 - y) * std::log(1 - sigmoid(u)));
              }),
              1e-13);
  EXPECT_NEAR(kl_div(a, abs(b)).item<double>(), mean_of([](double u, double v) { return std::fabs(v) * (std::log(std::fabs(v)) - u); }),
              1e-13);
  EXPECT_NEAR(hinge_loss(a, b).item<double>(), mean_of([](double u, double v) { return std::max(0.0, 1 - u * v); }), 1e-14);
  EXPECT_EQ(mse_loss(a, b, {LossReduction::None}).shape(), (Shape{12}));
}

TEST(Loss, EdgesStayFinite) {
  EXPECT_EQ(binary_cross_entropy(tensor({0.0, 1.0}), tensor({1.0, 1.0}), {.reduction = LossReduction::None}).to_host<double>(),
            (Values{100, 0}));
  const Tensor x = tensor({-1000.0, 0.0, 1000.0}), t = tensor({0.0, 0.0, 1.0});
  const auto losses = binary_cross_entropy_with_logits(x, t, {.reduction = LossReduction::None}).to_host<double>();
  EXPECT_EQ(losses[0], 0);
  EXPECT_NEAR(losses[1], std::log(2.0), 1e-15);
  EXPECT_EQ(losses[2], 0);
  EXPECT_EQ(grad(sum(binary_cross_entropy_with_logits(x, t, {.reduction = LossReduction::None})), x).to_host<double>(),
            (Values{0, 0.5, 0}));
  EXPECT_EQ(kl_div(tensor({-1.0}), tensor({0.0})).item<double>(), 0);
}

// -log softmax, by hand.
double negative_log(const Values& logits, std::size_t begin, std::size_t classes, std::size_t label) {
  double total = 0;
  for (std::size_t c = 0; c < classes; ++c) total += std::exp(logits[begin + c]);
  return std::log(total) - logits[begin + label];
}

TEST(CrossEntropy, AgreesWithTheDefinition) {
  const Values x = random_values(6 * 5, 3);
  const std::vector<std::int64_t> labels{0, 4, 2, 2, 1, 3};
  const Values w{0.5, 1, 2, 1.5, 0.25};
  const Tensor logits = tensor(x, {6, 5}), y = tensor(labels, {6}), weight = tensor(w, {5});
  double plain = 0, weighted = 0, factors = 0, ignoring = 0, smooth = 0;
  for (std::size_t n = 0; n < 6; ++n) {
    const auto label = static_cast<std::size_t>(labels[n]);
    const double loss = negative_log(x, n * 5, 5, label);
    plain += loss;
    weighted += w[label] * loss, factors += w[label];
    if (label != 2) ignoring += loss;
    for (std::size_t c = 0; c < 5; ++c) smooth += 0.1 / 5 * negative_log(x, n * 5, 5, c);
    smooth += 0.9 * loss;
  }
  EXPECT_NEAR(cross_entropy(logits, y).item<double>(), plain / 6, 1e-14);
  EXPECT_NEAR(cross_entropy(logits, y, {.reduction = LossReduction::Sum}).item<double>(), plain, 1e-13);
  EXPECT_NEAR(cross_entropy(logits, y, {.weight = weight}).item<double>(), weighted / factors, 1e-14);
  EXPECT_NEAR(cross_entropy(logits, y, {.ignore_index = 2}).item<double>(), ignoring / 4, 1e-14);
  EXPECT_NEAR(cross_entropy(logits, y, {.label_smoothing = 0.1}).item<double>(), smooth / 6, 1e-14);
  Values one_hot(30, 0);
  for (std::size_t n = 0; n < 6; ++n) one_hot[n * 5 + static_cast<std::size_t>(labels[n])] = 1;
  EXPECT_NEAR(cross_entropy(logits, tensor(one_hot, {6, 5})).item<double>(), plain / 6, 1e-14);
  EXPECT_NEAR(cross_entropy(logits, tensor(one_hot, {6, 5}), {.label_smoothing = 0.1}).item<double>(), smooth / 6, 1e-14);
}

TEST(CrossEntropy, TheGradientIsSoftmaxMinusOneHot) {
  const Values x = random_values(3 * 4, 4);
  const std::vector<std::int64_t> labels{3, 0, 1};
  const Tensor logits = tensor(x, {3, 4});
  const auto g = grad(cross_entropy(logits, tensor(labels, {3})), logits).to_host<double>();
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t c = 0; c < 4; ++c) {
      const double softmax = std::exp(-negative_log(x, n * 4, 4, c));
      EXPECT_NEAR(g[n * 4 + c], (softmax - (static_cast<std::int64_t>(c) == labels[n])) / 3, 1e-15);
    }
  }
}

TEST(CrossEntropy, LargeLogitsAndMinusInfinityStayFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor logits = tensor({1000.f, 0.f, -inf, 3.f}, {1, 4}), label = tensor({std::int64_t{0}});
  EXPECT_EQ(cross_entropy(logits, label).item(), 0);
  for (float g : grad(cross_entropy(logits, label), logits).to_host()) EXPECT_TRUE(std::isfinite(g));
}

TEST(CrossEntropy, LossAndGradientAreOnePass) {
  // Loss and gradient read the logits once.
  auto step = jit([](Tensor logits, Tensor labels) {
    const Tensor loss = cross_entropy(logits, labels);
    return std::pair{loss, grad(loss, logits)};
  });
  const Tensor logits = tensor(random_values(64 * 10, 5), {64, 10});
  step(logits, tensor(std::vector<std::int64_t>(64, 3), {64}));
  const std::string plan = step.print_plan();
  // Only one step reads the logits …
  EXPECT_EQ(test::occurrences(plan, "=leaf#0"), 1) << plan;
  EXPECT_EQ(test::occurrences(plan, "checks"), 1) << plan;  // … and looks at the labels on the way
}

TEST(CrossEntropy, ALabelOutsideIsAnErrorAtTheUsersLine) {
  const Tensor logits = tensor(random_values(3 * 4, 6), {3, 4});
  const Tensor labels = tensor(std::vector<std::int64_t>{3, 7, 0}, {3});
  const std::string text = message_of([&] { cross_entropy(logits, labels).item(); });
  EXPECT_NE(text.find("label 7"), std::string::npos) << text;
  EXPECT_NE(text.find("[0, 4)"), std::string::npos) << text;
  EXPECT_NE(text.find("loss_test.cpp:"), std::string::npos) << text;
  const Tensor negative = tensor(std::vector<std::int64_t>{-100, 0, 0}, {3});
  EXPECT_NE(message_of([&] { cross_entropy(logits, negative).item(); }).find("label -100"), std::string::npos);
  EXPECT_EQ(message_of([&] { cross_entropy(logits, negative, {.ignore_index = -100}).item(); }), "");
  EXPECT_NE(message_of([&] { grad(cross_entropy(logits, labels), logits).to_host(); }).find("label 7"), std::string::npos);
}

TEST(CrossEntropy, AWrongLabelLeavesTheStateAlone) {
  Variable w(tensor({1.f, 2.f, 3.f, 4.f}, {1, 4}));
  auto step = jit([&](Tensor labels) {
    const Tensor loss = cross_entropy(w, labels);
    w = w - grad(loss, w);
    return loss;
  });
  EXPECT_THROW(step(tensor({std::int64_t{4}})).item(), Error);
  EXPECT_EQ(w.read().to_host(), (std::vector<float>{1, 2, 3, 4}));
}

TEST(CrossEntropy, WrongShapesAndDtypesAreErrorsAtTheCall) {
  const Tensor logits = tensor(random_values(12, 7), {3, 4});
  EXPECT_NE(message_of([&] { cross_entropy(logits, tensor(std::vector<std::int64_t>{1, 2}, {2})); }).find("expected labels of shape (3,)"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              cross_entropy(logits, tensor({1.f, 2.f, 3.f}));
            }).find("cross_entropy: got scores f64(3, 4) and labels f32(3,), expected labels of an integer dtype"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              cross_entropy(logits, tensor(std::vector<std::int64_t>{1, 2, 0}, {3}), {.label_smoothing = 2});
            }).find("a share between 0 and 1"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              cross_entropy(logits, tensor(std::vector<std::int64_t>{1, 2, 0}, {3}), {.weight = logits});
            }).find("class weights of shape (3, 4)"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { mse_loss(logits, tensor({1.0, 2.0, 3.0})); }).find("mse_loss: got input of shape (3, 4) and target of shape (3,)"),
      std::string::npos);
}

}  // namespace
}  // namespace tegula
