// Ranks that keep a part of the state train as one process that keeps all of it.

#include "tegula/dist/parallel/sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "tegula/dist.h"
#include "tegula/text.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

using test::expect_like_one_process;
using test::Outcome;
using test::rows;

struct Cnn {
  nn::Conv2d conv{1, 8, 3};
  nn::Linear hidden{8 * 3 * 3, 24}, out{24, 3};  // 1728 weights: shared out in stage 3
  Tensor operator()(const Tensor& x) { return out(relu(hidden(flatten(max_pool2d(relu(conv(x)), {2}), 1)))); }
};
struct Recurrent {
  nn::LSTM lstm{3, 17, {.batch_first = true}};  // 1156 recurrent weights, which neither 3 nor 8 divides
  nn::Linear out{17, 3};
  Tensor operator()(const Tensor& x) { return out(select(lstm(x).output, 1, -1)); }
};
/// Its table of tokens is read twice.
struct Gpt {
  models::Gpt2 net{{.vocabulary = 40, .width = 32, .layers = 2, .heads = 2, .context = 8}};
  Tensor operator()(const Tensor& tokens) { return net(tokens); }
};

Tensor token_loss(const Tensor& scores, const Tensor& labels) {
  return cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}));
}
data::ArrayDataset sentences(std::int64_t count) {
  HostArray tokens = HostArray::empty(i64, {count, 8}), next = HostArray::empty(i64, {count, 8});
  for (std::int64_t i = 0; i < count * 8; ++i) {
    const auto word = [&](std::int64_t at) { return (i / 8 * 7 + at * at) % 40; };
    tokens.values<std::int64_t>()[static_cast<std::size_t>(i)] = word(i % 8);
    next.values<std::int64_t>()[static_cast<std::size_t>(i)] = word(i % 8 + 1);
  }
  return {tokens, next};
}

class Stages : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OneTwoThree, Stages, testing::Values(1, 2, 3));

TEST_P(Stages, ACnnTrainsAsInOneProcess) {
  expect_like_one_process<Cnn>({1, 8, 8}, {.epochs = 3, .batch = 16, .shard = GetParam()}, {GetParam() + 1});
}
TEST_P(Stages, AnLstmTrainsAsInOneProcess) {
  expect_like_one_process<Recurrent>({5, 3}, {.epochs = 8, .batch = 16, .shard = GetParam()}, {5 - GetParam()});
}
TEST_P(Stages, AGptTrainsAsInOneProcess) {
  expect_like_one_process<Gpt>(sentences(32), sentences(7), {.epochs = 3, .batch = 8, .shard = GetParam()}, {GetParam() == 2 ? 4 : 2},
                               token_loss, 0.999);
}
TEST_P(Stages, GradientsAreLimitedAndAccumulated) {
  expect_like_one_process<Cnn>({1, 8, 8}, {.epochs = 3, .batch = 8, .clip_norm = 0.2, .accumulate = 2, .shard = GetParam()}, {3});
}

TEST_P(Stages, OneCheckpointIsResumedByAnyNumberOfRanks) {
  const std::string path = "shard" + std::to_string(GetParam()) + ".checkpoint", kept = path + ".kept";
  const auto train_on = [&](int ranks, int stage, std::int64_t epochs, bool resume) {
    return test::on_ranks<Outcome>(ranks, [&](int) {
      manual_seed(7);
      Cnn net;
      optim::Adam adam(parameters(net), {.lr = 0.01});
      Trainer trainer(net, adam, cross_entropy,
                      {.epochs = epochs, .batch = 16, .group = dist::world(), .shard = stage, .checkpoint = path});
      if (resume) trainer.resume(path);
      Outcome outcome{trainer.fit(rows(48, {1, 8, 8})), {}};
      for (const Parameter& parameter : Parameters(parameters(net))) outcome.weights.push_back(parameter.read().to_host());
      return outcome;
    })[0];
  };
  const Outcome whole = train_on(2, GetParam(), 4, false);
  train_on(2, GetParam(), 2, false);
  std::filesystem::copy_file(path, kept, std::filesystem::copy_options::overwrite_existing);
  for (const auto& [ranks, stage] : {std::pair(2, GetParam()), std::pair(3, GetParam()), std::pair(1, 0), std::pair(2, 0)}) {
    std::filesystem::copy_file(kept, path, std::filesystem::copy_options::overwrite_existing);
    const Outcome resumed = train_on(ranks, stage, 4, true);
    ASSERT_EQ(resumed.history.size(), 4u);
    if (ranks == 2 && stage > 0) { EXPECT_EQ(resumed.weights, whole.weights); }
    for (std::size_t p = 0; p < whole.weights.size(); ++p) {
      for (std::size_t i = 0; i < whole.weights[p].size(); ++i) EXPECT_NEAR(resumed.weights[p][i], whole.weights[p][i], 1e-4) << ranks;
    }
  }
}

TEST(Sharding, AFitThatFollowsAnotherGoesOn) {
  const auto run = [](const dist::Group& group, int stage) {
    manual_seed(7);
    Cnn net;
    optim::ParameterGroups adam(optim::Adam(parameters(net.conv), {.lr = 0.01}),
                                optim::AdamW(Parameters(parameters(net.hidden)), {.lr = 0.005}));
    Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .batch = 16, .group = group, .shard = stage});
    trainer.fit(rows(48, {1, 8, 8}));
    trainer.fit(rows(48, {1, 8, 8}));
    return net.hidden.weight.to_host();
  };
  const auto alone = run({}, 0);
  for (const auto& weights : test::on_ranks<std::vector<float>>(2, [&](int) { return run(dist::world(), 3); })) {
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(weights[i], alone[i], 1e-4);
  }
}

/// The memory of a rank between steps.
std::int64_t bytes_of(const Parameters& cells) {
  std::int64_t bytes = 0;
  for (const Parameter& one : cells) {
    if (!one.cell->source()) bytes += numel(one.cell->shape()) * static_cast<std::int64_t>(size_of(one.cell->dtype()));
  }
  return bytes;
}

TEST(Sharding, EachRankKeepsItsPart) {
  for (const int stage : {1, 2, 3}) {
    test::on_ranks<int>(4, [&](int) {
      Gpt net;
      const std::int64_t all = bytes_of(parameters(net));
      const dist::DataParallel parallel = dist::data_parallel(net, {.shard = stage});
      const optim::Adam adam(parallel.parameters(), {});
      EXPECT_LT(bytes_of(adam.state()), 2.02 * static_cast<double>(all) / 4);
      if (stage < 3) EXPECT_EQ(bytes_of(parameters(net)), all);
      else EXPECT_LT(bytes_of(parameters(net)), 0.06 * static_cast<double>(all));  // biases, norms and positions
      return 0;
    });
  }
}

TEST(Sharding, AHandWrittenLoop) {
  const auto run = [](const dist::Group& group, int stage) {
    manual_seed(3);
    Cnn net;
    const dist::DataParallel parallel = dist::data_parallel(net, {.group = group, .bucket_bytes = 4000, .shard = stage});
    optim::SGD sgd(parallel.parameters(), {.lr = 0.1, .momentum = 0.9});
    const data::ArrayDataset all = rows(24, {1, 8, 8});
    auto step = jit([&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(net(x), y);
      sgd.step(parallel.mean(grad(loss, parallel.leaves())));
      parallel.publish();
      return loss;
    });
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const auto& [x, y] : data::Loader(all, {.batch = 12, .shard = {group.rank(), group.size()}})) step(x, y);
    }
    return net.hidden.weight.to_host();
  };
  const auto alone = run({}, 0);
  for (const int stage : {0, 1, 3}) {
    for (const auto& weights : test::on_ranks<std::vector<float>>(2, [&](int) { return run(dist::world(), stage); })) {
      for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(weights[i], alone[i], 1e-5);
    }
  }
}

// On all ranks alike: no gradient, no update, and running statistics stay.
TEST(Sharding, FrozenParametersStayOnAllRanks) {
  const auto run = [](const dist::Group& group, int stage, std::int64_t accumulate) {
    manual_seed(3);
    Cnn net;
    freeze(net.conv);
    optim::AdamW adam(parameters(net), {.lr = 0.01, .weight_decay = 0.1});
    Trainer trainer(net, adam, cross_entropy,
                    {.epochs = 2, .batch = 12, .clip_norm = 0.5, .accumulate = accumulate, .group = group, .shard = stage});
    std::vector<std::vector<float>> weights{net.conv.weight.to_host()};
    trainer.fit(rows(48, {1, 8, 8}));
    EXPECT_EQ(net.conv.weight.to_host(), weights[0]);
    for (const Parameter& p : parameters(net)) weights.push_back(p.read().to_host());
    return weights;
  };
  for (const std::int64_t accumulate : {1, 2}) {
    const auto alone = run({}, 0, accumulate);
    for (const int stage : {0, 1, 2, 3}) {
      for (const auto& weights :
           test::on_ranks<std::vector<std::vector<float>>>(2, [&](int) { return run(dist::world(), stage, accumulate); })) {
        ASSERT_EQ(weights.size(), alone.size());
        for (std::size_t p = 0; p < alone.size(); ++p) {
          for (std::size_t i = 0; i < alone[p].size(); ++i) EXPECT_NEAR(weights[p][i], alone[p][i], 2e-4) << stage << " " << p;
        }
      }
    }
  }
}

// Parts go through the file, too, and any number of ranks goes on from it.
TEST(Sharding, TheBestEpochIsRestoredOnAllRanks) {
  const auto run = [](const dist::Group& group, int stage, std::int64_t epochs, const std::string& checkpoint, const std::string& resume) {
    manual_seed(3);
    Cnn net;
    optim::Adam adam(parameters(net), {.lr = 0.01});
    Trainer trainer(net, adam, cross_entropy, {.epochs = epochs, .batch = 12, .group = group, .shard = stage, .checkpoint = checkpoint});
    if (epochs != 2)
      trainer.on_epoch = EarlyStopping{
          .patience = 9, .value = [](const EpochRecord& r) { return std::abs(static_cast<double>(r.epoch) - 2); }, .restore_best = true};
    if (!resume.empty()) trainer.resume(resume);
    trainer.fit(rows(48, {1, 8, 8}));
    std::vector<float> all;
    for (const Parameter& p : parameters(net)) {
      for (const float value : p.read().to_host()) all.push_back(value);
    }
    return all;
  };
  const auto best = run({}, 0, 2, "", "");
  for (const int stage : {0, 1, 3}) {
    const std::string path = "best" + std::to_string(stage) + ".checkpoint";
    const auto expect_best = [&](const std::vector<float>& weights) {
      ASSERT_EQ(weights.size(), best.size());
      for (std::size_t i = 0; i < best.size(); ++i) EXPECT_NEAR(weights[i], best[i], 2e-4) << stage << " " << i;
    };
    for (const auto& weights : test::on_ranks<std::vector<float>>(2, [&](int) { return run(dist::world(), stage, 3, path, ""); }))
      expect_best(weights);
    expect_best(run({}, 0, 4, "", path));
  }
}

/// Expects the error of a loop without publish() at its second step, on both ranks.
void expect_told_of_publishing(int stage, bool in_jit) {
  const auto failures = test::failures_of(2, [&](int) {
    manual_seed(3);
    Cnn net;
    const dist::DataParallel parallel = dist::data_parallel(net, {.shard = stage});
    optim::SGD sgd(parallel.parameters(), {.lr = 0.1});
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const Tensor loss = cross_entropy(net(x), y);
      sgd.step(parallel.mean(grad(loss, parallel.leaves())));
      return loss;
    };
    auto compiled = jit(step);
    int steps = 0;
    for (const auto& [x, y] : data::Loader(rows(24, {1, 8, 8}), {.batch = 4, .shard = {dist::world().rank(), 2}})) {
      eval(in_jit ? compiled(x, y) : step(x, y));
      EXPECT_LT(++steps, 2) << "the second step was to throw";
    }
  });
  for (const std::string& failure : failures) {
    EXPECT_NE(
        failure.find("the optimiser's step behind those before was not published, expected publish() behind each step with .shard = " +
                     std::to_string(stage)),
        std::string::npos)
        << failure;
    EXPECT_NE(failure.find("sharding_test.cpp:"), std::string::npos) << failure;
  }
}
TEST(Sharding, AStepThatIsNotPublishedIsAnErrorOfTheNext) {
  for (const int stage : {1, 2, 3}) {
    expect_told_of_publishing(stage, false);
    expect_told_of_publishing(stage, true);
  }
}

// Gradients of several batches before a step are no steps that were forgotten.
TEST(Sharding, ManyMeansBeforeAStepThatIsPublishedAreFine) {
  test::on_ranks<int>(2, [](int) {
    manual_seed(3);
    Cnn net;
    const dist::DataParallel parallel = dist::data_parallel(net, {.shard = 2});
    optim::SGD sgd(parallel.parameters(), {.lr = 0.1});
    optim::GradientAccumulator accumulator(parallel.parameters());
    auto add =
        jit([&](const Tensor& x, const Tensor& y) { accumulator.add(parallel.mean(grad(cross_entropy(net(x), y), parallel.leaves()))); });
    auto step = jit([&] {
      sgd.step(accumulator.mean());
      parallel.publish();
    });
    const auto before = net.hidden.weight.to_host();
    for (int i = 0; i < 6; ++i) {
      for (const auto& [x, y] : data::Loader(rows(24, {1, 8, 8}), {.batch = 8, .shard = {dist::world().rank(), 2}})) add(x, y);
      step();
    }
    EXPECT_NE(net.hidden.weight.to_host(), before);
    return 0;
  });
}

/// Layers whose parameters are gathered one by one.
struct Deep {
  explicit Deep(std::size_t count, std::int64_t width = 64)
      : layers(nn::repeat(count, [&] { return nn::Linear(width, width, {.bias = false}); })) {}
  std::vector<nn::Linear> layers;
  static constexpr auto fields = nn::fields<&Deep::layers>;
  Tensor operator()(Tensor x) {
    for (auto& layer : layers) x = tanh(layer(x));
    return x;
  }
};

struct DeepPlan {
  std::string plan;  // of a step
  std::vector<float> sums;  // sums of the gradients, at the third step
};
DeepPlan deep_plan(std::size_t layers, std::int64_t width = 64) {
  return test::on_ranks<DeepPlan>(2, [&](int) {
    manual_seed(11);
    Deep net(layers, width);
    const dist::DataParallel parallel = dist::data_parallel(net, {.shard = 3});
    auto step = jit([&](const Tensor& x) {
      std::vector<Tensor> sums;
      for (const Tensor& g : parallel.mean(grad(sum(net(x)), parallel.leaves()))) sums.push_back(sum(g));
      return stack(sums, 0);
    });
    DeepPlan out;
    for (int i = 0; i < 3; ++i) out.sums = step(ones({2, width})).to_host();
    out.plan = step.print_plan();
    return out;
  })[0];
}

/// The steps in order: g a gather, m a product, s the reduce-scatter of a layer's gradients.
std::string order_of(const std::string& plan) {
  std::string order;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("call all_gather") != std::string::npos) order += 'g';
    if (line.find("call matmul") != std::string::npos) order += 'm';
    if (line.find("call reduce_scatter") != std::string::npos) order += 's';
  }
  return order;
}

/// The backward pass gathers the released parameters again: each of six layers but the last ones twice, and each while the layer behind it computes.
TEST(Sharding, ParametersAreGatheredAgainForTheBackwardPassBesideTheLayerBehind) {
  const std::string order = order_of(deep_plan(6).plan);
  EXPECT_EQ(std::ranges::count(order, 'g'), 6 + 3) << "the layers in front are gathered again, where a gradient of their input is wanted";
  EXPECT_EQ(std::ranges::count(order, 's'), 6);
  const std::string forward = "ggmgmgmgmgmm", last = "mms", between = "gmms", first = "mmsms";
  EXPECT_EQ(order, forward + last + between + between + between + first);
}

TEST(Sharding, WhatIsGatheredBesideALayerHasTheBitsOfWhatIsGatheredInItsPlace) {
  if (test::ranks_queue()) GTEST_SKIP() << "skipped: queues order exchanges themselves";
  const auto beside = deep_plan(6).sums;
  ::setenv("TEGULA_OVERLAP", "off", 1);
  const auto in_place = deep_plan(6).sums;
  ::unsetenv("TEGULA_OVERLAP");
  ASSERT_EQ(beside.size(), 6u);
  EXPECT_EQ(beside, in_place);
}

/// Gathering and reducing take the memory of some layers, for any number of layers. A layer leaves only a rank's part of its gradient.
TEST(Sharding, TheMemoryOfAStepGrowsByThePartsOfItsGradientsAlone) {
  const auto mebibytes = [](std::size_t layers) {
    const std::string plan = deep_plan(layers, 512).plan;  // 1 MiB a layer: too much to be kept apart on devices that queue
    const std::string end = plan.substr(plan.find("\narena ") + 7);
    EXPECT_NE(end.find(" MiB"), std::string::npos) << end;
    return std::stod(end);
  };
  const double of_24 = mebibytes(24), of_36 = mebibytes(36);
  EXPECT_NEAR(of_36 - of_24, 12 * 0.5, 0.2);
  const double gathered = 2, computed = 1;
  const double being_reduced = test::ranks_queue() ? 2 : 5;  // two layers; and in a plan the ring's sums, of three
  EXPECT_LE(of_24, 24 * 0.5 + gathered + computed + being_reduced + 0.2);
}

TEST(Sharding, WhatCannotBeSharedOutIsAnError) {
  const auto failure = [](const std::function<void()>& f) {
    const auto all = test::failures_of(2, [&](int) { f(); });
    return all[0] + "\n" + all[1];
  };
  EXPECT_NE(failure([] {
              Cnn net;
              optim::LAMB lamb(parameters(net), {});
              Trainer(net, lamb, cross_entropy, {.epochs = 1, .batch = 16, .group = dist::world(), .shard = 1}).fit(rows(16, {1, 8, 8}));
            }).find("element by element"),
            std::string::npos);
  EXPECT_NE(failure([] {
              Cnn net;
              const auto parallel = dist::data_parallel(net, {.shard = 3});
              grad(sum(net.hidden.weight), parameters(net));
            }).find("hidden.weight (24, 72), of which every rank keeps a part"),
            std::string::npos);
  EXPECT_NE(failure([] {
              Cnn net;
              const auto once = dist::data_parallel(net, {.shard = 3});
              const auto twice = dist::data_parallel(net, {.shard = 3});
            }).find("of which every rank keeps a part already"),
            std::string::npos);
  EXPECT_NE(failure([] {
              Cnn net;
              dist::data_parallel(net, {.shard = 4});
            }).find(".shard = 4"),
            std::string::npos);
}

}  // namespace
}  // namespace tegula
