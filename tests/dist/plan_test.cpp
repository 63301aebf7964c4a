// Plans with exchanges: sums take the memory of their terms, updates wait for their own bucket, shared layers send halves.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <regex>

#include "tegula/compile/run/executable.h"
#include "tegula/dist.h"
#include "tegula/graph/trace.h"
#include "tegula/tegula.h"
#include "tests/dist/ranks.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// The lines of a plan that say `word`.
std::vector<std::string> lines_with(const std::string& plan, const std::string& word) {
  std::vector<std::string> out;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) out.push_back(line);
  return out;
}

void on_two_ranks(const std::function<void(int)>& f) {
  for (const std::string& failure : test::failures_of(2, f)) EXPECT_EQ(failure, "");
}

TEST(PlansOfExchanges, SumsLieWhereTheirTermsLay) {
  const std::regex two_places("@(\\d+) -> %\\d+@(\\d+)");  // once: threads that make one write to their locale
  on_two_ranks([&](int rank) {
    auto step = jit([](const Tensor& x) { return exp(dist::all_reduce(sin(x) * 2.0f)) * 3.0f; });
    const Tensor x = full({1000}, 0.25f * static_cast<float>(rank + 1));
    for (int i = 0; i < 3; ++i) {
      const float expected = 3 * std::exp(2 * (std::sin(0.25f) + std::sin(0.5f)));
      EXPECT_NEAR(step(x).to_host()[999], expected, 1e-5f * expected);
    }
    const auto found = lines_with(step.print_plan(), "call all_reduce");
    ASSERT_EQ(found.size(), 1u);
    std::smatch places;
    ASSERT_TRUE(std::regex_search(found[0], places, two_places)) << found[0];
    EXPECT_EQ(places[1], places[2]) << found[0];
  });
}

// A later reader of the terms finds them.
TEST(PlansOfExchanges, TermsThatAreReadAgainStay) {
  on_two_ranks([](int rank) {
    auto step = jit([](const Tensor& x) {
      const Tensor own = sin(x) * 2.0f, all = dist::all_reduce(own);
      return all * 10.0f + cos(own);
    });
    const Tensor x = full({777}, 0.25f * static_cast<float>(rank + 1));
    const float own = 2 * std::sin(0.25f * static_cast<float>(rank + 1)), all = 2 * (std::sin(0.25f) + std::sin(0.5f));
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(step(x).to_host()[776], all * 10 + std::cos(own), 1e-4f);
  });
}

TEST(PlansOfExchanges, UpdatesWaitForTheirOwnBucketAlone) {
  on_two_ranks([](int) {
    manual_seed(2);
    nn::Sequential net{nn::Linear{256, 256}, relu, nn::Linear{256, 256}, relu, nn::Linear{256, 256}};
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    const dist::DataParallel parallel = dist::data_parallel(net, {.bucket_bytes = 300'000});
    auto step = jit([&](const Tensor& x) {
      const Tensor loss = mean(square(net(x)));
      sgd.step(parallel.mean(grad(loss, parameters(net))));
      return loss;
    });
    const Tensor x = normal({8, 256});
    for (int i = 0; i < 3; ++i) step(x).to_host();
    const std::string plan = step.print_plan();
    const auto exchanges = lines_with(plan, "call all_reduce");
    ASSERT_GE(exchanges.size(), 3u) << plan;
    for (const std::string& exchange : exchanges) {  // no step reads the results of two
      std::smatch result;
      ASSERT_TRUE(std::regex_search(exchange, result, std::regex("-> (%\\d+)@")));
      for (const std::string& other : exchanges) {
        std::smatch second;
        std::regex_search(other, second, std::regex("-> (%\\d+)@"));
        if (result[1] == second[1]) continue;
        for (const std::string& line : lines_with(plan, "tile "))
          EXPECT_FALSE(line.find(" " + result[1].str() + "@") != std::string::npos &&
                       line.find(" " + second[1].str() + "@") != std::string::npos)
              << line;
      }
    }
  });
}

// Gradients in halves are each cast into their part of the bucket.
TEST(PlansOfExchanges, HalvesAreCastIntoTheirBucket) {
  on_two_ranks([](int) {
    const PrecisionScope halves(Precision::bf16);
    manual_seed(2);
    nn::Sequential net{nn::Linear{128, 128}, tanh, nn::Linear{128, 128}};
    const dist::DataParallel parallel = dist::data_parallel(net, {.bucket_bytes = 1 << 20});
    const auto gradients = [&](const Tensor& x) { return grad(mean(square(net(x))), parameters(net)); };
    auto step = jit([&](const Tensor& x) { return parallel.mean(gradients(x)); });
    const Tensor x = normal({16, 128});
    eval(x);
    const std::vector<Tensor> all = step(x);
    const std::vector<Tensor> own = gradients(x);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_LT(max(abs(all[i] - own[i])).item(), 0.02f * max(abs(own[i])).item()) << i;  // x is the same on both
    EXPECT_TRUE(lines_with(step.print_plan(), "tile concat").empty()) << step.print_plan();
  });
}

TEST(PlansOfExchanges, SharedLayersSendHalvesWhereProductsGiveThem) {
  on_two_ranks([](int) {
    manual_seed(4);
    nn::Sequential net{nn::Linear{64, 128}, relu, nn::Linear{128, 64}};
    const Tensor x = normal({32, 64});
    eval(x);
    const Tensor alone = net(x);
    eval(alone);
    dist::tensor_parallel(net, {{"0", dist::ColwiseParallel{}}, {"2", dist::RowwiseParallel{}}});
    const auto f = [&](const Tensor& in) {
      const Tensor y = net(in);
      return std::vector<Tensor>{y, grad(sum(square(y)), in)};
    };
    const PrecisionScope halves(Precision::bf16);
    auto step = jit(f);
    step(x);
    const Tensor y = step(x)[0];
    EXPECT_EQ(y.dtype(), f32);
    EXPECT_LT(max(abs(y - alone)).item(), 0.02f * max(abs(alone)).item());
    const std::string plan = step.print_plan();
    EXPECT_EQ(lines_with(plan, "all_reduce bf16").size(), 2u) << plan;
    EXPECT_TRUE(lines_with(plan, "all_reduce f32").empty()) << plan;
  });
}

/// The plan of the step in parts: three layers over 14 rows, whole and in two parts, and the gradient of their weights (3, 16, 16) have the same values.
std::string plan_of_parts(const Tensor& rows, const Tensor& weights,
                          const std::function<Tensor(const Tensor& part, const Tensor& w)>& layer) {
  const auto step_of = [&](const std::vector<std::int64_t>& ends) {
    return jit([&layer, ends](const Tensor& in, const Tensor& w) {
      Tensor loss = full({}, 0.0f);
      for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
        Tensor part = slice(in, 0, {ends[k], ends[k + 1]});
        for (int l = 0; l < 3; ++l) part = tanh(layer(part, select(w, 0, l)));
        loss = loss + sum(part * part);
      }
      return std::vector<Tensor>{loss, dist::all_reduce(grad(loss, {w})[0])};
    });
  };
  auto whole = step_of({0, 14}), parts = step_of({0, 8, 14});
  for (int i = 0; i < 3; ++i) {
    const auto expected = whole(rows, weights), found = parts(rows, weights);
    EXPECT_NEAR(found[0].item(), expected[0].item(), 1e-4f);
    EXPECT_LT(max(abs(found[1] - expected[1])).item(), 1e-4f);
  }
  return parts.print_plan();
}

// Written one part after the other, parts of a batch go through shared layers in turn, there and back; sums without a waiting reader stay behind.
TEST(PlansOfExchanges, PartsOfABatchTakeTurns) {
  on_two_ranks([](int rank) {
    const Tensor weights = normal({3, 16, 16}) * 0.3f, x = normal({14, 16});
    eval(weights, x);
    const Tensor mine = weights * (rank == 0 ? 1.0f : 0.5f);
    const std::string plan = plan_of_parts(x, mine, [](const Tensor& part, const Tensor& w) {
      return dist::reduce_from_ranks(matmul(dist::copy_to_ranks(part, dist::world()), w), dist::world());
    });
    std::string order;
    for (const std::string& line : lines_with(plan, "call all_reduce")) {
      order += line.find("(8, 16)") != std::string::npos ? 'a' : line.find("(6, 16)") != std::string::npos ? 'b' : 'w';
    }
    EXPECT_EQ(order, "abababbabaw") << plan;
  });
}

// Steps that are scattered between layers: a gather, which no product is ahead of, follows the scatter that it comes behind, and does not wait for the other part's products.
TEST(PlansOfExchanges, PartsOfScatteredStepsTakeTurns) {
  on_two_ranks([](int rank) {
    const Tensor weights = normal({3, 16, 16}) * 0.3f, x = normal({28, 16});
    eval(weights, x);
    const Tensor own = slice(x, 0, {14 * rank, 14 * rank + 14}), mine = weights * (rank == 0 ? 1.0f : 0.5f);
    const std::string plan = plan_of_parts(own, mine, [](const Tensor& part, const Tensor& w) {
      const Tensor all = dist::all_gather(part, dist::world(), 0, dist::Turn::AmongLayers);
      return dist::reduce_scatter(matmul(all, w), dist::world(), dist::Reduction::Sum, 0, dist::Turn::AmongLayers);
    });
    std::string order;  // lower case: a gather
    for (const std::string& line : lines_with(plan, " among 2")) {
      const bool gather = line.find("call all_gather") != std::string::npos;
      if (line.find("(8, 16)") != std::string::npos || line.find("(16, 16) among") != std::string::npos) order += gather ? "a" : "A";
      else if (line.find("(6, 16)") != std::string::npos || line.find("(12, 16)") != std::string::npos) order += gather ? "b" : "B";
      else order += 'w';
    }
    EXPECT_EQ(order.substr(0, 10), "abAaBbAaBb") << plan;
    EXPECT_EQ(order, "abAaBbAaBbAaBbBbAaBbAaw");
  });
}

// A residual that the program keeps in halves lies in memory as halves, also where what products read of it is gathered first.
TEST(PlansOfExchanges, HalvesBetweenScatteredLayersAreStoredAsHalves) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  on_two_ranks([](int) {
    const Tensor x = normal({32, 64}), weights = normal({64, 64});
    eval(x, weights);
    const PrecisionScope arithmetic(Precision::bf16);
    Trace trace(Line::current());  // nothing is computed
    const auto as_half = [](const Tensor& t) { return cast(t, bf16); };
    const Tensor residual = cast(as_half(sin(x)), f32), normed = residual - mean(residual, {1}, Keep::Yes);
    const Tensor product = matmul(cast(dist::all_gather(as_half(normed)), f32), weights);
    const Tensor loss = mean(square(cast(dist::reduce_scatter(as_half(product)), f32) + residual));
    const Node* const root = loss.node().get();
    const auto executable = compile::compile(compile::flatten(compile::read({&root, 1}), {&root, 1}, {}), device);
    int halves = 0;
    for (const compile::Step& step : executable->plan().steps) {
      for (const int item : step.writes) {
        const compile::Item& written = executable->plan().graph[item];
        EXPECT_FALSE(written.dtype == f32 && numel(written.shape) >= 32 * 64) << compile::to_string(executable->plan());
        halves += written.dtype == bf16 ? 1 : 0;
      }
    }
    EXPECT_GE(halves, 4);
  });
}

// Recordings are laid out so: a chain goes ahead of work that its exchange waits for less long, and behind the work of an earlier exchange.
TEST(PlansOfExchanges, WhatAnExchangeWaitsForLongestIsLaunchedFirst) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  on_two_ranks([](int) {
    const Tensor x = normal({64, 64}), wide = normal({64, 64}), early = normal({64, 32}), side = normal({64, 48}), none = normal({64, 40});
    eval(x, wide, early, side, none);
    Trace trace(Line::current());  // nothing is computed
    const Tensor unsent = matmul(x, none);
    std::vector<Tensor> chain{matmul(x, wide)};
    const Tensor short_way = matmul(chain[0], side);
    for (int k = 1; k < 6; ++k) chain.push_back(matmul(chain.back(), wide));
    const Tensor first = dist::all_reduce(matmul(x, early)), second = dist::all_reduce(concat({short_way, chain.back()}, 1));
    const std::vector<Tensor> values{unsent, first, second};
    std::vector<const Node*> roots;
    for (const Tensor& value : values) roots.push_back(value.node().get());
    const auto executable = compile::compile(compile::flatten(compile::read(roots), roots, {}), device);
    const compile::Plan& plan = executable->plan();
    const auto columns = [&](const compile::PlannedRun& run) {
      const compile::Step& step = plan.steps[static_cast<std::size_t>(run.step)];
      return step.is_call() ? plan.graph[step.writes[0]].shape[1] : 0;
    };
    std::vector<compile::PlannedRun> runs = compile::recorded_runs(plan, compile::dependencies(plan), 1);
    std::erase_if(runs, [&](const compile::PlannedRun& run) { return columns(run) == 0; });
    std::vector<std::int64_t> order;
    for (const compile::PlannedRun& run : runs) {
      order.push_back(columns(run));
      const bool exchange = plan.steps[static_cast<std::size_t>(run.step)].exchanges;
      if (exchange || columns(run) == 48 || columns(run) == 40) { EXPECT_EQ(run.hurried, exchange) << columns(run); }
    }
    ASSERT_EQ(order.size(), 11u);
    const std::vector<std::int64_t> begin(order.begin(), order.begin() + 7);
    EXPECT_EQ(begin, (std::vector<std::int64_t>{32, 32, 64, 64, 64, 64, 64}));
    EXPECT_EQ(order.back(), 40);
  });
}

// Beside the work that the last exchange waits for they would take room from it, and nothing would be left to go on beside the exchange.
TEST(PlansOfExchanges, UpdatesGoOnBesideTheLastExchange) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  on_two_ranks([](int) {
    const Tensor x = normal({64, 64}), early = normal({64, 32}), late = normal({64, 48});
    eval(x, early, late);
    Trace trace(Line::current());  // nothing is computed
    const Tensor first = dist::all_reduce(matmul(x, early)), second = dist::all_reduce(matmul(matmul(matmul(x, x), x), late));
    const std::vector<Tensor> values{exp(first), exp(second)};
    std::vector<const Node*> roots;
    for (const Tensor& value : values) roots.push_back(value.node().get());
    const auto executable = compile::compile(compile::flatten(compile::read(roots), roots, {}), device);
    const compile::Plan& plan = executable->plan();
    const auto runs = compile::recorded_runs(plan, compile::dependencies(plan), 1);
    const auto step_of = [&](const compile::PlannedRun& run) -> const compile::Step& {
      return plan.steps[static_cast<std::size_t>(run.step)];
    };
    const auto columns = [&](const compile::PlannedRun& run) { return plan.graph[step_of(run).writes[0]].shape[1]; };
    int updates = 0;
    for (const compile::PlannedRun& run : runs) {
      if (step_of(run).is_call()) continue;
      ++updates;
      bool behind_work = false, behind_exchange = false;
      for (const int before : run.after) {
        const compile::PlannedRun& other = runs[static_cast<std::size_t>(before)];
        const bool exchange = step_of(other).exchanges;
        EXPECT_EQ(columns(other), exchange ? columns(run) : 48) << compile::to_string(plan);
        (exchange ? behind_exchange : behind_work) = true;
      }
      EXPECT_TRUE(behind_exchange) << compile::to_string(plan);
      EXPECT_EQ(behind_work, columns(run) == 32) << compile::to_string(plan);
    }
    EXPECT_EQ(updates, 2) << compile::to_string(plan);
  });
}

}  // namespace
}  // namespace tegula
