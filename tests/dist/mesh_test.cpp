// Data, tensor and pipeline parallel together, by the Trainer: the training of one process.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tegula/dist.h"
#include "tegula/tegula.h"
#include "tests/dist/small_gpt.h"
#include "tests/dist/trainings.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

using dist::ColwiseParallel;
using dist::Placement;
using dist::RowwiseParallel;
using dist::VocabularyParallel;

/// Not Adam, which makes steps of the rounding of gradients that are zero: those of the biases of attention's keys.
const optim::SGDOptions kRule{.lr = 0.3, .momentum = 0.9};
constexpr std::int64_t kWords = 29, kSteps = 8, kWidth = 16;

struct Tokens {
  nn::Embedding words{kWords, kWidth}, places{kSteps, kWidth};
  Tensor operator()(const Tensor& x) { return words(x) + places.weight.read(); }
};
struct Block {
  nn::TransformerEncoderLayer layer{kWidth, 4, {.dim_feedforward = 32, .dropout = 0, .batch_first = true, .norm_first = true}};
  Tensor operator()(const Tensor& x) { return layer(x, {.is_causal = true}); }
};
/// A small GPT as a row of layers.
nn::Sequential gpt() { return {Tokens{}, Block{}, Block{}, Block{}, nn::LayerNorm{kWidth}, nn::Linear{kWidth, kWords}}; }
dist::TensorPlan plan() {
  return {
      {"0.words", VocabularyParallel{}},      {"*.layer.self_attn", ColwiseParallel{}}, {"*.layer.self_attn.out_proj", RowwiseParallel{}},
      {"*.layer.linear1", ColwiseParallel{}}, {"*.layer.linear2", RowwiseParallel{}},   {"5", VocabularyParallel{}}};
}
Loss loss_of(const dist::Group& tensor) {
  return [tensor](const Tensor& scores, const Tensor& labels) {
    return dist::cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}), {.group = tensor, .classes = kWords});
  };
}

data::ArrayDataset sentences(std::int64_t count) { return test::sentences(count, kWords); }

struct Trained {
  std::vector<double> losses, tests;
  std::map<std::string, std::vector<float>> state;
};

struct Run {
  std::int64_t epochs = 3;
  int shard = 0;
  std::string checkpoint = {}, from = {};
};
TrainerOptions options_of(const Run& run, const dist::Group& data) {
  return {.epochs = run.epochs,
          .batch = 6,
          .test_batch = 5,
          .clip_norm = 0.3,
          .accumulate = 2,
          .group = data,
          .shard = run.shard,
          .checkpoint = run.checkpoint};
}
Trained fit(Trainer& trainer, const nn::Sequential& net, const Run& run) {
  if (!run.from.empty()) trainer.resume(run.from);
  Trained out;
  for (const EpochRecord& record : trainer.fit(sentences(20), sentences(7))) {
    out.losses.push_back(record.train_loss);
    out.tests.push_back(record.test_loss);
  }
  for (const NamedTensor& one : state_dict(net)) out.state[one.name] = one.value.to_host();
  return out;
}
Trained alone(const Run& run = {}) {
  manual_seed(7);
  nn::Sequential net = gpt();
  optim::SGD sgd(parameters(net), kRule);
  Trainer trainer(net, sgd, loss_of({}), options_of(run, {}));
  return fit(trainer, net, run);
}

struct Sizes {
  int data = 1, tensor = 1, stages = 1;
};
/// Ranks begin with other weights: rank 0's count.
std::vector<Trained> on_mesh(const Sizes& sizes, const Run& run) {
  return test::on_ranks<Trained>(sizes.data * sizes.tensor * sizes.stages, [&](int rank) {
    const dist::Mesh mesh({{"data", sizes.data}, {"tensor", sizes.tensor}, {"stages", sizes.stages}});
    manual_seed(static_cast<std::uint64_t>(7 + rank));
    nn::Sequential net = gpt();
    dist::tensor_parallel(net, plan(), {.group = mesh.along("tensor")});
    dist::Pipeline pipeline(net, loss_of(mesh.along("tensor")), {.group = mesh.along("stages"), .micro_batches = 2});
    optim::SGD sgd(pipeline.parameters(), kRule);
    Trainer trainer(pipeline, sgd, options_of(run, mesh.along("data")));
    return fit(trainer, net, run);
  });
}

void expect_alike(const Trained& a, const Trained& b) {
  expect_near(a.losses, b.losses, 1e-4, "loss");
  expect_near(a.tests, b.tests, 1e-4, "test loss");
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, values] : b.state) {
    const auto& others = a.state.at(name);
    ASSERT_EQ(others.size(), values.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(others[i], values[i], 5e-4) << name << " " << i;
  }
}
void expect_like_one_process(const Sizes& sizes, const Run& run = {}) {
  const Trained expected = alone({.epochs = run.epochs});
  EXPECT_LT(expected.losses.back(), 0.98 * expected.losses.front());
  const auto ranks = on_mesh(sizes, run);
  for (const Trained& rank : ranks) {
    expect_alike(rank, expected);
    EXPECT_EQ(rank.state, ranks[0].state) << "the same bits on all ranks";
  }
}

TEST(Meshes, TheTrainerTrainsAPipeline) { expect_like_one_process({.stages = 3}); }
TEST(Meshes, DataAndStages) {
  for (const int shard : {0, 1, 2}) expect_like_one_process({.data = 2, .stages = 2}, {.shard = shard});
}
TEST(Meshes, TensorAndStages) { expect_like_one_process({.tensor = 2, .stages = 2}); }
TEST(Meshes, DataTensorAndStages) {
  for (const int shard : {0, 1}) expect_like_one_process({.data = 2, .tensor = 2, .stages = 2}, {.shard = shard});
}

TEST(Meshes, CheckpointsAreThoseOfOneProcess) {
  const Trained expected = alone({.epochs = 4});
  const Sizes all{.data = 2, .tensor = 2, .stages = 2};
  on_mesh(all, {.epochs = 2, .shard = 1, .checkpoint = "mesh8.checkpoint"});
  expect_alike(alone({.epochs = 4, .from = "mesh8.checkpoint"}), expected);
  for (const Sizes& sizes : {Sizes{.stages = 3}, Sizes{.data = 3, .stages = 2}, all}) {
    for (const Trained& rank : on_mesh(sizes, {.epochs = 4, .from = "mesh8.checkpoint"})) expect_alike(rank, expected);
  }
}

HostArray filled(std::int64_t count, Shape sample) {
  sample.insert(0, count);
  HostArray array = HostArray::empty(f32, sample);
  const auto values = array.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i * i % 1013)));
  return array;
}

/// All ranks report the last rank's measurements: as one process does, with metrics, and if targets are no classes.
TEST(Meshes, APipelineMeasuresWhatOneProcessDoes) {
  const auto measured = [](int stages, int data, bool classes) {
    return test::on_ranks<History>(stages * data, [&](int rank) {
      const dist::Mesh mesh({{"data", data}, {"stages", stages}});
      manual_seed(static_cast<std::uint64_t>(7 + rank));
      nn::Sequential net{nn::Linear{5, 9}, relu, nn::Linear{9, 8}, tanh, nn::Linear{8, classes ? 3 : 1}};
      const Loss loss = classes ? Loss(cross_entropy) : Loss([](const Tensor& y, const Tensor& t) { return mean(square(flatten(y) - t)); });
      // Batches of 11 of 25 rows: micro-batches and ranks have different numbers of them.
      const TrainerOptions options{.epochs = 3,
                                   .batch = 11,
                                   .metrics = {{"l1", [](const Tensor& y, const Tensor&) { return mean(abs(y)); }},
                                               {"largest", [](const Tensor& y, const Tensor&) { return mean(max(y, {1})); }}},
                                   .group = mesh.along("data")};
      const auto rows = [&](std::int64_t count) {
        return data::AnyDataset(classes ? test::rows(count, {5}) : data::ArrayDataset(filled(count, {5}), filled(count, {})));
      };
      if (stages == 1) {
        optim::SGD sgd(parameters(net), kRule);
        return Trainer(net, sgd, loss, options).fit(rows(25), rows(9));
      }
      dist::Pipeline pipeline(net, loss, {.group = mesh.along("stages"), .micro_batches = 3});
      optim::SGD sgd(pipeline.parameters(), kRule);
      return Trainer(pipeline, sgd, options).fit(rows(25), rows(9));
    });
  };
  for (const bool classes : {true, false}) {
    const History expected = measured(1, 1, classes)[0];
    EXPECT_EQ(std::isnan(expected[0].train_accuracy), !classes);
    for (const auto& [stages, data] : {std::pair(3, 1), std::pair(2, 2)}) {
      for (const History& history : measured(stages, data, classes)) {
        ASSERT_EQ(history.size(), expected.size());
        for (std::size_t e = 0; e < history.size(); ++e) {
          if (classes) { EXPECT_NEAR(history[e].train_accuracy, expected[e].train_accuracy, 1e-6); }
          EXPECT_EQ(std::isnan(history[e].train_accuracy), !classes);
          ASSERT_EQ(history[e].train_metrics.size(), 2u);
          for (const auto& [name, value] : expected[e].train_metrics) EXPECT_NEAR(history[e].train_metrics.at(name), value, 1e-5) << name;
          for (const auto& [name, value] : expected[e].test_metrics) EXPECT_NEAR(history[e].test_metrics.at(name), value, 1e-5) << name;
        }
      }
    }
  }
}

TEST(Meshes, WhatAPipelineCannotIsAnError) {
  const auto expect = [](const std::string& text, int ranks, const std::function<void()>& f) {
    std::string all;
    for (const std::string& one : test::failures_of(ranks, [&](int) { f(); })) all += one + "\n";
    EXPECT_NE(all.find(text), std::string::npos) << all;
    EXPECT_NE(all.find("mesh_test.cpp:"), std::string::npos) << all;
  };
  const auto train = [](const TrainerOptions& options) {
    nn::Sequential net = gpt();
    dist::Pipeline pipeline(net, loss_of({}));
    optim::Adam adam(pipeline.parameters());
    Trainer(pipeline, adam, options).fit(sentences(8));
  };
  expect("Trainer: got an objective or a count with a Pipeline", 2, [&] { train({.objective = loss_of({})}); });
  expect("Trainer: got .precision = fp16 with a Pipeline", 2, [&] { train({.precision = Precision::fp16}); });
  expect("Trainer: got .shard = 3 with a Pipeline", 2, [&] { train({.shard = 3}); });
  expect("got samples of 3 tensors with a Pipeline, expected an input and a target", 2, [] {
    nn::Sequential net = gpt();
    dist::Pipeline pipeline(net, loss_of({}));
    optim::Adam adam(pipeline.parameters());
    const HostArray tokens = HostArray::empty(i64, {4, kSteps});
    Trainer(pipeline, adam, {.batch = 2}).fit(data::Arrays({tokens, tokens, tokens}));
  });
  expect(
      "Pipeline: got 2 parameters that ranks share out and 0 whole ones on rank 0, 0 parameters that ranks share out and 2 whole ones on "
      "rank 1",
      4, [] {
        const dist::Mesh mesh({{"tensor", 2}, {"stages", 2}});
        nn::Sequential net{nn::Linear{4, 6}, relu, nn::Linear{6, 2}};
        dist::tensor_parallel(net, {{"0", ColwiseParallel{.output = Placement::Replicated}}}, {.group = mesh.along("tensor")});
        dist::Pipeline(net, cross_entropy, {.group = mesh.along("stages")});
      });
}

}  // namespace
}  // namespace tegula
