// Collectives as nodes: the same in plain, eager and jit-ed code, and with gradients.

#include "tegula/dist/collectives/collectives.h"

#include <gtest/gtest.h>

#include "tegula/dist.h"
#include "tegula/tegula.h"
#include "tests/dist/ranks.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using dist::Reduction;

std::vector<float> host(const Tensor& x) { return x.to_host<float>(); }

/// x of rank r: (4, 3), different on each.
Tensor data_of(int rank) { return reshape(cast(arange(12), f32), {4, 3}) * 0.5f - static_cast<float>(3 * rank) + 1.0f; }

/// f of this rank's data and the gradient of Σ over ranks of sum(weights · f), by each of the modes; all must agree.
using Function = std::function<Tensor(const Tensor&)>;
struct Outcome {
  std::vector<float> y, dx;
};
Outcome run(const Function& f, int rank, const std::string& mode) {
  const auto both = [&](const Tensor& x) {
    const Tensor y = f(x);
    const Tensor weights = reshape(sin(cast(arange(y.numel()), f32) + static_cast<float>(rank)), y.shape());
    return std::pair(y, grad(sum(y * weights), x));
  };
  const Tensor x = data_of(rank);
  if (mode == "jit") {
    auto step = jit([&](const Tensor& t) { return both(t); });
    step(x), step(x);  // compared at the second call
    const auto [y, dx] = step(x);
    return {host(y), host(dx)};
  }
  const auto [y, dx] = both(x);
  return {host(y), host(dx)};
}

std::vector<Outcome> in_all_modes(int ranks, const Function& f) {
  std::vector<Outcome> outcomes;
  for (const std::string mode : {"plain", "eager", "jit"}) {
    set_eager(mode == "eager");
    const auto now = test::on_ranks<Outcome>(ranks, [&](int rank) { return run(f, rank, mode); });
    if (!outcomes.empty()) {
      for (std::size_t r = 0; r < now.size(); ++r) {
        EXPECT_EQ(outcomes[r].y, now[r].y) << mode;
        for (std::size_t i = 0; i < now[r].dx.size(); ++i) EXPECT_NEAR(outcomes[r].dx[i], now[r].dx[i], 1e-5) << mode;
      }
    }
    outcomes = now;
    set_eager(false);
  }
  return outcomes;
}

/// The gradients of f against finite differences of Σ over ranks of the weighted sum.
void expect_gradients(int ranks, const std::function<Tensor(const Tensor&)>& f) {
  const auto outcomes = in_all_modes(ranks, f);
  const double step = 1.0 / 64;
  const auto total = [&](int moved, std::size_t place, double by) {
    const auto losses = test::on_ranks<double>(ranks, [&](int rank) {
      std::vector<float> values = host(data_of(rank));
      if (rank == moved) values[place] += static_cast<float>(by);
      const Tensor y = f(tensor(values, {4, 3}));
      const Tensor weights = reshape(sin(cast(arange(y.numel()), f32) + static_cast<float>(rank)), y.shape());
      return sum(cast(y, f64) * cast(weights, f64)).item<double>();
    });
    double sum = 0;
    for (const double loss : losses) sum += loss;
    return sum;
  };
  for (int moved = 0; moved < ranks; ++moved) {
    for (const std::size_t place : {0u, 5u, 11u}) {
      const double slope = (total(moved, place, step) - total(moved, place, -step)) / (2 * step);
      EXPECT_NEAR(outcomes[static_cast<std::size_t>(moved)].dx[place], slope, 2e-4) << "rank " << moved << " place " << place;
    }
  }
}

TEST(Collectives, AllReduceHasGradients) {
  expect_gradients(3, [](const Tensor& x) { return dist::all_reduce(x * x); });
  expect_gradients(2, [](const Tensor& x) { return dist::all_reduce(x * x, dist::world(), Reduction::Mean) * x; });
  expect_gradients(3, [](const Tensor& x) { return dist::all_reduce(x * 0.7f, dist::world(), Reduction::Max); });
}

TEST(Collectives, GatherAndScatterHaveGradients) {
  expect_gradients(2, [](const Tensor& x) { return dist::all_gather(x * x); });
  expect_gradients(3, [](const Tensor& x) { return dist::all_gather(x, dist::world(), 1); });
  expect_gradients(2, [](const Tensor& x) { return dist::reduce_scatter(x * x); });
  expect_gradients(3, [](const Tensor& x) { return dist::reduce_scatter(x * x, dist::world(), Reduction::Mean, -1); });
  expect_gradients(2, [](const Tensor& x) { return dist::reduce_scatter(x, dist::world(), Reduction::Max); });
}

TEST(Collectives, BroadcastReduceAndAllToAllHaveGradients) {
  expect_gradients(3, [](const Tensor& x) { return dist::broadcast(x * x, 1); });
  expect_gradients(3, [](const Tensor& x) { return dist::reduce(x * x, 2); });
  expect_gradients(2, [](const Tensor& x) { return dist::reduce(x, 1, dist::world(), Reduction::Mean); });
  expect_gradients(2, [](const Tensor& x) { return dist::reduce(x, 0, dist::world(), Reduction::Max); });
  expect_gradients(2, [](const Tensor& x) { return dist::all_to_all(x * x); });
  expect_gradients(3, [](const Tensor& x) { return dist::all_to_all(x, dist::world(), 1); });
}

TEST(Collectives, EqualMaximaShareTheGradient) {
  test::on_ranks<int>(2, [](int) {
    const Tensor x = ones({3});
    EXPECT_EQ(host(grad(sum(dist::all_reduce(x, dist::world(), Reduction::Max)), x)),
              (std::vector<float>{1, 1, 1}));  // two losses, halves of each
    return 0;
  });
}

TEST(Collectives, GatherJoinsAlongAnyAxis) {
  test::on_ranks<int>(2, [](int rank) {
    const Tensor x = full({2, 2}, rank, i32);
    EXPECT_EQ(dist::all_gather(x, dist::world(), 1).to_host<int>(), (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1}));
    EXPECT_EQ(dist::all_gather(x).shape(), (Shape{4, 2}));
    const Tensor y = reshape(arange(8), {2, 4});
    EXPECT_EQ(dist::reduce_scatter(y, dist::world(), Reduction::Sum, 1).to_host<int>(),
              rank == 0 ? (std::vector<int>{0, 2, 8, 10}) : (std::vector<int>{4, 6, 12, 14}));
    return 0;
  });
}

TEST(Collectives, EmptyTensorsAndBooleans) {
  test::on_ranks<int>(3, [](int rank) {
    EXPECT_EQ(dist::all_reduce(zeros({0, 4})).shape(), (Shape{0, 4}));
    EXPECT_EQ(dist::all_gather(zeros({0, 4})).shape(), (Shape{0, 4}));
    const Tensor mine = arange(3) == rank;
    EXPECT_EQ(dist::all_reduce(mine, dist::world(), Reduction::Max).to_host<int>(), (std::vector<int>{1, 1, 1}));
    return 0;
  });
}

TEST(Collectives, ArgumentsOfAnyLayout) {
  test::on_ranks<int>(2, [](int rank) {
    const Tensor x = transpose(data_of(rank));
    const auto sums = host(dist::all_reduce(x)), a = host(transpose(data_of(0))), b = host(transpose(data_of(1)));
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], a[i] + b[i]);
    const Tensor scalar = dist::all_reduce(Tensor(static_cast<float>(rank + 1)));
    EXPECT_EQ(scalar.item(), 3);
    const Tensor wide = dist::all_reduce(expand(Tensor(static_cast<float>(rank + 1)), {5}));
    EXPECT_EQ(host(wide), std::vector<float>(5, 3));
    return 0;
  });
}

// Outside of jit a collective happens where it is called, so that a rank that looks at its result and one that does not stay in step.
TEST(Collectives, PlainOnesHappenOnTheirLine) {
  const auto sums = test::on_ranks<float>(2, [](int rank) {
    const Tensor a = dist::all_reduce(full({4}, rank + 1.0)), b = dist::all_reduce(full({4}, 10.0 * rank));
    if (rank == 0) return host(b)[0] + host(a)[0];
    return host(b)[0];
  });
  EXPECT_EQ(sums, (std::vector<float>{13, 10}));
}

// Ranks whose graphs differ beside the collectives still do those in one order.
TEST(Collectives, JitKeepsProgramOrder) {
  test::on_ranks<int>(2, [](int rank) {
    Variable weight(ones({6}));
    auto step = jit([&](const Tensor& x) {
      const Tensor a = rank == 0 ? x : sin(x * x) + cumsum(x, 0);
      const Tensor first = dist::all_reduce(a);
      const Tensor second = dist::all_reduce(x * 2.0f, dist::world(), Reduction::Max);  // needs nothing of the first
      const Tensor third = dist::all_gather(rank == 0 ? flip(x) : x * 1.0f);
      weight = weight + dist::broadcast(x, 1);
      return std::tuple(second + sum(third) * 0.0f, first, third);
    });
    for (int call = 0; call < 5; ++call) step(full({1}, rank + 1.0));
    return 0;
  });
}

// On rank 1 the first collective's operand is fused with the ops behind the second: by the data alone the second could go first.
TEST(Collectives, FusionDoesNotChangeTheOrder) {
  test::on_ranks<int>(2, [](int rank) {
    auto step = jit([&](const Tensor& x) {
      const Tensor t = rank == 0 ? x : x * 3.0f;
      const Tensor first = dist::all_reduce(t);
      const Tensor second = dist::all_reduce(x * 2.0f, dist::world(), Reduction::Max);
      return std::tuple(first, second, t + 1.0f);
    });
    const auto [first, second, late] = step(full({6}, rank + 1.0));
    EXPECT_EQ(host(first), std::vector<float>(6, 7));
    EXPECT_EQ(host(second), std::vector<float>(6, 4));
    EXPECT_EQ(host(late), std::vector<float>(6, rank == 0 ? 2.f : 7.f));
    return 0;
  });
}

TEST(Collectives, LoopsExchangeInEveryStep) {
  const auto sums = test::on_ranks<std::vector<float>>(2, [](int rank) {
    const auto f = [&](const Tensor& x) {
      const Scanned all = scan(
          [](const std::vector<Tensor>& carried, const std::vector<Tensor>& slices) {
            const Tensor next = dist::all_reduce(carried[0] * 0.5f + slices[0]);
            return Scanned{{next}, {next}};
          },
          {zeros({2})}, {x});
      return all.carry[0] + sum(all.ys[0], 0);
    };
    const Tensor x = full({4, 2}, rank + 1.0);
    auto step = jit(f);
    const auto plain = host(f(x)), jitted = host(step(x));
    EXPECT_EQ(plain, jitted);
    const Tensor loss = sum(f(x));
    EXPECT_EQ(grad(loss, x).shape(), x.shape());
    return plain;
  });
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(Collectives, SendAndReceiveCarryGradients) {
  const auto results = test::on_ranks<std::vector<float>>(2, [](int rank) {
    for (const bool jitted : {false, true}) {
      std::vector<float> out;
      if (rank == 0) {
        Variable w(tensor({1.f, 2.f, 3.f}));
        const auto f = [&] {
          const Tensor token = dist::send(w * w, 1);
          return grad(sum(token), w);
        };
        if (jitted) {
          auto step = jit(f);
          for (int i = 0; i < 3; ++i) out = host(step());
        } else {
          for (int i = 0; i < 3; ++i) out = host(f());
        }
      } else {
        const auto f = [&] {
          const Tensor start = zeros({0});
          const Tensor x = dist::receive({3}, f32, 0, dist::world(), start);
          return std::pair(x, grad(sum(x * x), start));
        };
        if (jitted) {
          auto step = jit(f);
          for (int i = 0; i < 3; ++i) out = host(step().first);
        } else {
          for (int i = 0; i < 3; ++i) out = host(f().first);
        }
      }
      if (jitted) return out;
    }
    return std::vector<float>();
  });
  EXPECT_EQ(results[1], (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(results[0], (std::vector<float>{4, 32, 108}));  // d Σ w⁴ = 4 w³
}

TEST(Collectives, WhatNobodyReadsIsSentAllTheSame) {
  test::on_ranks<int>(2, [](int rank) {
    auto step = jit([&](const Tensor& x) {
      if (rank == 0) dist::send(x * 2.0f, 1);
      else dist::receive({2}, f32, 0);
      dist::barrier();
      return x + 1.0f;
    });
    for (int i = 0; i < 3; ++i) { EXPECT_EQ(host(step(full({2}, i))), std::vector<float>(2, static_cast<float>(i + 1))); }
    return 0;
  });
}

TEST(Collectives, AGroupOfOneGivesBackWhatItGot) {
  const Tensor x = data_of(0);
  const dist::Group alone;
  for (const Tensor& y : {dist::all_reduce(x, alone), dist::reduce_scatter(x, alone), dist::all_gather(x, alone),
                          dist::broadcast(x, 0, alone), dist::reduce(x, 0, alone), dist::all_to_all(x, alone)})
    EXPECT_EQ(host(y), host(x));
  dist::barrier(alone);
}

TEST(Collectives, MisuseNamesTheLine) {
  const auto failures = test::failures_of(2, [](int) { dist::all_reduce(arange(3), dist::world(), Reduction::Mean); });
  EXPECT_NE(failures[0].find("all_reduce: got the mean of i64, expected a float dtype\n  at "), std::string::npos) << failures[0];
  const auto sizes = test::failures_of(2, [](int) { dist::reduce_scatter(ones({3})); });
  EXPECT_NE(sizes[0].find("shape (3,) for a group of 2"), std::string::npos) << sizes[0];
}

TEST(Collectives, ShapesThatDifferNameBothLines) {
  for (const bool jitted : {false, true}) {
    const auto failures = test::failures_of(2, [&](int rank) {
      const auto f = [&](const Tensor& x) {
        if (rank == 0) return dist::all_reduce(x);
        return dist::all_reduce(concat({x, x}));
      };
      if (jitted) jit(f)(ones({3}));
      else f(ones({3}));
    });
    for (const auto& failure : failures) {
      EXPECT_NE(failure.find("f32 (3,) on rank 0 at "), std::string::npos) << failure;
      EXPECT_NE(failure.find("f32 (6,) on rank 1 at "), std::string::npos) << failure;
    }
  }
}

// Rank 0 is in one of the two groups only: its graph has fewer exchanges than the others'.
TEST(Collectives, RanksOfWhichSomeExchangeMoreKeepTheOrderOfTheirLines) {
  const auto of_rank = [](int rank) {
    const dist::Group pair = dist::world().sub({2, 1});
    const auto f = [&](const Tensor& x) {
      Tensor y = x;
      if (pair.contains_me()) y = dist::all_reduce(y, pair, Reduction::Max);
      y = dist::all_reduce(y);
      return std::vector<Tensor>{y, grad(sum(y * static_cast<float>(10 * rank + 10)), x)};
    };
    auto jitted = jit(f);
    const Tensor x = full({2}, static_cast<float>(rank + 1));
    std::vector<float> out;
    for (const auto& results : {f(x), jitted(x), jitted(x)}) out.insert(out.end(), {host(results[0])[0], host(results[1])[0]});
    return out;
  };
  const auto found = test::on_ranks<std::vector<float>>(3, of_rank);
  EXPECT_EQ(found[0], (std::vector<float>{7, 60, 7, 60, 7, 60}));
  EXPECT_EQ(found[1], (std::vector<float>{7, 0, 7, 0, 7, 0}));
  EXPECT_EQ(found[2], (std::vector<float>{7, 120, 7, 120, 7, 120}));
}

// In a jit-ed function a collective happens if its result is read: ranks that read different results must not add up unrelated values.
TEST(Collectives, RanksThatReadOthersOfAJitAreTold) {
  const auto failures = test::failures_of(2, [&](int rank) {
    auto f = jit([&](const Tensor& x) {
      std::vector<Tensor> sums;
      for (int k = 0; k < 3; ++k) sums.push_back(dist::all_reduce(x * static_cast<float>(k)));
      return rank == 0 ? sums[0] : sums[2];
    });
    eval(f(ones({3})));
  });
  for (const auto& failure : failures) {
    EXPECT_NE(failure.find(", number 1 of the group in its jit"), std::string::npos) << failure;
    EXPECT_NE(failure.find(", number 3 of the group in its jit"), std::string::npos) << failure;
  }
}

// A group stays the same for the whole run, even if no handle of it is held: else its ranks would exchange their addresses again, and others would not.
TEST(Collectives, AGroupThatNobodyHoldsIsTheSameWhenItIsMadeAgain) {
  test::on_ranks<int>(2, [&](int) {
    const std::int64_t id = dist::world().sub({1, 0}).id();
    EXPECT_EQ(dist::world().sub({1, 0}).id(), id);
    return 0;
  });
}

TEST(Collectives, GroupsAndMeshesThatCannotBeAreErrors) {
  const auto failures = test::failures_of(4, [](int) {
    const dist::Group world = dist::world();
    const auto expect = [](const std::string& part, const std::function<void()>& f) {
      EXPECT_NE(message_of(f).find(part), std::string::npos) << message_of(f);
      EXPECT_NE(message_of(f).find("collectives_test.cpp:"), std::string::npos) << message_of(f);
    };
    expect("the ranks {0, 4}, expected some of 0 … 3", [&] { world.sub({0, 4}); });
    expect("the ranks {1, 1}", [&] { world.sub({1, 1}); });
    expect("axes {data: 3} for 4 ranks", [&] { dist::Mesh({{"data", 3}}, world); });
    expect("the axis 'time', expected one of data, tensor", [&] { dist::Mesh({{"data", 2}, {"tensor", 2}}, world).along("time"); });
    expect("rank 4 of a group of 4", [&] { dist::broadcast(ones({2}), 4, world); });
    expect("this rank itself", [&] { dist::send(ones({2}), world.rank(), world); });
    expect("this rank itself", [&] { dist::receive({2}, f32, world.rank(), world); });
    expect("f64 (0,) to come after", [&] { dist::receive({2}, f32, (world.rank() + 1) % 4, world, zeros({0}, f64)); });
    expect("a rank that is not in the group", [&] { dist::all_reduce(ones({2}), world.sub({(world.rank() + 1) % 4})); });
    expect("axis 2 of shape", [&] { dist::all_gather(ones({2}), world, 2); });
    expect("the sum of booleans", [&] { dist::all_reduce(arange(2) == 0, world); });
    expect("buckets of 0 bytes", [&] { dist::DataParallel({}, {.group = world, .bucket_bytes = 0}); });
    expect("got a call in the body of the scan", [&] {
      scan([&](const std::vector<Tensor>& carry,
               const std::vector<Tensor>&) { return Scanned{{carry[0] + sum(dist::send(carry[0], (world.rank() + 1) % 4, world))}, {}}; },
           {ones({2})}, {}, {.length = 3});
    });
  });
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace tegula
