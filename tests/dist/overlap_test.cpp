// Exchanges go on beside the steps of a plan: the same values, in the same order on every rank, and errors that name the line.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "tegula/core/check.h"
#include "tegula/dist.h"
#include "tegula/dist/exchange/progress.h"
#include "tegula/dist/show/timeline.h"
#include "tegula/runtime/timeline.h"
#include "tegula/tegula.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

using runtime::Timeline;
using runtime::TimelineEvent;
using runtime::TimelineScope;
using Kind = TimelineEvent::Kind;

struct Deep {
  nn::Linear a{64, 160}, b{160, 160}, c{160, 160}, d{160, 160}, out{160, 3};
  Tensor operator()(const Tensor& x) { return out(relu(d(relu(c(relu(b(relu(a(x))))))))); }
};

struct Seen {
  std::vector<std::vector<float>> weights;
  std::vector<TimelineEvent> events;
};

/// Three steps of a jit-ed function, its last run recorded.
Seen train_three_steps() {
  manual_seed(5);
  Deep net;
  optim::Adam adam(parameters(net), {.lr = 0.01});
  const dist::DataParallel parallel = dist::data_parallel(net);
  const data::ArrayDataset all = test::rows(64, {64});
  const data::Shard shard{dist::world().rank(), dist::world().size()};
  auto step = jit([&](const Tensor& x, const Tensor& y) {
    const Tensor loss = cross_entropy(net(x), y);
    adam.step(optim::clip_grad_norm(parallel.mean(grad(loss, parameters(net))), 1.0).gradients);
    return loss;
  });
  Timeline timeline;
  const auto batches = [&] {
    for (const auto& [x, y] : data::Loader(all, {.batch = 64, .shard = shard})) step(x, y).to_host();
  };
  batches();
  batches();
  {
    const TimelineScope scope(&timeline);
    batches();
  }
  Seen seen;
  for (const Parameter& parameter : Parameters(parameters(net))) seen.weights.push_back(parameter.read().to_host());
  seen.events = timeline.events();
  return seen;
}

class WithOverlap {
 public:
  explicit WithOverlap(const char* word) { ::setenv("TEGULA_OVERLAP", word, 1); }
  ~WithOverlap() { ::unsetenv("TEGULA_OVERLAP"); }
};

std::vector<TimelineEvent> of_kind(const std::vector<TimelineEvent>& events, Kind kind) {
  std::vector<TimelineEvent> out;
  std::ranges::copy_if(events, std::back_inserter(out), [&](const TimelineEvent& e) { return e.kind == kind; });
  std::ranges::stable_sort(out, {}, &TimelineEvent::begin);
  return out;
}

TEST(Overlap, GivesTheBitsOfExchangesInTheirPlace) {
  for (const int size : {2, 3, 4}) {
    std::vector<Seen> beside, in_place;
    {
      const WithOverlap on("on");
      beside = test::on_ranks<Seen>(size, [](int) { return train_three_steps(); });
    }
    {
      const WithOverlap off("off");
      in_place = test::on_ranks<Seen>(size, [](int) { return train_three_steps(); });
    }
    for (int r = 0; r < size; ++r) {
      EXPECT_EQ(beside[static_cast<std::size_t>(r)].weights, in_place[0].weights);
      EXPECT_EQ(in_place[static_cast<std::size_t>(r)].weights, in_place[0].weights);
    }
  }
}

// By the order in which steps begin, which does not depend on how fast they are.
TEST(Overlap, BucketsBeginWithinTheBackwardPassAndAreWaitedForBehindIt) {
  if (checking(Check::Memory)) GTEST_SKIP() << "skipped: memory is filled between steps, which are finished one by one";
  if (test::ranks_queue()) GTEST_SKIP() << "skipped: queues order exchanges themselves";
  const auto seen = test::on_ranks<Seen>(2, [](int) { return train_three_steps(); });
  std::vector<std::string> order;
  for (const TimelineEvent& e : of_kind(seen[0].events, Kind::Exchange)) {
    order.push_back(e.name);
    EXPECT_NE(e.where.find("overlap_test.cpp:"), std::string::npos) << e.where;
  }
  // Every gradient is in one of the buckets.
  const auto bytes = [&](std::size_t k) { return of_kind(seen[0].events, Kind::Exchange)[k].bytes; };
  ASSERT_GE(order.size(), 3u);
  std::int64_t all = 0;
  for (std::size_t k = 0; k < order.size(); ++k) all += bytes(k);
  EXPECT_EQ(all, 4 * (64 * 160 + 160 + 3 * (160 * 160 + 160) + 160 * 3 + 3));
  std::vector<std::string> theirs;
  for (const TimelineEvent& e : of_kind(seen[1].events, Kind::Exchange)) theirs.push_back(e.name);
  EXPECT_EQ(order, theirs);
  // The plan itself: products follow the first exchange, and no step waits before the last product of the backward pass.
  const auto products = of_kind(seen[0].events, Kind::Call), waits = of_kind(seen[0].events, Kind::Wait);
  ASSERT_FALSE(products.empty());
  ASSERT_FALSE(waits.empty());
  EXPECT_GE(waits.front().begin, products.back().end);
}

// A step is recorded when it is repeated. The first time its exchanges go into a queue of their own, and devices' queues take turns by chance here: what waits for an
// exchange, or for its memory, does so in each of them.
TEST(Overlap, WhatIsNotRecordedGoesOnBesideExchanges) {
  if (!test::ranks_queue()) GTEST_SKIP() << "ranks' devices queue nothing";
  const auto run = [](const char* overlap) {
    const WithOverlap setting(overlap);
    return test::on_ranks<std::pair<std::vector<float>, int>>(2, [&](int rank) {
      const auto& device = dynamic_cast<test::QueuedDevice&>(default_device());
      manual_seed(4);
      const Tensor x = normal({16, 32}), w = normal({32, 32});
      std::vector<float> all;
      for (int turn = 0; turn < 12; ++turn) {
        auto step = jit([&](const Tensor& x) {
          Tensor own = tanh(matmul(x, w)), sum = zeros({16, 32});
          for (int k = 0; k < 4; ++k) {
            const Tensor sent = dist::all_reduce(own * 0.5f);
            own = tanh(matmul(own, w));
            sum = sum + square(sent);
          }
          return concat({sum, own}, 0);
        });
        for (const float value : step(x * (1.0f + static_cast<float>(rank + turn))).to_host()) all.push_back(value);
      }
      return std::pair(all, static_cast<int>(device.counters.beside));
    });
  };
  const auto beside = run("on"), behind = run("off");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(beside[rank].first, behind[rank].first);
    EXPECT_GE(beside[rank].second, 12 * 4);
    EXPECT_EQ(behind[rank].second, 0);
  }
}

TEST(Overlap, ReadingAResultAtOnceWaitsForIt) {
  const auto sums = test::on_ranks<std::vector<float>>(3, [](int rank) {
    auto step = jit([](const Tensor& x) {
      const Tensor early = dist::all_reduce(2 * x), late = dist::all_reduce(matmul(x, x));
      const Tensor both = exp(early / 100) + late;
      return both + dist::all_reduce(both);
    });
    const Tensor x = full({4, 4}, rank + 1.0);
    std::vector<float> out;
    for (int i = 0; i < 5; ++i) out = step(x).to_host();
    return out;
  });
  const double one = std::exp(2 * 6 / 100.0) + 4 * (1 + 4 + 9);
  for (const auto& sum : sums) {
    ASSERT_EQ(sum.size(), 16u);
    for (const float value : sum) EXPECT_NEAR(value, 4 * one, 1e-3);
  }
}

TEST(Overlap, GradientsGoThroughExchangesThatAreBegun) {
  const auto all = test::on_ranks<std::vector<float>>(2, [](int rank) {
    auto step = jit([](const Tensor& x) {
      const Tensor shared = dist::all_reduce(x * x);
      const Tensor beside = matmul(x, x);
      return grad(sum(shared * shared) + sum(beside), {x})[0];
    });
    return step(full({2, 2}, rank + 1.0)).to_host();
  });
  // Σ over ranks of s², s = x₀² + x₁²: 2 ranks · 2 s · 2 x; and of x·x with equal elements 4 x.
  for (int rank = 0; rank < 2; ++rank) {
    const double x = rank + 1.0, s = 5;
    for (const float value : all[static_cast<std::size_t>(rank)]) EXPECT_NEAR(value, 2 * 2 * s * 2 * x + 4 * x, 1e-4);
  }
}

TEST(Overlap, AnErrorInsideAnExchangeNamesTheLine) {
  const auto failures = test::failures_of(2, [](int rank) {
    auto step = jit([&](const Tensor& x) {
      const Tensor begun = dist::all_reduce(rank == 0 ? x : concat({x, x}, 0));  // differs
      const Tensor beside = matmul(x, x);
      return sum(begun) + sum(beside);
    });
    step(full({8, 8}, 1.0)).to_host();
  });
  for (const auto& failure : failures) {
    EXPECT_NE(failure.find("overlap_test.cpp:"), std::string::npos) << failure;
    EXPECT_NE(failure.find("of f32 (8, 8) on rank 0"), std::string::npos) << failure;
    EXPECT_NE(failure.find("of f32 (16, 8) on rank 1"), std::string::npos) << failure;
  }
}

// A rank fails while an exchange of its own is under way: it is let go, the others are told.
TEST(Overlap, ARankThatFailsBesideAnExchangeHangsNobody) {
  if (test::ranks_queue()) GTEST_SKIP() << "skipped: checks of queued work are heard of later";
  const auto failures = test::failures_of(2, [](int rank) {
    auto step = jit([](const Tensor& x, const Tensor& index) {
      const Tensor begun = dist::all_reduce(x);
      const Tensor beside = take(matmul(x, x), index, 0);
      return sum(begun) + dist::all_reduce(sum(beside));
    });
    const Tensor index = full({8}, rank == 0 ? 99 : 1, i64);
    step(full({8, 8}, 1.0), index).to_host();
  });
  EXPECT_NE(failures[0].find("99"), std::string::npos) << failures[0];
  EXPECT_NE(failures[1].find("a run that has stopped: rank 0: "), std::string::npos) << failures[1];
}

// A loop that exchanges is one step, and its operands have arrived before it, even if the other rank comes late.
TEST(Overlap, ALoopThatExchangesWaitsForWhatItReads) {
  const auto sums = test::on_ranks<std::vector<float>>(2, [](int rank) {
    auto step = jit([](const Tensor& x) {
      const Tensor early = dist::all_reduce(x);
      const Tensor beside = matmul(x, x);
      const Scanned all = scan([](const std::vector<Tensor>& carried,
                                  const std::vector<Tensor>& slices) { return Scanned{{dist::all_reduce(carried[0] + slices[0])}, {}}; },
                               {select(early, 0, 0)}, {early});
      return all.carry[0] + select(beside, 0, 0);
    });
    std::vector<float> out;
    for (int i = 0; i < 3; ++i) {
      const Tensor x = full({2, 2}, i + 1.0);
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      out = step(x).to_host();
    }
    return out;
  });
  // x = 3 everywhere: early = 6; twice c = 2 (c + 6) from 6 on: 24, 60; and 3 · 3 + 3 · 3.
  for (const auto& sum : sums) EXPECT_EQ(sum, (std::vector<float>{60 + 18, 60 + 18}));
}

// ZeRO's stage 3 in the forward pass: while a layer computes, the parameters of the next one are on their way, and no more than those.
TEST(Overlap, AGatherGoesBesideTheLayerBefore) {
  const auto plans = test::on_ranks<std::string>(2, [](int) {
    Deep net;
    const dist::DataParallel parallel = dist::data_parallel(net, {.shard = 3});
    auto step = jit([&](const Tensor& x) {
      std::vector<Tensor> sums;
      for (const Tensor& g : parallel.mean(grad(sum(net(x)), parallel.leaves()))) sums.push_back(sum(g));
      return stack(sums, 0);
    });
    step(ones({8, 64}));
    return step.print_plan();
  });
  std::string order;
  std::istringstream lines(plans[0]);
  for (std::string line; std::getline(lines, line) && order.size() < 10;) {
    if (line.find("call all_gather") != std::string::npos) order += 'g';
    if (line.find("call matmul") != std::string::npos) order += 'm';
  }
  EXPECT_EQ(order.substr(0, 8), "ggmgmgmm") << plans[0];
}

TEST(Progress, WorkIsDoneInItsOrderAndTheFirstFailureIsThatOfAllBehindIt) {
  dist::Progress progress;
  std::vector<int> done;
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) last = progress.begin([&done, i] { done.push_back(i); });
  progress.finish(last);
  ASSERT_EQ(done.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  const auto good = progress.begin([] {});
  const auto bad = progress.begin([] { throw Error({.op = "work", .got = "a failure"}); });
  const auto behind = progress.begin([&done] { done.clear(); });
  EXPECT_NO_THROW(progress.finish(good));
  EXPECT_THROW(progress.finish(bad), Error);
  EXPECT_THROW(progress.finish(behind), Error);
  progress.drain();
  EXPECT_EQ(done.size(), 100u);
}

}  // namespace
}  // namespace tegula
