// A Variable is a place, and a value read from it is a leaf of its own, in every mode, before and after a look.

#include <gtest/gtest.h>

#include <thread>

#include "tegula/tegula.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using Floats = std::vector<float>;

/// The warnings of some name while it lives.
struct Warnings {
  explicit Warnings(std::string wanted) {
    set_warning_handler([this, wanted](const std::string& name, const std::string& text) {
      if (name == wanted) texts.push_back(text);
    });
  }
  ~Warnings() { set_warning_handler(nullptr); }
  std::vector<std::string> texts;
};

float gradient_of_first(Variable& a, Variable& b) { return grad(sum(2 * a + 3 * b), a).to_host()[0]; }

TEST(VariableLeaf, ACopyHasAGradientOfItsOwn) {
  Variable a = tensor({1.f, 2.f});
  Variable copy = a, later = zeros({2}), computed = a * 1.0, twice = computed;
  later = a;
  EXPECT_EQ(gradient_of_first(a, copy), 2);
  EXPECT_EQ(gradient_of_first(a, later), 2);
  EXPECT_EQ(gradient_of_first(computed, twice), 2);  // pending
  eval(computed.read(), twice.read());
  EXPECT_EQ(gradient_of_first(computed, twice), 2);
}

TEST(VariableLeaf, VariablesGivenOneTensorDoNotShareItsGradient) {
  const Tensor zero = zeros({2}), value = tensor({1.f, 2.f});
  Variable a = zero, b = zero, w = value;
  EXPECT_EQ(gradient_of_first(a, b), 2);
  EXPECT_EQ(grad(sum(w * value), w).to_host(), (Floats{1, 2}));
  EXPECT_EQ(grad(sum(w * value), value).to_host(), (Floats{1, 2}));
}

TEST(VariableLeaf, ATargetNetworkIsNotTrained) {
  manual_seed(3);
  nn::Linear net(4, 2), target = net;
  const Tensor x = normal({8, 4}), reward = normal({8, 2});
  eval(x, reward);
  const auto gradient = [&](Tensor input) { return grad(mse_loss(net(input), reward + 0.9 * target(input)), net.weight); };
  auto jitted = jit(gradient);
  const Floats plain = gradient(x).to_host(), traced = jitted(x).to_host();
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], traced[i], 1e-5);
  EXPECT_TRUE(contains(message_of([&] { grad(sum(target(x)), net.weight); }), "depends on none of"));
}

// The gradients by A of the value read after `state = A * 2`, and of the tensor that was assigned.
std::vector<Tensor> through_state(Variable& state, const Tensor& A, bool look) {
  const Tensor assigned = A * 2;
  state = assigned;
  const Tensor h = state;
  if (look) h.to_host();
  return {grad(sum(h * A), A), grad(sum(assigned * A), A)};
}

TEST(VariableLeaf, WhatIsReadIsALeafInEveryMode) {
  const Tensor A = tensor({3.f});
  Variable state = zeros({1});
  const auto check = [&](const std::vector<Tensor>& got, const char* mode) {
    EXPECT_EQ(got[0].to_host(), (Floats{6})) << mode;
    EXPECT_EQ(got[1].to_host(), (Floats{12})) << mode;
  };
  check(through_state(state, A, false), "pending");
  check(through_state(state, A, true), "looked at");
  set_eager(true);
  check(through_state(state, A, false), "eager");
  set_eager(false);
  auto f = jit([&](Tensor x) { return through_state(state, x, false); });
  for (int call = 1; call <= 5; ++call) check(f(A), "jit");
}

TEST(VariableLeaf, AValueReadFromAnotherVariableInATraceDoesNotShareItsGradient) {
  Variable a = zeros({2}), b = tensor({1.f, 2.f});
  const auto f = [&] {
    a = b.read();
    return grad(sum(2 * a + 3 * b), b);
  };
  auto jitted = jit(f);
  EXPECT_EQ(f().to_host(), (Floats{3, 3}));
  EXPECT_EQ(jitted().to_host(), (Floats{3, 3}));
  EXPECT_EQ(jitted().to_host(), (Floats{3, 3}));
}

TEST(VariableLeaf, AGradientThatEndsAtAUsersOwnAssignmentIsSaidOnceWithBothLines) {
  const Warnings warnings("grad.assigned");
  Variable state = zeros({1});
  const Tensor x = tensor({3.f});
  int line = 0;
  for (int i = 0; i < 3; ++i) {
    line = __LINE__;
    state = x * 2;
    grad(sum(state * x), x).to_host();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);
  const std::string& text = warnings.texts[0];
  for (int at : {line + 1, line + 2}) EXPECT_TRUE(contains(text, "variable_test.cpp:" + std::to_string(at))) << text;
}

TEST(VariableLeaf, OptimisersAndStatisticsEndGradientsSilently) {
  const Warnings warnings("grad.assigned");
  nn::Sequential net{nn::Linear{4, 4}, nn::BatchNorm1d{4}, nn::Dropout{0.5}, nn::Linear{4, 1}};
  optim::Adam adam(parameters(net));
  const Tensor x = normal({8, 4});
  eval(x);
  auto step = jit([&](Tensor input) {
    for (int i = 0; i < 2; ++i) adam.step(grad(mean(square(net(input))), parameters(net)));
    return mean(net(input));
  });
  for (int i = 0; i < 3; ++i) {
    adam.step(grad(mean(square(net(x))), parameters(net)));
    step(x);
  }
  EXPECT_TRUE(warnings.texts.empty()) << warnings.texts[0];
}

TEST(VariableLeaf, TwoStepsInOneTraceAreTwoSteps) {
  const auto train = [](bool traced) {
    Variable w = tensor({1.f, -2.f});
    const auto two = [&](Tensor x) {
      for (int i = 0; i < 2; ++i) w = w - 0.1 * grad(sum(square(w * x)), w);
      return sum(w);
    };
    auto jitted = jit(two);
    for (int i = 0; i < 3; ++i) traced ? jitted(tensor({1.f, 0.5f})) : two(tensor({1.f, 0.5f}));
    return w.read().to_host();
  };
  const Floats plain = train(false), traced = train(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], traced[i], 1e-6);
}

TEST(VariableLeaf, AVariableAssignedAfterItsUseIsRefusedAndNamed) {
  Variable w = tensor({1.f, 2.f}), b = zeros({2});
  const Tensor y = sum(w * w + b);
  y.item();
  w = w - 1;
  const std::string line = "variable_test.cpp:" + std::to_string(__LINE__ - 1);
  for (const std::string& message : {message_of([&] { grad(y, {w, b}); }), message_of([&] { grad(y + sum(w), w); })}) {
    EXPECT_TRUE(contains(message, "Variable #0, which was assigned at") && contains(message, line)) << message;
  }
  EXPECT_EQ(grad(y, b).to_host(), (Floats{1, 1}));
  auto jitted = jit([&](Tensor x) {
    const Tensor before = sum(w * x);
    w = w + x;
    return grad(before, w);
  });
  EXPECT_TRUE(contains(message_of([&] { jitted(tensor({1.f, 1.f})); }), "Variable #0, which was assigned at"));
}

TEST(VariableLeaf, AListOfOneVariableGivesAListOfOneGradient) {
  Variable w = tensor({1.f, 2.f});
  const Tensor t = tensor({3.f});
  const std::vector<Tensor> g = grad(sum(w * w), {w}), h = grad(sum(t * t), {t});
  EXPECT_EQ(g.size(), 1u);
  EXPECT_EQ(g[0].to_host(), (Floats{2, 4}));
  EXPECT_EQ(h[0].to_host(), (Floats{6}));
}

TEST(PendingWrites, AFailedWriteHarmsNobodyElse) {
  const auto fail = [](Variable& w) { w = take(arange(4), tensor<std::int64_t>({9})); };
  {
    Variable gone = zeros({1}, i64);
    fail(gone);
  }
  EXPECT_EQ((ones({2}) + 1).to_host(), (Floats{2, 2}));

  Variable w = zeros({1}, i64), fine = zeros({1});
  fail(w);
  fine = fine + 1;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((ones({2}) + 1).to_host(), (Floats{2, 2}));
    EXPECT_TRUE(contains(message_of([&] { w.read().to_host(); }), "9"));
    EXPECT_EQ(fine.read().to_host(), (Floats{1}));
  }
  auto f = jit([&](Tensor x) { return x + cast(w, f32); });
  EXPECT_TRUE(contains(message_of([&] { f(ones({1})); }), "9"));
  w = zeros({1}, i64);
  EXPECT_EQ(f(ones({1})).to_host(), (Floats{1}));
}

TEST(PendingWrites, AModelThatWasNeverComputedDies) {
  Ref<Cell> cell;
  {
    nn::Linear layer(100, 100);
    cell = layer.weight.cell();
  }
  EXPECT_EQ(cell->use_count(), 1);
}

TEST(PendingWrites, AThreadThatEndsLeavesItsWritesToWhoeverReads) {
  Variable w = zeros({2});
  std::thread([&] { w = w + 1; }).join();
  EXPECT_EQ(w.read().to_host(), (Floats{1, 1}));
  std::thread([&] { w = w + 1; }).join();
  auto f = jit([&] { return w + 1; });
  EXPECT_EQ(f().to_host(), (Floats{3, 3}));
}

}  // namespace
}  // namespace tegula
