// Graphs that are deep or wide: nothing recurses along them, and the size of everything made from them is linear in theirs.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "tegula/compile/passes/fusion/topological_order.h"
#include "tegula/compile/run/executable.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/check_gradients.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"
#include "tests/support/sanitizers.h"

namespace tegula::compile {
namespace {

/// Runs on a thread with so little stack that what recurses once for each of some thousand nodes overflows it.
void on_a_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 512 << 10), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::unique_ptr<Executable> executable_of(const std::vector<Tensor>& values, runtime::Device& device = runtime::cpu()) {
  std::vector<const Node*> roots;
  for (const Tensor& value : values) roots.push_back(value.node().get());
  return compile(flatten(read(roots), roots, {}), device);
}

Tensor known(Tensor x) {
  eval(x);
  return x;
}

/// The size of a plan: launches with their arguments, and memory.
struct Size {
  std::size_t steps, sets, reads, arena;
};
Size size_of_plan(const Plan& plan) {
  Size size{plan.steps.size(), 0, 0, plan.arena_bytes};
  for (const Step& step : plan.steps) size.sets += step.sets().size(), size.reads += step.reads.size();
  return size;
}

/// The gradient of T slices of one tensor, each used by itself.
Tensor gradient_of_slices(const Tensor& x, std::int64_t count) {
  Tensor total = 0.f;
  for (std::int64_t t = 0; t < count; ++t) total = total + sum(square(select(x, 1, t)) * static_cast<float>(t + 1));
  return grad(total, std::vector<Wrt>{x})[0];
}

TEST(Deep, AnElementwiseChainPastThePendingBound) {
  on_a_small_stack([] {
    Tensor h = zeros({4});
    for (int i = 0; i < 60'000; ++i) h = h * 0.5f + 1.f;
    EXPECT_EQ(h.to_host(), std::vector<float>(4, 2.f));
  });
}

TEST(Deep, AnElementwiseChainInJitWithItsGradient) {
  on_a_small_stack([] {
    auto f = jit([](Tensor x) {
      Tensor y = x;
      for (int i = 0; i < 20'000; ++i) y = y + 0.5f;
      return std::vector<Tensor>{y, grad(sum(y * x), std::vector<Wrt>{x})[0]};
    });
    const auto both = f(known(ones({4})));
    EXPECT_EQ(both[0].to_host(), std::vector<float>(4, 10'001.f));
    EXPECT_EQ(both[1].to_host(), std::vector<float>(4, 10'002.f));
  });
}

TEST(Deep, ProductsInAChainWithTheirGradient) {
  on_a_small_stack([] {
    const Tensor w = known(eye(4)), x = known(ones({4, 4}));
    Tensor y = x;
    for (int i = 0; i < 5'000; ++i) y = matmul(y, w);
    EXPECT_EQ(grad(sum(y), std::vector<Wrt>{w})[0].to_host(), std::vector<float>(16, 20'000.f));
  });
}

TEST(Deep, ViewsInAChain) {
  on_a_small_stack([] {
    Tensor y = known(arange(0.f, 24.f)), rest = y, total = 0.f;
    for (int i = 0; i < 20'000; ++i) y = i % 2 == 0 ? reshape(y, {4, 6}) : flip(reshape(y, {24}), 0);
    EXPECT_EQ(y.to_host(), arange(0.f, 24.f).to_host());
    const Tensor many = known(ones({6'000}));
    rest = many;
    for (int i = 0; i < 5'000; ++i) {
      total = total + select(rest, 0, 0);
      rest = slice(rest, 0, {1});
    }
    EXPECT_EQ(total.item(), 5'000.f);
  });
}

TEST(Deep, AChainIsCutIntoProgramsOfBoundedSize) {
  Tensor y = known(ones({4}));
  for (int i = 0; i < 3'000; ++i) y = sin(y);
  const auto executable = executable_of({y});
  for (const Step& step : executable->plan().steps) EXPECT_LE(step.launch()->program->instructions.size(), 4u * kMostOperands);
  EXPECT_LE(executable->plan().steps.size(), 3'000u / kMostOperands + 1);
}

TEST(Deep, WhatIsCheapIsNotComputedAgainWithoutEnd) {
  const Tensor x = known(ones({4}));
  Tensor y = x;
  for (int i = 0; i < 4'000; ++i) y = sin(y);
  const auto executable = executable_of({grad(sum(y), std::vector<Wrt>{x})[0]});
  std::size_t instructions = 0;
  for (const Step& step : executable->plan().steps) instructions += step.launch()->program->instructions.size() * step.sets().size();
  EXPECT_LE(instructions, 4'000u * 16);
}

TEST(Wide, JoinsAreOneLaunchOfPiecesOfOneSize) {
  std::vector<Tensor> pieces;
  const Tensor x = known(arange(0.f, 4.f));
  for (int i = 0; i < 5'000; ++i) pieces.push_back(x + static_cast<float>(i));
  const Tensor all = stack(pieces, 0);
  const Size size = size_of_plan(executable_of({all})->plan());
  EXPECT_LE(size.steps, 3u);
  EXPECT_LE(size.reads, 3u * 5'000);
  const std::vector<float> values = all.to_host();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i / 4 + i % 4));
}

TEST(Wide, ManyResults) {
  std::vector<Ref<Node>> nodes;
  std::vector<Tensor> results;
  const Tensor x = known(ones({2'000}));
  for (int i = 0; i < 5'000; ++i)
    nodes.push_back(results.emplace_back(i % 2 ? x * static_cast<float>(i) : sum(x) + static_cast<float>(i)).node());
  evaluate(nodes, Line::current());
  for (std::size_t i = 0; i < results.size(); ++i)
    ASSERT_EQ(results[i].to_host()[0], i % 2 ? static_cast<float>(i) : 2'000.f + static_cast<float>(i));
}

TEST(Wide, AVariableReadByManyHasOneGradient) {
  Variable w(known(ones({2, 2})));
  Tensor total = 0.f;
  for (int i = 0; i < 2'000; ++i) total = total + sum(matmul(w.read(), w.read()));
  EXPECT_EQ(grad(total, std::vector<Wrt>{w})[0].to_host(), std::vector<float>(4, 8'000.f));
}

TEST(Wide, TheGradientOfSlicesGrowsWithTheTensor) {
  const auto plan = [](std::int64_t count) {
    const Tensor x = known(ones({4, count, 8}));
    return size_of_plan(executable_of({gradient_of_slices(x, count)})->plan());
  };
  const Size one = plan(128), four = plan(512);
  EXPECT_LE(four.arena, 5 * one.arena);
  EXPECT_LE(four.sets, 5 * one.sets);
  EXPECT_LE(four.reads, 5 * one.reads);
}

/// First and second derivatives of f against central differences, and jit's against those: of one sum, which another plan may add up in another order.
void expect_right(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const auto derivative = [&](const Tensor& at) { return grad(sum(square(f(at))), std::vector<Wrt>{at})[0]; };
  const auto both = [&](const Tensor& at) {
    const Tensor g = derivative(at);
    return std::vector<Tensor>{g, grad(sum(g * sin(at)), std::vector<Wrt>{at})[0]};
  };
  EXPECT_NO_THROW(check_gradients([&](const std::vector<Tensor>& in) { return f(in[0]); }, {x}));
  EXPECT_NO_THROW(check_gradients([&](const std::vector<Tensor>& in) { return derivative(in[0]); }, {x}));
  auto jitted = jit(both);
  const auto lazy = both(x), traced = jitted(x);
  for (std::size_t i = 0; i < lazy.size(); ++i) {
    const auto want = lazy[i].to_host(), got = traced[i].to_host();
    ASSERT_EQ(got.size(), want.size());
    float most = 0;
    for (const float value : want) most = std::max(most, std::fabs(value));
    for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(got[e], want[e], 2e-6f * most) << i << " " << e;
  }
}

TEST(Wide, GradientsOfSlicesAreThoseOfTheirSum) {
  const Tensor x = known(uniform({3, 10, 4}, 0.5, 1.5));
  const auto weighted = [](const std::vector<Tensor>& parts) {
    Tensor total = 0.f;
    for (std::size_t i = 0; i < parts.size(); ++i) total = total + sum(sin(parts[i]) * static_cast<float>(i + 1));
    return total;
  };
  const auto each = [&](auto parts_of) { expect_right([&](const Tensor& t) { return weighted(parts_of(t)); }, x); };
  each([](const Tensor& t) { return chunk(t, 4, 2); });
  each([](const Tensor& t) { return split(t, {1, 5, 4}, 1); });
  each([](const Tensor& t) { return std::vector{select(t, 1, 7), select(t, 1, 2), select(t, 1, 3)}; });  // zeros between
  each([](const Tensor& t) { return std::vector{slice(t, 1, {0, 4}), slice(t, 1, {2, 6}), slice(t, 1, {4, 10})}; });  // they meet
  each([](const Tensor& t) {
    return std::vector{select(t, 1, 2), select(t, 1, 2), select(t, 1, 3), select(t, 0, 1)};
  });  // twice, another axis
  each([](const Tensor& t) { return std::vector{select(t, 2, 0), square(t), select(t, 2, 3), slice(slice(t, 0, {0, 2}), 1, {0, 2})}; });
  each([](const Tensor& t) { return std::vector{slice(t, 1, {0, 10, 2}), slice(t, 1, {1, 10, 2}), slice(t, 1, {9, 10})}; });  // gaps inside
}

TEST(Wide, PlansForAQueueWaitForWhatTheyRead) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  const Tensor x = known(ones({8, 8}));
  Tensor y = x;
  std::vector<Tensor> all;
  for (int i = 0; i < 300; ++i) all.push_back(y = matmul(y, x) + 1.f);
  const auto executable = executable_of({stack(all, 0)}, device);
  const Plan& plan = executable->plan();
  const auto after = dependencies(plan);
  std::vector<int> writer(plan.graph.items.size(), -1), place(plan.steps.size(), -1);
  std::size_t edges = 0;
  for (std::size_t s = 0; s < after.size(); ++s) {
    edges += after[s].size();
    std::vector<int> waits(after[s]);  // and those that they wait for
    for (std::size_t k = 0; k < waits.size(); ++k) {
      const auto& more = after[static_cast<std::size_t>(waits[k])];
      for (const int w : more) {
        if (std::ranges::find(waits, w) == waits.end()) waits.push_back(w);
      }
    }
    for (const int item : plan.steps[s].reads) {
      const int w = writer[static_cast<std::size_t>(item)];
      if (w < 0 || w == static_cast<int>(s)) continue;
      EXPECT_NE(std::ranges::find(waits, w), waits.end()) << s << " reads what " << w << " writes";
    }
    for (const int item : plan.steps[s].writes) writer[static_cast<std::size_t>(item)] = static_cast<int>(s);
  }
  EXPECT_LE(edges, 2 * plan.steps.size());
  const std::vector<int> order = launch_order(plan, after);
  ASSERT_EQ(order.size(), plan.steps.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  for (std::size_t s = 0; s < after.size(); ++s) {
    for (const int before : after[s]) EXPECT_LT(place[static_cast<std::size_t>(before)], place[s]);
  }
}

// Random units, dependences and merges, against sets of all that comes before.
TEST(TopologicalOrder, AnswersAsSetsOfAllThatComesBefore) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint32_t>(n)); };
    TopologicalOrder order;
    std::vector<std::vector<bool>> direct;  // [unit][unit that it needs]
    std::vector<int> part_of;
    const auto count = [&] { return static_cast<int>(part_of.size()); };
    const auto reaches = [&](int from, int to, bool through_third) {
      std::vector<int> stack{to};
      std::vector<bool> seen(part_of.size());
      while (!stack.empty()) {
        const int u = stack.back();
        stack.pop_back();
        for (int v = 0; v < count(); ++v) {
          if (!direct[static_cast<std::size_t>(u)][static_cast<std::size_t>(v)] || seen[static_cast<std::size_t>(v)]) continue;
          if (v == from && !(through_third && u == to)) return true;
          if (v == from) continue;
          seen[static_cast<std::size_t>(v)] = true;
          stack.push_back(v);
        }
      }
      return false;
    };
    for (int i = 0; i < 60; ++i) {
      const int kind = count() < 5 ? 0 : below(3);
      if (kind == 0) {
        const int u = order.add();
        for (auto& row : direct) row.push_back(false);
        direct.emplace_back(static_cast<std::size_t>(u) + 1);
        part_of.push_back(u);
        for (int k = below(3); k > 0 && u > 0; --k) {
          const int v = part_of[static_cast<std::size_t>(below(u))];
          order.need(u, v);
          direct[static_cast<std::size_t>(u)][static_cast<std::size_t>(v)] = true;
        }
        continue;
      }
      const int a = part_of[static_cast<std::size_t>(below(count()))], b = part_of[static_cast<std::size_t>(below(count()))];
      if (a == b) continue;
      const bool forwards = reaches(a, b, false), third = reaches(a, b, true) || reaches(b, a, true);
      ASSERT_EQ(order.reaches(a, b), forwards) << seed;
      ASSERT_EQ(order.apart(a, b), third) << seed;
      if (kind == 1 && !forwards) {  // a may need b
        order.need(a, b);
        direct[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = true;
      } else if (kind == 2 && !third) {
        ASSERT_EQ(order.adjacent(a, b), forwards || reaches(b, a, false)) << seed;
        order.merge(a, b);
        for (int u = 0; u < count(); ++u) {
          const auto at = static_cast<std::size_t>(u), into = static_cast<std::size_t>(a), from = static_cast<std::size_t>(b);
          if (part_of[at] == b) part_of[at] = a;
          direct[at][into] = direct[at][into] || direct[at][from];
          direct[into][at] = direct[into][at] || direct[from][at];
          direct[at][from] = direct[from][at] = false;
        }
        direct[static_cast<std::size_t>(a)][static_cast<std::size_t>(a)] = false;
      }
    }
  }
}

#ifndef TEGULA_SANITIZER
TEST(Deep, RunningOutOfMemoryIsAnExceptionThatFreesTheGraph) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(
      {
        rlimit limit{};
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = std::size_t{1} << 30;
        setrlimit(RLIMIT_AS, &limit);
        bool thrown = false;
        try {
          set_pending_bound(std::size_t{1} << 40);
          Tensor y = ones({4});
          for (;;) y = y + 1.f;
        } catch (const std::bad_alloc&) { thrown = true; }
        _exit(thrown ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace tegula::compile
