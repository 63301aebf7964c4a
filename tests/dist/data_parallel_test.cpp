// A training of several ranks is the training of one process.

#include "tegula/train/data_parallel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "tegula/dist/collectives/lookups.h"
#include "tegula/graph/history.h"
#include "tegula/tegula.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

struct Mlp {
  nn::Linear in{6, 16}, out{16, 3};
  Tensor operator()(const Tensor& x) { return out(relu(in(x))); }
};
struct Cnn {
  nn::Conv2d conv{1, 4, 3};
  nn::Linear out{4 * 2 * 2, 3};
  Tensor operator()(const Tensor& x) { return out(flatten(max_pool2d(relu(conv(x)), {2}), 1)); }
};
struct Recurrent {
  nn::LSTM lstm{3, 8, {.batch_first = true}};
  nn::Linear out{8, 3};
  Tensor operator()(const Tensor& x) { return out(select(lstm(x).output, 1, -1)); }
};

using test::expect_like_one_process;
using test::Outcome;
using test::rows;

TEST(DataParallel, AnMlpTrainsAsInOneProcess) { expect_like_one_process<Mlp>({6}, {.epochs = 4, .batch = 16}, {2, 3, 4}); }
TEST(DataParallel, ACnnTrainsAsInOneProcess) { expect_like_one_process<Cnn>({1, 6, 6}, {.epochs = 3, .batch = 16}, {2}); }
TEST(DataParallel, AnLstmTrainsAsInOneProcess) { expect_like_one_process<Recurrent>({5, 3}, {.epochs = 12, .batch = 16}, {3}); }
TEST(DataParallel, GradientsAreLimitedAndAccumulatedOverAllRanks) {
  expect_like_one_process<Mlp>({6}, {.epochs = 4, .batch = 8, .clip_norm = 0.2, .accumulate = 2}, {2, 3});
}
TEST(DataParallel, BatchesMayHaveFewerRowsThanThereAreRanks) { expect_like_one_process<Mlp>({6}, {.epochs = 2, .batch = 2}, {3}); }

TEST(DataParallel, AHandWrittenLoopTakesOneLine) {
  const auto run = [](const dist::Group& group) {
    manual_seed(3);
    Mlp net;
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    const dist::DataParallel parallel = dist::data_parallel(net, {.group = group, .bucket_bytes = 200});
    const data::ArrayDataset all = rows(24, {6});
    auto step = jit([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(net(x), y);
      sgd.step(parallel.mean(grad(loss, parameters(net))));
      return loss;
    });
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const auto& [x, y] : data::Loader(all, {.batch = 12, .shard = {group.rank(), group.size()}})) step(x, y);
    }
    return net.in.weight.to_host();
  };
  const auto alone = run({});
  for (const auto& weights : test::on_ranks<std::vector<float>>(2, [&](int) { return run(dist::world()); })) {
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(weights[i], alone[i], 1e-5);
  }
}

/// Six rows, of which each has another number of numbers that count: those whose target is above 0.
struct Counting {
  HostArray x = HostArray::empty(f32, {6, 4}), y = HostArray::empty(f32, {6, 4});
  Counting() {
    for (std::size_t i = 0; i < 24; ++i) {
      constexpr std::size_t kCounted[] = {4, 1, 0, 3, 0, 2};
      x.values<float>()[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
      y.values<float>()[i] = i % 4 < kCounted[i / 4] ? 1 + 0.1F * static_cast<float>(i % 5) : 0;
    }
  }
  static Tensor count(const Tensor&, const Tensor& y) { return sum(cast(y > 0, f32)); }
  /// The mean over the elements that count, NaN if there are none.
  static Tensor loss(const Tensor& out, const Tensor& y) { return sum(where(y > 0, square(out - y), 0)) / count(out, y); }
};

// A rank or a batch of which nothing counts is the mean of nothing.
TEST(DataParallel, BatchesCountByWhatIsCountedOnAllRanks) {
  const Counting rows;
  const auto run = [&](const dist::Group& group, std::int64_t batch, std::int64_t accumulate, int shard) {
    manual_seed(3);
    nn::Linear net{4, 4};
    optim::SGD sgd(parameters(net), {.lr = 0.1, .momentum = 0.9});
    TrainerOptions options{.epochs = 3, .batch = batch, .accumulate = accumulate};
    options.count = Counting::count;
    options.shuffle = false;
    options.group = group;
    options.shard = shard;
    Trainer trainer(net, sgd, Counting::loss, options);
    std::vector<float> out{static_cast<float>(trainer.fit(data::Arrays({rows.x, rows.y})).back().train_loss)};
    for (const float weight : net.weight.to_host()) out.push_back(weight);
    return out;
  };
  const auto alone = run({}, 6, 1, 0);
  for (const auto& [batch, accumulate] : {std::pair(6, 1), std::pair(3, 2), std::pair(2, 3)}) {
    for (const int shard : {0, 2}) {
      const auto ranks = test::on_ranks<std::vector<float>>(3, [&](int) { return run(dist::world(), batch, accumulate, shard); });
      for (const auto& weights : ranks) {
        ASSERT_EQ(weights.size(), alone.size());
        for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(weights[i], alone[i], 1e-5) << batch << " " << shard << " " << i;
      }
    }
  }
}

TEST(DataParallel, AMeanByWeightsIsThatOfOneProcess) {
  const Counting rows;
  const auto run = [&](const dist::Group& group) {
    manual_seed(3);
    nn::Linear net{4, 4};
    const dist::DataParallel parallel = dist::data_parallel(net, {.group = group});
    optim::SGD sgd(parallel.parameters(), {.lr = 0.1});
    auto step = jit([&](const Tensor& x, const Tensor& y) {
      sgd.step(parallel.mean(grad(Counting::loss(net(x), y), parallel.leaves()), Counting::count(x, y)));
    });
    for (int epoch = 0; epoch < 5; ++epoch) {
      for (const auto& [x, y] : data::Loader(data::Arrays({rows.x, rows.y}), {.batch = 6, .shard = {group.rank(), group.size()}}))
        step(x, y);
    }
    return net.weight.to_host();
  };
  const auto alone = run({});
  for (const auto& weights : test::on_ranks<std::vector<float>>(3, [&](int) { return run(dist::world()); })) {
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(weights[i], alone[i], 1e-5) << i;
  }
}

/// Scores over the words of the next one, by an output layer that is the embedding or a layer of its own.
struct Words {
  nn::Embedding words{40, 6, {.padding_idx = 3}};
  nn::Linear hidden{6, 6}, out{6, 40, {.bias = false}};
  bool tied = true;
  Tensor operator()(const Tensor& ids) {
    const Tensor x = tanh(hidden(words(ids)));
    return tied ? matmul(x, transpose(Tensor(words.weight))) : out(x);
  }
};

// Rows looked up on both ranks, more than once, and the padding's.
TEST(DataParallel, GradientsOfTablesMayTravelAsTheirRows) {
  const auto run = [](const dist::Group& group, bool tied, bool lookups, bool jitted, std::optional<Precision> exchange) {
    manual_seed(3);
    Words net{.tied = tied};
    optim::SGD sgd(parameters(net), {.lr = 1.0, .momentum = 0.5});
    const dist::DataParallel parallel =
        dist::data_parallel(net, {.group = group, .bucket_bytes = 200, .exchange = exchange, .lookups = lookups});
    const auto once = [&](const Tensor& ids, const Tensor& next) {
      const Tensor loss = cross_entropy(net(ids), next);
      sgd.step(parallel.mean(grad(loss, parameters(net))));
      return loss;
    };
    auto step = jit(once);
    const Tensor ids = tensor<std::int64_t>({5, 7, 5, 3, 39, 0, 7, 7}), next = tensor<std::int64_t>({7, 5, 3, 39, 0, 7, 7, 1});
    const std::int64_t each = 8 / group.size(), first = group.rank() * each;
    const Tensor own = slice(ids, 0, {first, first + each}), then = slice(next, 0, {first, first + each});
    for (int i = 0; i < 5; ++i) jitted ? step(own, then) : once(own, then);
    std::vector<float> out;
    for (const Parameter& parameter : Parameters(parameters(net)))
      for (const float value : parameter.read().to_host()) out.push_back(value);
    return out;
  };
  for (const bool tied : {true, false}) {
    for (const bool jitted : {true, false}) {
      const auto alone = run({}, tied, false, jitted, {});
      for (const auto exchange : {std::optional<Precision>(), std::optional(Precision::bf16)}) {
        const auto ranks = test::on_ranks<std::vector<float>>(2, [&](int) { return run(dist::world(), tied, true, jitted, exchange); });
        EXPECT_EQ(ranks[0], ranks[1]);
        for (std::size_t i = 0; i < alone.size(); ++i)
          ASSERT_NEAR(ranks[0][i], alone[i], exchange ? 2e-2 : 1e-4) << tied << jitted << " " << i;
      }
    }
  }
}

// The rest of a table's gradient goes first and alone, the rows last; where more rows are looked up than the table has, the whole gradient in its bucket.
TEST(DataParallel, RowsTravelWhereTheyAreLess) {
  for (const std::int64_t rows : {8, 40}) {
    for (const std::string& failure : test::failures_of(2, [&](int) {
           Words net;
           optim::SGD sgd(parameters(net), {.lr = 0.1});
           const dist::DataParallel parallel = dist::data_parallel(net, {.lookups = true});
           auto step = jit([&](const Tensor& ids) {
             sgd.step(parallel.mean(grad(cross_entropy(net(ids), ids), parameters(net))));
             return ids;
           });
           eval(step(randint(0, 40, {rows})));
           std::string order;
           std::istringstream lines(step.print_plan());
           for (std::string line; std::getline(lines, line);) {
             if (line.find("call all_gather") != std::string::npos) order += line.find("i64") != std::string::npos ? 'i' : 'g';
             if (line.find("call all_reduce") != std::string::npos)
               order += line.find("(240)") != std::string::npos || line.find("(240,)") != std::string::npos ? 't' : 'b';
           }
           EXPECT_EQ(order, rows == 8 ? "itbg" : "b") << step.print_plan();
         }))
      EXPECT_EQ(failure, "");
  }
}

TEST(DataParallel, WhatIsNoSumOfRowsIsExchangedWhole) {
  const Tensor column = normal({40, 1}), table = normal({40, 6}), ids = tensor<std::int64_t>({3, 5, 3});
  const auto of = [&](const Tensor& y, const Tensor& x) { return dist::table_gradient(grad(sum(y), x), 2, Line::current()); };
  EXPECT_EQ(of(square(take(table, ids, 0)), table)->rows.size(), 1u);
  EXPECT_EQ(of(square(take(table, ids, 0)) + take(table, ids, 0), table)->rows.size(), 2u);
  EXPECT_FALSE(of(gather(column, 1, zeros({40, 1}, i64)), column));
  EXPECT_FALSE(of(gather(column, 1, zeros({40, 0}, i64)), column));
  EXPECT_FALSE(of(take(transpose(table), ids, 1), table));
  EXPECT_FALSE(of(square(table), table));
  Tensor doubled = take(table, ids, 0);
  for (int k = 0; k < 40; ++k) doubled = doubled + doubled;  // its gradient is a sum of a sum of …
  of(doubled, table);
  const Tensor gradient = grad(sum(square(take(table, ids, 0))), table);
  gradient.to_host();
  const HistoryBudget budget = history_budget();
  set_history_budget({.nodes = 0, .bytes = 0});
  for (int i = 0; i < 3; ++i) (gradient * 2).to_host(), normal({3}).to_host();
  set_history_budget(budget);
  EXPECT_TRUE(gradient.node()->forgotten());
  EXPECT_FALSE(dist::table_gradient(gradient, 2, Line::current()));
}

TEST(DataParallel, RanksThatLookUpOtherNumbersOfRowsAreTold) {
  for (const std::string& failure : test::failures_of(2, [](int rank) {
         Words net{.tied = false};
         const dist::DataParallel parallel = dist::data_parallel(net, {.lookups = true});
         const Tensor ids = randint(0, 40, {4 + rank});
         for (const Tensor& gradient : parallel.mean(grad(cross_entropy(net(ids), ids), parameters(net)))) gradient.to_host();
       }))
    EXPECT_NE(failure.find("all_gather"), std::string::npos) << failure;
  for (const std::string& failure : test::failures_of(2, [](int) {
         Words net{.tied = false};
         dist::data_parallel(net, {.shard = 1, .lookups = true});
       }))
    EXPECT_NE(failure.find("data_parallel: got .lookups with .shard = 1, expected whole gradients"), std::string::npos) << failure;
}

TEST(DataParallel, OneCheckpointIsResumedByAnyNumberOfRanks) {
  const std::string path = "dist.checkpoint";
  const auto train_on = [&](int ranks, std::int64_t epochs, bool resume) {
    return test::on_ranks<Outcome>(ranks, [&](int) {
      manual_seed(7);
      Mlp net;
      optim::Adam adam(parameters(net), {.lr = 0.01});
      Trainer trainer(net, adam, cross_entropy, {.epochs = epochs, .batch = 16, .group = dist::world(), .checkpoint = path});
      if (resume) trainer.resume(path);
      Outcome outcome{trainer.fit(rows(64, {6})), {}};
      for (const Parameter& parameter : Parameters(parameters(net))) outcome.weights.push_back(parameter.read().to_host());
      return outcome;
    })[0];
  };
  const Outcome whole = train_on(2, 4, false);
  train_on(2, 2, false);
  std::filesystem::copy_file(path, "kept.checkpoint", std::filesystem::copy_options::overwrite_existing);
  for (const int ranks : {1, 2, 3}) {
    std::filesystem::copy_file("kept.checkpoint", path, std::filesystem::copy_options::overwrite_existing);
    const Outcome resumed = train_on(ranks, 4, true);
    ASSERT_EQ(resumed.history.size(), 4u);
    if (ranks == 2) { EXPECT_EQ(resumed.weights, whole.weights); }
    for (std::size_t p = 0; p < whole.weights.size(); ++p) {
      for (std::size_t i = 0; i < whole.weights[p].size(); ++i) EXPECT_NEAR(resumed.weights[p][i], whole.weights[p][i], 1e-4) << ranks;
    }
  }
}

TEST(DataParallel, MasksOfDropoutDifferBetweenRanks) {
  struct Net {
    nn::Linear in{6, 3};
    Tensor mask;
    Tensor operator()(const Tensor& x) { return in(dropout(x, 0.5)); }
  };
  const auto seeds = test::on_ranks<std::int64_t>(3, [](int) {
    manual_seed(7);
    Net net;
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    Trainer(net, sgd, cross_entropy, {.epochs = 1, .batch = 16, .group = dist::world()}).fit(rows(32, {6}));
    return default_generator().seed().item<std::int64_t>();
  });
  EXPECT_EQ(std::set<std::int64_t>(seeds.begin(), seeds.end()).size(), 3u);
}

TEST(Shards, EveryRowIsVisitedOnce) {
  for (const int workers : {0, 2}) {
    for (const std::int64_t batch : {1, 4, 7}) {
      std::multiset<std::int64_t> seen;
      std::vector<std::vector<std::int64_t>> sizes(3);
      HostArray numbers = HostArray::empty(i64, {23});
      for (int i = 0; i < 23; ++i) numbers.values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
      const data::ArrayDataset set(numbers, numbers);
      for (int shard = 0; shard < 3; ++shard) {
        data::Loader loader(
            set, {.batch = batch, .shuffle = true, .seed = 5, .last = data::Last::Keep, .workers = workers, .shard = {shard, 3}});
        for (const auto& part : loader) {
          EXPECT_EQ(part.x.size(0), std::max<std::int64_t>(1, part.rows));
          sizes[static_cast<std::size_t>(shard)].push_back(part.all_rows);
          const auto values = part.x.to_host<std::int64_t>();
          for (std::int64_t i = 0; i < part.rows; ++i) seen.insert(values[static_cast<std::size_t>(i)]);
        }
      }
      EXPECT_EQ(seen.size(), 23u);
      EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 23u);
      EXPECT_EQ(sizes[0], sizes[1]);
      EXPECT_EQ(sizes[0], sizes[2]);
    }
  }
  EXPECT_THROW(data::Loader(rows(4, {6}), {.shard = {2, 2}}), Error);
}

// Some options change what a rank does to its own weights alone, which no collective would show.
TEST(DataParallel, RanksWithOtherOptionsAreTold) {
  const auto failures_with = [](const std::function<void(TrainerOptions&)>& change, std::int64_t rows_of_last = 32) {
    return test::failures_of(3, [&](int rank) {
      TrainerOptions options{.epochs = 1, .batch = 16};
      if (rank == 2) change(options);
      test::train<Mlp>(rows(rank == 2 ? rows_of_last : 32, {6}), {}, dist::world(), options);
    });
  };
  const auto expect_told = [](const std::vector<std::string>& failures, const std::string& what) {
    for (const auto& failure : failures)
      EXPECT_NE(failure.find("Trainer: got " + what + " on rank 2, expected"), std::string::npos) << failure;
  };
  expect_told(failures_with([](TrainerOptions& options) { options.clip_norm = 0.5; }), "clip_norm 0 on rank 0 and clip_norm 0.5");
  expect_told(failures_with([](TrainerOptions& options) { options.exchange = Precision::bf16, options.shard = 1; }),
              "shard 0, exchange as it is on rank 0 and shard 1, exchange bf16");
  expect_told(failures_with([](TrainerOptions&) {}, 48), "rows to train on: 32 on rank 0 and rows to train on: 48");
  for (const auto& failure : failures_with([](TrainerOptions&) {})) EXPECT_EQ(failure, "");
}

TEST(DataParallel, NetworksThatDifferAreAnError) {
  const auto failures = test::failures_of(2, [](int rank) {
    nn::Linear layer(4, rank == 0 ? 3 : 2);
    dist::data_parallel(layer);
  });
  EXPECT_NE(failures[0].find("broadcast with root 0 of f32 (3, 4) on rank 0"), std::string::npos) << failures[0];
}

}  // namespace
}  // namespace tegula
