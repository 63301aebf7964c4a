// Promises of jit: one trace per signature, state in place, no compilation for changed numbers, errors instead of stale values.

#include <gtest/gtest.h>

#include "tegula/compile/jit.h"
#include "tegula/compile/run/cache.h"
#include "tegula/compile/run/executable.h"
#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/registry.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

TEST(Jit, TracesOncePerSignatureAndAtTheCalls2And4And16And256ToCompare) {
  auto f = jit([](Tensor x) { return x * 2.0; });
  const Tensor x = ones({3});
  for (int i = 1; i <= 300; ++i) {
    EXPECT_EQ(f(x).to_host(), (std::vector<float>{2, 2, 2}));
    EXPECT_EQ(f.traces(), 1 + (i >= 2) + (i >= 4) + (i >= 16) + (i >= 256)) << "call " << i;
  }
  EXPECT_EQ(f(ones({4})).to_host().size(), 4u);
  EXPECT_EQ(f.traces(), 6);
  EXPECT_EQ(f.executables(), 2);
}

TEST(Jit, WhatChangesAfterTheSecondCallIsNoticedAtTheNextCallThatIsCompared) {
  for (const int changed : {3, 5, 17}) {  // compared at 4, 16, 256
    float scale = 1;
    auto number = jit([&](Tensor x) { return x * scale; });
    Tensor captured = ones({2});
    auto tensor = jit([&](Tensor x) { return x + captured; });
    const Tensor x = ones({2});
    int call = 1;
    for (; call < changed; ++call) number(x), tensor(x);
    scale = 2;
    captured = zeros({2});
    const int due = changed == 3 ? 4 : changed == 5 ? 16 : 256;
    for (; call < due; ++call) number(x), tensor(x);
    EXPECT_TRUE(contains(message_of([&] { number(x); }), "did not build the same graph twice: first the number in")) << changed;
    EXPECT_TRUE(contains(message_of([&] { tensor(x); }), "a captured tensor")) << changed;
    EXPECT_TRUE(contains(message_of([&] { number(x); }), "first the number in"));  // until it is mended
  }
}

TEST(Cache, TheOneUsedLongestAgoGoesFirst) {
  int compiled = 0;
  const auto used = [&](std::uint64_t key) {
    compile::cached({~std::uint64_t{0}, key}, [&] {
      compiled += key == 0;
      return std::unique_ptr<compile::Executable>();
    });
  };
  for (std::uint64_t key = 1; key < 700; ++key) {
    used(key);
    used(0);
  }
  EXPECT_EQ(compiled, 1);
}

TEST(Jit, ManySignaturesAreWarnedOfOnce) {
  std::vector<std::string> warnings;
  set_warning_handler([&](const std::string& name, const std::string&) { warnings.push_back(name); });
  auto few = jit([](Tensor x) { return x * 2.0; }, {.signatures = 8});
  for (int n = 1; n <= 20; ++n) few(ones({n}));
  EXPECT_EQ(few.executables(), 8);
  EXPECT_EQ(warnings, std::vector<std::string>{"jit.many_signatures"});
  auto one = jit([](Tensor x) { return x * 2.0; }, {.signatures = 1});
  for (int n = 1; n <= 3; ++n) EXPECT_EQ(sum(one(ones({n}))).item(), 2 * n);
  EXPECT_EQ(one.traces(), 3);
  set_warning_handler(nullptr);
  EXPECT_THROW(jit([](Tensor x) { return x; }, {.signatures = -1}), Error);
  EXPECT_THROW(jit([](Tensor x) { return x; }, {.exact = -1}), Error);
}

TEST(Jit, SmallSignaturesAreAllKept) {
  auto f = jit([](Tensor x) { return x * 2.0; });
  for (int round = 0; round < 2; ++round) {
    for (int n = 1; n <= 40; ++n) EXPECT_EQ(sum(f(ones({n}))).item(), 2 * n);
  }
  EXPECT_EQ(f.executables(), 40);
  EXPECT_EQ(f.traces(), 2 * 40);  // the second call of each compares
}

TEST(Jit, NumbersAreInputs) {
  Variable w(1.0f);
  auto f = jit([&](Tensor lr) { w = w - lr * 1.0; });
  for (int i = 0; i < 10; ++i) f(0.01f * static_cast<float>(i));
  EXPECT_EQ(f.executables(), 1);
  EXPECT_NEAR(Tensor(w).item(), 1.0f - 0.45f, 1e-6f);
}

TEST(Jit, WritesFollowProgramOrderAndReadsSeeThem) {
  Variable w(1.0f);
  auto f = jit([&]() {
    Tensor before = w.read();
    w = w * 2.0;
    w = w + 1.0;
    return std::pair(before, w.read());
  });
  const auto [before, after] = f();
  EXPECT_EQ(before.item(), 1);
  EXPECT_EQ(after.item(), 3);
  f();
  EXPECT_EQ(Tensor(w).item(), 7);
}

TEST(Jit, RepeatIsAsManyCalls) {
  const auto run = [](std::initializer_list<int> times) {  // at once, or one by one
    manual_seed(5);
    Variable position(0.0f), noise(zeros({37})), other(ones({37}));
    auto f = jit([&](Tensor rate) {
      position = position + rate;
      noise = noise * 0.5 + other * uniform({37});
      other = sin(noise) + position.read();
      return std::pair(position.read(), sum(other.read()));
    });
    std::vector<float> seen;
    for (const int n : times) {
      const auto [at, total] = n < 0 ? f(1.0f) : f.repeat(n, 1.0f);
      for (int i = -1; i > n; --i) f(1.0f);
      seen.push_back(n < 0 ? Tensor(position).item() : at.item());
      if (n > 0) { EXPECT_EQ(total.item(), sum(other.read()).item()); }
    }
    const std::vector<float> values = Tensor(noise).to_host();
    seen.insert(seen.end(), values.begin(), values.end());
    return seen;
  };
  EXPECT_EQ(run({-1, -2, -40, -39, -7, -600}), run({1, 2, 40, 39, 7, 600}));
}

TEST(Jit, RepeatAlternatesBetweenTwoVariables) {
  Variable a(1.0f), b(2.0f);
  auto swap = jit([&] {
    Tensor old = a.read();
    a = b.read();
    b = old;
  });
  swap.repeat(7);
  EXPECT_EQ(Tensor(a).item(), 2);
  EXPECT_EQ(Tensor(b).item(), 1);
  swap.repeat(4);
  EXPECT_EQ(Tensor(a).item(), 2);
}

TEST(Jit, RepeatKeepsResultsThatAreStillHeld) {
  Variable n(0.0f);
  auto f = jit([&] {
    n = n + 1.0;
    return n * 10.0;
  });
  const Tensor third = f.repeat(3), eighth = f.repeat(5), ninth = f();
  EXPECT_EQ(third.item(), 30);
  EXPECT_EQ(eighth.item(), 80);
  EXPECT_EQ(ninth.item(), 90);
}

TEST(Jit, RepeatReportsAFailedCheckAndWritesNothingBehindIt) {
  Variable at(Tensor(0));
  const Tensor table = arange(4) * 1.0;
  auto f = jit([&] {
    Tensor here = take(table, at.read(), 0);
    at = at + 1;
    return here;
  });
  f(), f();
  const std::string message = message_of([&] { f.repeat(6).item(); });
  EXPECT_TRUE(contains(message, "4")) << message;
  EXPECT_EQ(Tensor(at).item(), 4);
}

TEST(Jit, RepeatingLessThanOnceIsAnError) {
  auto f = jit([](Tensor x) { return x * 2.0; });
  EXPECT_TRUE(contains(message_of([&] { f.repeat(0, ones({3})); }), "0 repetitions, expected at least one"));
}

TEST(Jit, AnOldHandleKeepsItsValue) {
  Variable w(tensor({1.f, 2.f}));
  Tensor old = w.read();
  Variable copy = w;
  auto f = jit([&]() { w = w * 10.0; });
  f();
  f();
  EXPECT_EQ(old.to_host(), (std::vector<float>{1, 2}));
  EXPECT_EQ(copy.read().to_host(), (std::vector<float>{1, 2}));
  EXPECT_EQ(w.read().to_host(), (std::vector<float>{100, 200}));
  const HostArray held = w.read().to_array();  // shares memory with the Variable
  f();
  EXPECT_EQ(held.values<float>()[0], 100);
  EXPECT_EQ(w.read().to_host()[0], 1000);
}

TEST(Jit, SwappedVariablesKeepBothValues) {
  Variable a(tensor({1.f, 2.f, 3.f})), b(tensor({4.f, 5.f, 6.f}));
  auto f = jit([&]() {
    Tensor x = a.read(), y = b.read();
    a = y + 0.0;
    b = x + 0.0;
  });
  f();
  EXPECT_EQ(a.read().to_host(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(b.read().to_host(), (std::vector<float>{1, 2, 3}));
}

TEST(Jit, ACapturedNumberThatChangedIsAnErrorNamingBothLines) {
  float scale = 1;
  auto f = jit([&](Tensor x) { return x * scale; });
  f(ones({2}));
  scale = 2;
  const std::string text = message_of([&] { f(ones({2})); });
  EXPECT_TRUE(contains(text, "scalar 1 at") && contains(text, "scalar 2 at") && contains(text, "jit_test.cpp")) << text;
}

TEST(Jit, ABranchThatChangedIsAnError) {
  int calls = 0;
  auto f = jit([&](Tensor x) { return ++calls % 2 == 0 ? exp(x) : x * 2.0; });
  f(ones({2}));
  EXPECT_TRUE(contains(message_of([&] { f(ones({2})); }), "did not build the same graph twice"));
}

TEST(Jit, AFlagTracesAgainOncePerValue) {
  Flag mode(0);
  auto f = jit([&](Tensor x) { return mode ? x * 3.0 : x * 2.0; });
  EXPECT_EQ(f(ones({1})).item(), 2);
  mode = 1;
  EXPECT_EQ(f(ones({1})).item(), 3);
  mode = 0;
  EXPECT_EQ(f(ones({1})).item(), 2);
  EXPECT_EQ(f.executables(), 2);
}

TEST(Jit, ValuesInsideATraceAreErrors) {
  auto item = jit([](Tensor x) { return x * x.item(); });
  EXPECT_TRUE(contains(message_of([&] { item(ones({1})); }), "still being traced"));
  auto create = jit([](Tensor x) {
    Variable v(x);
    return v.read();
  });
  EXPECT_TRUE(contains(message_of([&] { create(ones({1})); }), "created inside the jit"));
  Tensor escaped;
  auto escape = jit([&](Tensor x) {
    escaped = x * 2.0;
    return escaped;
  });
  escape(ones({1}));
  EXPECT_TRUE(contains(message_of([&] { escaped.item(); }), "outside of it"));
}

TEST(Jit, GradOfAVariableAssignedAfterItsUseIsAnError) {
  Variable w(2.0f);
  auto f = jit([&](Tensor x) {
    const Tensor y = w * x;
    w = w * 2.0;
    return grad(y, w);
  });
  EXPECT_TRUE(contains(message_of([&] { f(1.0f); }), "which was assigned"));
}

TEST(Jit, AnExceptionInTheTraceChangesNothing) {
  Variable w(1.0f);
  auto f = jit([&](Tensor x) {
    w = w + 1.0;
    if (x.rank() == 1) throw std::runtime_error("user");
  });
  EXPECT_THROW(f(ones({3})), std::runtime_error);
  EXPECT_EQ(Tensor(w).item(), 1);
  f(1.0f);
  EXPECT_EQ(Tensor(w).item(), 2);
}

TEST(Jit, InsideAnotherJitItIsInlined) {
  auto inner = jit([](Tensor x) { return x + 1.0; });
  auto outer = jit([&](Tensor x) { return inner(inner(x)); });
  EXPECT_EQ(outer(ones({2})).to_host(), (std::vector<float>{3, 3}));
  EXPECT_EQ(inner.traces(), 0);
}

TEST(Jit, ArgumentsMayBeViewsAndPending) {
  auto f = jit([](Tensor x) { return x * 1.0; });
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  eval(x);
  EXPECT_EQ(f(graph::permute(x, {1, 0})).to_host(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Jit, AViewInMemoryOrderIsAnOutputWithoutACopy) {
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  auto flat = jit([](Tensor x) { return reshape(x + 1.0, {6}); });
  EXPECT_EQ(flat(x).to_host(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(flat.print_plan().find("copy"), std::string::npos) << flat.print_plan();
  // Claimed twice, in another order, or in part, a value is copied.
  auto several = jit([](Tensor x) {
    Tensor y = x + 1.0;
    return std::vector<Tensor>{y, reshape(y, {6}), y, permute(y, {1, 0}), slice(y, 0, Slice{1, 2})};
  });
  const std::vector<Tensor> all = several(x);
  EXPECT_EQ(all[0].to_host(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(all[1].to_host(), all[0].to_host());
  EXPECT_EQ(all[2].to_host(), all[0].to_host());
  EXPECT_EQ(all[3].to_host(), (std::vector<float>{2, 5, 3, 6, 4, 7}));
  EXPECT_EQ(all[4].to_host(), (std::vector<float>{5, 6, 7}));
}

TEST(Jit, AChannelsLastConvolutionCopiesNothing) {
  Tensor x = normal({2, 9, 9, 16}), w = normal({32, 16, 3, 3});  // (N, H, W, C)
  const auto last = [](Tensor x, Tensor w) { return permute(conv2d(permute(x, {0, 3, 1, 2}), w, {.padding = 1}), {0, 2, 3, 1}); };
  auto jitted = jit(last);
  const std::vector<float> got = jitted(x, w).to_host();
  const std::string plan = jitted.print_plan();  // the weight may be brought into another order first
  const std::string call = plan.substr(std::min(plan.find("call convolution"), plan.size()));
  EXPECT_NE(call.find("%0=leaf#0 "), std::string::npos) << plan;
  EXPECT_NE(call.find("=out#0"), std::string::npos) << plan;
  Tensor y = conv2d(permute(x, {0, 3, 1, 2}), w, {.padding = 1});
  eval(y);
  const std::vector<float> want = permute(y, {0, 2, 3, 1}).to_host();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3f) << i;
}

TEST(Jit, ADepthwiseConvolutionTakesItsOperandsAsTheyLie) {
  if (default_device().traits().many_instances) GTEST_SKIP() << "there it is a tile program";
  const auto both = [](const Tensor& x, const Tensor& w, const Tensor& dy) {
    const Tensor y = conv2d(x, w, {.padding = 1, .groups = 8});
    return std::vector<Tensor>{y, grad(sum(y * dy), {x})[0], grad(sum(y * dy), {w})[0]};
  };
  const Tensor x = normal({2, 8, 20, 20}), w = normal({8, 1, 3, 3}), dy = normal({2, 8, 20, 20});
  auto rows = jit([&](Tensor x, Tensor w, Tensor dy) { return both(x, w, dy); });
  auto last = jit([&](Tensor x, Tensor w, Tensor dy) {  // (N, H, W, C)
    std::vector<Tensor> all = both(permute(x, {0, 3, 1, 2}), w, permute(dy, {0, 3, 1, 2}));
    for (int k = 0; k < 2; ++k) all[static_cast<std::size_t>(k)] = permute(all[static_cast<std::size_t>(k)], {0, 2, 3, 1});
    return all;
  });
  std::vector<Tensor> got = rows(x, w, dy), other = last(permute(x, {0, 2, 3, 1}), w, permute(dy, {0, 2, 3, 1}));
  EXPECT_EQ(rows.print_plan().find("tile copy"), std::string::npos) << rows.print_plan();
  EXPECT_EQ(last.print_plan().find("tile copy"), std::string::npos) << last.print_plan();
  for (std::size_t k = 0; k < got.size(); ++k) {
    const std::vector<float> a = got[k].to_host(), b = (k < 2 ? permute(other[k], {0, 3, 1, 2}) : other[k]).to_host();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3f) << k << " " << i;
  }
}

TEST(Evaluate, EqualStructuresShareAnExecutable) {
  const auto compute = [](float a) { return (tensor({a, 2.f}) * a + 1.0).to_host(); };
  compute(1);
  const auto before = compile::cache_counters();
  compute(5);
  const auto after = compile::cache_counters();
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_GT(after.hits, before.hits);
}

TEST(Evaluate, AFailedCheckNamesItsOwnLineAlsoWhenTheExecutableIsShared) {
  Tensor x = ones({4, 2}), bad = tensor({std::int64_t{7}});
  const std::string first = message_of([&] { take(x, bad, 0).to_host(); });
  const std::string second = message_of([&] { take(x, bad, 0).to_host(); });
  EXPECT_TRUE(contains(first, "7") && contains(first, "jit_test.cpp")) << first;
  EXPECT_NE(first, second);
}

TEST(Evaluate, GradStillWorksAfterALookAtTheLoss) {
  Variable w(3.0f);
  Tensor loss = w * w;
  EXPECT_EQ(loss.item(), 9);
  EXPECT_EQ(grad(loss, w).item(), 6);
}

TEST(Evaluate, ALongSumDoesNotGrowWithoutBound) {
  set_pending_bound(1000);
  Tensor total = zeros({});
  for (int i = 0; i < 20000; ++i) total = total + 1.0;
  EXPECT_EQ(total.item(), 20000);
  set_pending_bound(100'000);
}

TEST(Evaluate, EagerGivesTheSameValues) {
  set_eager(true);
  Variable w(tensor({1.f, 2.f}));
  Tensor loss = sum(w * w * w);
  EXPECT_EQ(grad(loss, w).to_host(), (std::vector<float>{3, 12}));
  auto f = jit([&](Tensor x) { w = w - x; });
  f(ones({2}));
  EXPECT_EQ(w.read().to_host(), (std::vector<float>{0, 1}));
  EXPECT_EQ(f.traces(), 0);
  set_eager(false);
}

}  // namespace
}  // namespace tegula
