// Finding the origin of NaN and infinities: find_nonfinite and TEGULA_CHECK=nan.

#include "tegula/compile/check_finite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/core/check.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

const auto kInfinity = std::numeric_limits<float>::infinity();

struct Checked : Checking {
  Checked() : Checking(Check::Nan) {}
};

/// The error that f throws; an empty one when it throws none.
Report error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) { return error.report(); }
  return {};
}

struct Net {
  nn::Linear hidden{2, 4}, out{4, 1};
  Tensor operator()(Tensor x) { return out(log(hidden(x))); }
};

TEST(FindNonFinite, SaysNothingOfNumbers) {
  const Tensor x = tensor({1.f, 2.f});
  EXPECT_FALSE(find_nonfinite(exp(x) / x));
  EXPECT_FALSE(find_nonfinite(std::vector<Tensor>{x, zeros({0}), arange(3)}));
}

TEST(FindNonFinite, NamesTheFirstOpItsLineAndTheRangesOfItsInputs) {
  const Tensor x = tensor({1.f, -2.f, 4.f}), y = x * 2;
  const unsigned line = __LINE__ + 1;
  const Tensor root = sqrt(y);
  const auto found = find_nonfinite(mean(square(root) + x));
  ASSERT_TRUE(found);
  EXPECT_TRUE(contains(found->op, "sqrt")) << found->op;
  EXPECT_EQ(found->where.line(), line);
  EXPECT_EQ(found->result.nans, 1);
  EXPECT_EQ(found->result.infinities, 0);
  EXPECT_FALSE(found->given);
  ASSERT_EQ(found->inputs.size(), 1U);
  EXPECT_EQ(found->inputs[0].minimum, -4);
  EXPECT_EQ(found->inputs[0].maximum, 8);
  EXPECT_TRUE(contains(found->text(), ": f32(3,) from 1.414 to 2.828, 1 nan; of ")) << found->text();
  EXPECT_TRUE(contains(found->text(), "f32(3,) from -4 to 8")) << found->text();
}

TEST(FindNonFinite, AnInfinityThatAMaskTakesOutAgainIsNoMatter) {
  const Tensor x = tensor({0.f, 1.f});
  EXPECT_FALSE(find_nonfinite(where(x > 0, log(x), 0.f)));
  EXPECT_FALSE(find_nonfinite(softmax(masked_fill(x, tensor({true, false}), -kInfinity), 0)));
}

TEST(FindNonFinite, AGradientIsNamedAsSuchWithTheLineOfItsOp) {
  Variable w = tensor({0.f, 4.f});
  const unsigned line = __LINE__ + 1;
  const Tensor y = sum(sqrt(w));
  const Tensor dw = grad(y, w);
  EXPECT_FALSE(find_nonfinite(y));
  const auto found = find_nonfinite(dw);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->op.starts_with("grad/sqrt")) << found->op;
  EXPECT_EQ(found->where.line(), line);
  EXPECT_EQ(found->result.infinities, 1);
}

TEST(FindNonFinite, NaNOfInfinitiesNamesWhatMadeTheInfinity) {
  const Tensor x = tensor({1.f, 100.f});
  const Tensor big = exp(x);  // beyond f32
  const auto found = find_nonfinite(big - big);
  ASSERT_TRUE(found);
  EXPECT_TRUE(contains(found->op, "exp")) << found->op;
  EXPECT_EQ(found->result.infinities, 1);
  // One that the program gave is not the culprit: a row that is masked altogether is softmax's NaN.
  const auto masked = find_nonfinite(softmax(full({2, 2}, -kInfinity), 1));
  ASSERT_TRUE(masked);
  EXPECT_FALSE(masked->given) << masked->text();
}

TEST(FindNonFinite, DataAndVariablesAreNamedAsSuch) {
  const Tensor data = tensor({1.f, NAN});
  const auto found = find_nonfinite(sum(data * 2));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->given);
  EXPECT_EQ(found->op, "data");
  Net net;
  parameters(net);
  net.out.weight = net.out.weight * NAN;
  net.out.weight.to_host();
  const auto weight = find_nonfinite(net.out(ones({1, 4})));
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->op, "'out.weight'");
}

TEST(FindNonFinite, NamesTheModuleAndItsParameters) {
  manual_seed(3);
  Net net;
  parameters(net);
  net.hidden.bias = -10.f;
  const auto found = find_nonfinite(net(ones({3, 2})));
  ASSERT_TRUE(found);
  EXPECT_TRUE(contains(found->op, "log"));
  EXPECT_EQ(found->module, "hidden");
}

TEST(FindNonFinite, SortsPartsAreFollowed) {
  const Tensor x = tensor({1.f, 0.f}), y = log(x);
  const auto found = find_nonfinite(sum(topk(y, 2).values));
  ASSERT_TRUE(found);
  EXPECT_TRUE(contains(found->op, "log")) << found->op;
}

TEST(CheckNan, AJitTedStepThatDivergesNamesTheOpOfTheStepInWhichItHappened) {
  const Checked checked;
  Variable w = tensor({1.f, 2.f});
  int steps = 0;
  auto step = jit([&](Tensor x) {
    Tensor loss = sum(log(w * x));  // here: w falls below zero
    w = w - 0.5;
    return loss;
  });
  const Report report = error_of([&] {
    for (; steps < 10; ++steps) step(ones({2}));
  });
  EXPECT_EQ(steps, 2);  // w is 1, 0.5, 0
  EXPECT_TRUE(contains(report.op, "log")) << report.op;
  EXPECT_TRUE(contains(report.got, "1 infinite")) << report.got;
  EXPECT_TRUE(contains(report.expected, "TEGULA_CHECK=nan"));
  EXPECT_TRUE(contains(to_string(report.where), "check_finite_test.cpp:"));
}

TEST(CheckNan, AWrittenVariableIsLookedAtToo) {
  const Checked checked;
  Variable w = tensor({1.f}), count = tensor({0.f});
  const Report report = error_of([&] {
    w = w / count;
    ones({2}).to_host();
    (ones({2}) + 1).to_host();
  });
  EXPECT_TRUE(contains(report.op, "div")) << report.op << report.got;
}

TEST(CheckNan, NumbersThatAreRightGiveTheSameAsWithout) {
  const auto train = [] {
    manual_seed(1);
    Net net;
    net.hidden.bias = 5.f;
    optim::SGD sgd(parameters(net), {.lr = 0.01});
    auto step = jit([&](Tensor x) {
      Tensor loss = mean(square(net(x)));
      sgd.step(grad(loss, parameters(net)));
      return loss;
    });
    std::vector<float> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(step(ones({3, 2})).item());
    step.repeat(2, ones({3, 2}));
    losses.push_back(step(ones({3, 2})).item());
    return losses;
  };
  const auto plain = train();
  const Checked checked;
  const auto again = train();
  ASSERT_EQ(plain.size(), again.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], again[i], 1e-5 * std::abs(plain[i])) << i;
}

TEST(CheckNan, MasksOfTheProgramMayBeLookedAt) {
  const Checked checked;
  const Tensor mask = where(tensor({true, false}), -kInfinity, 0.f);
  EXPECT_EQ(mask.to_host()[0], -kInfinity);
  EXPECT_EQ(error_of([] { (tensor({1.f}) / 0.f).to_host(); }).op, "divide");
}

TEST(CheckNan, ParametersWithoutAGradientAreNamed) {
  Net net;
  const Tensor loss = sum(net.hidden(ones({1, 2})));
  EXPECT_EQ(without_gradient(loss, parameters(net)), (std::vector<std::string>{"out.weight", "out.bias"}));
  std::vector<std::string> heard;
  set_warning_handler([&](const std::string& name, const std::string& text) { heard.push_back(name + ": " + text); });
  grad(loss, parameters(net));
  EXPECT_TRUE(heard.empty());
  const Checked checked;
  grad(loss, parameters(net));
  set_warning_handler(nullptr);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_TRUE(contains(heard[0], "grad.unreached: ")) << heard[0];
  EXPECT_TRUE(contains(heard[0], "'out.weight', 'out.bias'")) << heard[0];
}

TEST(CheckNan, IsAWordOfTheList) {
  EXPECT_EQ(parse_checks("nan", [](std::string_view) { FAIL(); }), 1U << static_cast<unsigned>(Check::Nan));
}

}  // namespace
}  // namespace tegula
