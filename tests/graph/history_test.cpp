// Outside of jit, every node that a handle or a consumer reaches can be differentiated, however often values were read in between; after its history
// was given up, grad throws. The history is bounded.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "tegula/compile/run/cache.h"
#include "tegula/graph/history.h"
#include "tegula/graph/print.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/sanitizers.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

using Floats = std::vector<float>;

/// A small budget while it lives.
struct Budget {
  explicit Budget(HistoryBudget budget) { set_history_budget(budget); }
  ~Budget() { set_history_budget({}); }
};

TEST(History, FortyLossesThatWereAllPrintedHaveTheirWholeGradient) {
  Variable w(tensor({1.f, 2.f}));
  Tensor total = 0.f;
  for (int i = 0; i < 40; ++i) {
    const Tensor loss = sum(w * w) * float(i + 1);
    loss.item();
    total = total + loss;
  }
  EXPECT_EQ(grad(total, w).to_host(), (Floats{1640, 3280}));
}

TEST(History, ALookAtAHiddenValueAfterAWriteChangesNothing) {
  Variable a = 2.f, b = 3.f, other = 0.f;
  other += 1;
  const Tensor h = a * 5;
  h.item();
  const auto both = grad(h * b, {a, b});
  EXPECT_EQ(both[0].item(), 15);
  EXPECT_EQ(both[1].item(), 10);
  EXPECT_EQ(grad(h * b + a, a).item(), 16);
}

TEST(History, APenaltyAddedToALossThatWasPrintedIsNotAllOfTheGradient) {
  manual_seed(1);
  nn::Linear lin(3, 4);
  nn::BatchNorm1d bn(4);
  const Tensor x = normal({8, 3});
  eval(x, lin.weight.read(), lin.bias.read());
  const auto gradient = [&](bool look) {
    const Tensor loss = mean(square(bn(lin(x)) - 1.0));
    if (look) loss.item();
    return grad(loss + 0.01 * sum(square(lin.weight)), lin.weight);
  };
  const Tensor want = gradient(false);
  expect_close(gradient(true), want, 1e-5);
  EXPECT_GT(max(abs(want - 0.02 * lin.weight)).item(), 1e-4f);
}

TEST(History, TheMaskThatWasSeenIsTheMaskOfTheGradient) {
  const Tensor x = ones({1000});
  const Tensor y = dropout(x, 0.5), z = dropout(y, 0.5);
  const Floats seen = z.to_host();
  sum(z).item();
  EXPECT_EQ(grad(sum(z), x).to_host(), seen);
}

TEST(History, EagerGradientsAreWhole) {
  manual_seed(2);
  nn::Sequential net{nn::Linear{8, 8}, nn::LayerNorm{8}, nn::GELU{}, nn::Linear{8, 8}, nn::LayerNorm{8}, nn::GELU{}, nn::Linear{8, 2}};
  const Tensor x = normal({4, 8});
  eval(x);
  const auto gradient = [&] { return grad(mean(square(net(x))), parameters(net))[0]; };
  const Tensor want = gradient();
  want.to_host();
  set_eager(true);
  const Tensor got = gradient();
  set_eager(false);
  expect_close(got, want, 1e-5);
  EXPECT_GT(max(abs(want)).item(), 0);
}

TEST(History, WhatAHandleHoldsIsKeptWhenItIsComputedAgain) {
  const Tensor x = ones({16});
  const Tensor h = exp(x);
  sum(h).item();
  EXPECT_FALSE(h.node()->has_value());  // it may have been a temporary of an expression
  sum(h * 2).item();
  EXPECT_TRUE(h.node()->has_value());
}

TEST(History, ACarriedTensorIsAPlanOfAFewSteps) {
  Tensor x = ones({16}), h = zeros({16});
  eval(x, h);
  const auto step = [&] {
    h = tanh(x * 0.5 + h * 0.5);
    sum(h).item();
  };
  for (int i = 0; i < 6; ++i) step();
  const auto before = compile::cache_counters().misses;
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(compile::cache_counters().misses, before);  // no plan grows from step to step
}

TEST(History, ProductsBelowALossThatWasPrintedAreNotComputedAgain) {
  Variable w1(normal({8, 8})), w2(normal({8, 8}));
  const Tensor x = normal({4, 8});
  const Tensor loss = sum(square(matmul(relu(matmul(x, w1)), w2)));
  loss.item();
  const auto g = grad(loss, {w1, w2});
  int products = 0;
  for (const Node* node : nodes_below(g)) products += !node->has_value() && node->op().role() == Role::Library;
  EXPECT_EQ(products, 3);  // in the backward pass: those of w2, of the values before it, and of w1
}

TEST(History, BeyondTheBudgetGradThrowsInsteadOfAPartOfTheSum) {
  const Budget budget({.nodes = 200});
  const Tensor x = tensor({2.f});
  Tensor h = x;
  for (int i = 0; i < 100; ++i) {
    h = h * 1.01f + x * 0.001f;
    h.item();
  }
  const std::string message = message_of([&] { grad(h, x); });
  EXPECT_TRUE(contains(message, "given up") && contains(message, "set_history_budget") && contains(message, "history_test.cpp")) << message;
  // Later values are whole: nothing older lies below them.
  const Tensor young = tensor({3.f});
  EXPECT_EQ(grad(h * young, young).to_host(), h.to_host());
}

TEST(History, ALoopKeepsNoMoreThanTheBudget) {
  const Budget budget({.nodes = 1000});
  Tensor h = zeros({1000});
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      h = h * 0.5f + 1.f;
      sum(h).item();
    }
    return host_pool_counters().bytes_in_use;
  };
  const std::size_t before = run(2000);
  EXPECT_LE(run(2000), before + 100'000);
}

#ifndef TEGULA_SANITIZER
std::size_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  pages >> all >> resident;
  return resident * static_cast<std::size_t>(getpagesize());
}

// The loops that people write outside of jit, 100,000 steps of each, with the budget that is there unless it is set: once that is full, memory stays.
TEST(History, LoopsOfAHundredThousandStepsGrowNoMore) {
  constexpr int kFull = 60'000, kSteps = 100'000;
  const Tensor x = tensor(Floats(128, 0.5f), {128});
  Variable w(ones({128})), state(zeros({128}));
  optim::SGD sgd({{"w", w.cell()}}, {.lr = 1e-3});
  Tensor h = zeros({128}), total = tensor({0.f});
  const std::pair<const char*, std::function<void(int)>> loops[] = {
      {"a training step, with its loss looked at before grad",
       [&](int) {
         const Tensor loss = sum(square(w * x - 1.f));
         loss.item();
         sgd.step(grad(loss, {w}));
       }},
      {"state in a Variable",
       [&](int) {
         state = tanh(x * 0.5f + state * 0.5f);
         sum(state).item();
       }},
      {"state in a tensor",
       [&](int) {
         h = tanh(x * 0.5f + h * 0.5f);
         sum(h).item();
       }},
      {"losses added up, and now and then looked at",
       [&](int i) {
         const Tensor loss = sum(square(w * x - 1.f));
         total = total + loss;
         w = w - x * 1e-6f;
         if (i % 10 == 0) total.item();
       }},
  };
  for (const auto& [name, step] : loops) {
    std::size_t full = 0;
    for (int i = 0; i < kSteps; ++i) {
      if (i == kFull) full = resident_bytes();
      step(i);
    }
    EXPECT_LE(resident_bytes(), full + (std::size_t{4} << 20)) << name;
  }
  EXPECT_TRUE(std::isfinite(total.item()) && std::isfinite(sum(h + state).item()));
}
#endif

TEST(History, TheBytesOfTheBudgetCountBatches) {
  const Budget budget({.nodes = 1'000'000, .bytes = 1 << 20});
  Variable w(ones({1000}));
  std::vector<Tensor> losses;
  for (int i = 0; i < 2000; ++i) {
    losses.push_back(sum(w * full({1000}, i)));
    losses.back().item();
  }
  const std::size_t used = host_pool_counters().bytes_in_use;
  for (int i = 0; i < 2000; ++i) {
    const Tensor batch = tensor(Floats(1000, 1.f), {1000});
    losses.push_back(sum(w * batch));
    losses.back().item();
  }
  EXPECT_LE(host_pool_counters().bytes_in_use, used + (3u << 20));
  EXPECT_EQ(grad(losses.back(), w).to_host(), Floats(1000, 1.f));
}

TEST(History, WhatIsLongPendingIsDifferentiatedWhole) {
  set_pending_bound(100);
  const Tensor x = tensor({1.0});
  Tensor total = x * 0.0;
  for (int i = 0; i < 1000; ++i) total = total + x;
  const double slope = grad(sum(total), x).item<double>();
  set_pending_bound(100'000);
  EXPECT_EQ(slope, 1000);
}

TEST(History, AValueThatAnotherThreadMadeKeepsItsHistoryWhenThatThreadEnds) {
  const Tensor x = tensor({3.f});
  Tensor y;
  std::thread([&] {
    y = x * x;
    y.item();
  }).join();
  EXPECT_EQ(grad(y, x).item(), 6);
}

}  // namespace
}  // namespace tegula
