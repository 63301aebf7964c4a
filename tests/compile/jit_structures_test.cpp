// Arguments and results of jit-ed functions beside Tensors: lists, pairs, tuples, arrays and plain structs of them.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

Floats host(const Tensor& x) { return x.defined() ? x.to_host() : Floats(); }

struct State {
  Tensor h, c;  // c may be missing
};
struct Step {
  State state;
  Tensors outputs;
};

Tensors weighted(const Tensors& xs) {
  Tensors out;
  for (std::size_t i = 0; i < xs.size(); ++i) out.push_back(xs[i] * (1.0 + static_cast<double>(i)));
  return out;
}

TEST(JitStructures, AListInAndOutHoldsTheValuesOfThePlainCall) {
  auto f = jit(weighted);
  for (int call = 0; call < 3; ++call) {
    const auto x = static_cast<float>(call);
    const Tensors out = f({tensor({x, 2.f}), tensor({x, 3.f, 4.f}), 5.f});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(host(out[0]), (Floats{x, 2}));
    EXPECT_EQ(host(out[1]), (Floats{2 * x, 6, 8}));
    EXPECT_EQ(host(out[2]), (Floats{15}));
  }
  EXPECT_EQ(f.executables(), 1);
  EXPECT_TRUE(f(Tensors()).empty());
  EXPECT_EQ(f(Tensors(9, ones({2}))).size(), 9u);
  EXPECT_EQ(f.executables(), 3);
}

TEST(JitStructures, TheSameTensorsInOtherListsAreAnotherSignature) {
  auto f = jit([](const Tensors& a, const Tensors& b) {
    Tensor total = 0.0f;
    for (const Tensor& x : a) total = total + x;
    for (const Tensor& x : b) total = total - x;
    return total;
  });
  const Tensor x = 1.0f, y = 10.0f, z = 100.0f;
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(Tensors{x}, Tensors{y, z}).item(), 1 - 110);
    EXPECT_EQ(f(Tensors{x, y}, Tensors{z}).item(), 11 - 100);
    EXPECT_EQ(f(Tensors{}, Tensors{x, y, z}).item(), -111);
  }
  EXPECT_EQ(f.executables(), 3);
}

TEST(JitStructures, ATensorAndAListOfOneAreTwoSignaturesOfAGenericFunction) {
  auto f = jit([](const auto& x) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Tensor>) return x + 1.0;
    else return x[0] + 2.0;
  });
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(Tensor(1.0f)).item(), 2);
    EXPECT_EQ(f(Tensors{1.0f}).item(), 3);
    EXPECT_EQ(f(std::array<Tensor, 1>{1.0f}).item(), 3);
  }
}

TEST(JitStructures, StructsPairsAndTuplesOfEachOtherAreKeptWithWhatIsEmptyInThem) {
  auto f = jit([](const State& state, const std::pair<Tensor, Tensors>& x, Tensor rate) {
    const Tensor h = state.h + x.first * rate;
    return std::tuple(Step{{h, state.c.defined() ? state.c * 2.0 : Tensor()}, {h, x.second.back()}}, std::array{h, h * h});
  });
  for (const bool has_c : {false, true, false, true}) {
    const State state{tensor({1.f, 2.f}), has_c ? tensor({3.f}) : Tensor()};
    const auto [step, powers] = f(state, std::pair(ones({2}), Tensors{zeros({1}), tensor({7.f})}), 0.5f);
    EXPECT_EQ(host(step.state.h), (Floats{1.5, 2.5}));
    EXPECT_EQ(host(step.state.c), has_c ? Floats{6} : Floats{});
    ASSERT_EQ(step.outputs.size(), 2u);
    EXPECT_EQ(host(step.outputs[1]), Floats{7});
    EXPECT_EQ(host(powers[1]), (Floats{2.25, 6.25}));
  }
  EXPECT_EQ(f.executables(), 2);
}

TEST(JitStructures, AnEmptyTensorIsReturnedAsOne) {
  auto f = jit([](Tensor) { return Tensor(); });
  EXPECT_FALSE(f(ones({2})).defined());
  EXPECT_FALSE(f(ones({2})).defined());
}

TEST(JitStructures, ResultsOfAnotherLengthAtTheSecondTraceAreRefused) {
  std::size_t count = 1;
  auto f = jit([&](const Tensor& x) {
    Tensors first(count, x), second(3 - count, x);
    return std::pair(first, second);
  });
  f(ones({2}));
  count = 2;
  EXPECT_HAS_MESSAGE(f(ones({2})), "first lists of some lengths as its result, then of others");
}

TEST(JitStructures, GradientsOfAListAreThoseOfThePlainCallInsideAndOutside) {
  const auto step = [](const Tensors& weights, const Tensor& x) {
    return value_and_grad([&] { return sum(sin(weights[0] * x) * weights[1]); }, weights);
  };
  auto fast = jit(step);
  const Tensors weights{tensor({0.3, -0.2}), tensor({1.5, 2.5})};
  const Tensor x = tensor({0.7, 0.9});
  for (int call = 0; call < 3; ++call) {
    const auto [value, gradients] = step(weights, x);
    const auto [fast_value, fast_gradients] = fast(weights, x);
    EXPECT_EQ(value.item<double>(), fast_value.item<double>());
    ASSERT_EQ(fast_gradients.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const double w0 = weights[0].to_host<double>()[i], w1 = weights[1].to_host<double>()[i], at = x.to_host<double>()[i];
      EXPECT_NEAR(fast_gradients[0].to_host<double>()[i], at * std::cos(w0 * at) * w1, 1e-15);
      EXPECT_NEAR(fast_gradients[1].to_host<double>()[i], std::sin(w0 * at), 1e-15);
      EXPECT_EQ(gradients[i].to_host<double>(), fast_gradients[i].to_host<double>());
    }
  }
  // A list that comes out of a jit-ed function is one of leaves.
  const auto scaled = jit(weighted)(weights);
  EXPECT_EQ(grad(sum(scaled[0] * scaled[1]), scaled)[0].to_host<double>(), (std::vector<double>{3, 5}));
}

TEST(JitStructures, RepeatedAndWithinAnotherJitTheyAreTheSame) {
  Variable total(0.0f);
  auto inner = jit([&](const Tensors& xs) {
    total = total + xs[0];
    return std::pair(Tensors{total.read(), xs[1]}, xs[0]);
  });
  auto outer = jit([&](const Tensor& x) { return inner(Tensors{x, x * 2.0}).first; });
  EXPECT_EQ(inner.repeat(5, Tensors{2.0f, 3.0f}).first[0].item(), 10);
  const Tensors out = outer(1.0f);
  EXPECT_EQ(out[0].item(), 11);
  EXPECT_EQ(out[1].item(), 2);
  set_eager(true);
  EXPECT_EQ(inner({2.0f, 3.0f}).first[1].item(), 3);
  set_eager(false);
}

TEST(Grad, TakesWhateverHoldsTensorsOrVariables) {
  const Tensor a = tensor({1.f, 2.f}), b = tensor({3.f, 4.f});
  std::vector<Variable> variables;
  variables.emplace_back(a), variables.emplace_back(b);
  const Tensors list{a, b};
  const std::array array{a, b};
  const auto expect = [](const Tensors& gradients) {
    ASSERT_EQ(gradients.size(), 2u);
    EXPECT_EQ(host(gradients[0]), (Floats{3, 4}));
    EXPECT_EQ(host(gradients[1]), (Floats{1, 2}));
  };
  expect(grad(sum(a * b), list));
  expect(grad(sum(a * b), array));
  expect(grad(sum(a * b), {a, b}));
  expect(grad(sum(variables[0] * variables[1]), variables));
  expect(vjp({a * b}, {ones({2})}, list));
  expect(value_and_grad([&] { return sum(a * b); }, list).second);
  EXPECT_EQ(host(grad(sum(a * b), a)), (Floats{3, 4}));
  EXPECT_HAS_MESSAGE(grad(sum(a * b), Tensors{ones({2})}), "jit_structures_test.cpp");
}

}  // namespace
}  // namespace tegula
