// Trainings of ranks that share out layers, alone and on meshes, are those of one process.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/dist/small_gpt.h"
#include "tests/dist/trainings.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

using dist::ColwiseParallel;
using dist::RowwiseParallel;
using dist::Steps;
using test::Gpt;
using test::loss_of_words;
using test::plan_of_gpt;
using test::sentences;

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> state;
};
/// By the Trainer: Adam, gradients limited and accumulated, a checkpoint after each epoch.
Trained train_gpt(const dist::Group& data, const dist::Group& tensor, Steps steps, std::int64_t epochs, const std::string& path,
                  const std::string& from = {}, int shard = 0) {
  manual_seed(static_cast<std::uint64_t>(7 + dist::world().rank()));
  Gpt gpt;
  dist::tensor_parallel(gpt, plan_of_gpt(steps), {.group = tensor});
  optim::Adam adam(parameters(gpt), {.lr = 0.01});
  Trainer trainer(gpt, adam, loss_of_words(tensor),
                  {.epochs = epochs, .batch = 6, .clip_norm = 0.3, .accumulate = 2, .group = data, .shard = shard, .checkpoint = path});
  if (!from.empty()) trainer.resume(from);
  Trained out;
  for (const EpochRecord& record : trainer.fit(sentences(20))) out.losses.push_back(record.train_loss);
  for (const NamedTensor& one : state_dict(gpt)) out.state[one.name] = one.value.to_host();
  return out;
}
void expect_alike(const Trained& a, const Trained& b) {
  expect_near(a.losses, b.losses, 1e-4, "loss");
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, values] : b.state) { expect_near(a.state.at(name), values, 5e-4, name); }
}

TEST(TensorParallel, AGptTrainsAsInOneProcess) {
  const Trained alone = train_gpt({}, {}, Steps::Whole, 3, "");
  EXPECT_LT(alone.losses.back(), 0.98 * alone.losses.front());
  for (const int size : {2, 4}) {
    const auto ranks =
        test::on_ranks<Trained>(size, [&](int) { return train_gpt({}, dist::world(), size == 4 ? Steps::Whole : Steps::Shared, 3, ""); });
    for (const Trained& rank : ranks) {
      expect_alike(rank, alone);
      EXPECT_EQ(rank.state, ranks[0].state) << "the same bits on all ranks";
    }
  }
}

/// The state of a network: whole values, and of the shared-out ones this rank's part.
using Held = std::map<std::string, std::vector<float>>;
template <class Net>
Held held_by(const Net& net) {
  Held out;
  for (const NamedTensor& one : state_dict(net)) out[one.name] = one.value.to_host();
  for (const Parameter& one : parameters(net)) {
    if (!one.cell->partition()) out["own " + one.name] = one.read().to_host();
  }
  return out;
}

TEST(TensorParallel, RanksStayTheSameWithDropout) {
  for (const Steps steps : {Steps::Whole, Steps::Shared}) {
    const auto ranks = test::on_ranks<Held>(2, [&](int rank) {
      manual_seed(static_cast<std::uint64_t>(rank));
      Gpt gpt(f32, 0.3);
      dist::tensor_parallel(gpt, plan_of_gpt(steps));
      optim::Adam adam(parameters(gpt), {.lr = 0.01});
      Trainer(gpt, adam, loss_of_words(dist::world()), {.epochs = 2, .batch = 5}).fit(sentences(10));
      return held_by(gpt);
    });
    EXPECT_EQ(ranks[0], ranks[1]);
  }
}

TEST(TensorParallel, ANumberThatIsNoneInOnePartStopsTheStepOfAll) {
  struct Net {
    nn::Linear in{6, 12}, out{12, 3};
    Tensor operator()(const Tensor& x) { return out(relu(in(x))); }
  };
  const auto ranks = test::on_ranks<Held>(2, [&](int) {
    manual_seed(7);
    Net net;
    Tensor weight = net.out.weight;
    net.out.weight = where(iota(weight.shape(), 1) == 11, 5e4, weight);  // the gradient of the last hidden feature overflows in f16
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}, {"out", RowwiseParallel{}}});
    optim::SGD sgd(parameters(net), {.lr = 1e-3});
    Trainer(net, sgd, cross_entropy, {.epochs = 2, .batch = 16, .precision = Precision::fp16}).fit(test::rows(32, {6}));
    Held out = held_by(net);
    out["steps"] = {sgd.steps().item<float>()};
    return out;
  });
  EXPECT_EQ(ranks[0], ranks[1]);
  EXPECT_LT(ranks[0].at("steps")[0], 4) << "some step was left out";
}

TEST(TensorParallel, AMeshTrainsAsOneProcessAndItsCheckpointIsThatOfOne) {
  const Trained alone = train_gpt({}, {}, Steps::Whole, 4, "");
  const auto on_mesh = [&](std::int64_t epochs, const std::string& path, const std::string& from) {
    return test::on_ranks<Trained>(4, [&](int) {
      const dist::Mesh mesh({{"data", 2}, {"tensor", 2}});
      return train_gpt(mesh.along("data"), mesh.along("tensor"), Steps::Shared, epochs, path, from);
    });
  };
  for (const Trained& rank : on_mesh(2, "mesh.checkpoint", "")) EXPECT_EQ(rank.losses.size(), 2u);
  expect_alike(train_gpt({}, {}, Steps::Whole, 4, "", "mesh.checkpoint"), alone);
  train_gpt({}, {}, Steps::Whole, 2, "one.checkpoint");
  for (const Trained& rank : on_mesh(4, "", "one.checkpoint")) expect_alike(rank, alone);
}

TEST(TensorParallel, OnAMeshRanksKeepPartsOfTheirParts) {
  const Trained alone = train_gpt({}, {}, Steps::Whole, 4, "");
  for (const int shard : {1, 2, 3}) {
    const auto on_mesh = [&](std::int64_t epochs, const std::string& path, const std::string& from) {
      return test::on_ranks<Trained>(4, [&](int) {
        const dist::Mesh mesh({{"data", 2}, {"tensor", 2}});
        return train_gpt(mesh.along("data"), mesh.along("tensor"), Steps::Whole, epochs, path, from, shard);
      });
    };
    const auto ranks = on_mesh(2, "parts.checkpoint", "");
    for (const Trained& rank : ranks) EXPECT_EQ(rank.state, ranks[0].state) << "the same bits on all ranks, .shard = " << shard;
    expect_alike(train_gpt({}, {}, Steps::Whole, 4, "", "parts.checkpoint"), alone);
    train_gpt({}, {}, Steps::Whole, 2, "one.checkpoint");
    for (const Trained& rank : on_mesh(4, "", "one.checkpoint")) expect_alike(rank, alone);
  }
}

/// Each part of a parameter is gathered where it is read, by the ranks that have the other halves of the same part.
TEST(TensorParallel, PartsOfPartsAreGatheredWhereTheyAreRead) {
  const auto run = [](const dist::Group& data, const dist::Group& tensor) {
    manual_seed(static_cast<std::uint64_t>(7 + dist::world().rank()));
    Gpt gpt;
    dist::tensor_parallel(gpt, plan_of_gpt(Steps::Whole), {.group = tensor});
    const dist::DataParallel parallel = dist::data_parallel(gpt, {.group = data, .shard = 3, .whole_below = 1});
    optim::Adam adam(parallel.parameters(), {.lr = 0.01});
    const Loss loss = loss_of_words(tensor);
    auto step = jit([&](const Tensor& x, const Tensor& y) {
      const Tensor value = loss({gpt(x)}, {y});
      adam.step(optim::clip_grad_norm(parallel.mean(grad(value, parallel.leaves())), parallel.parameters(), 0.3).gradients);
      parallel.publish();
      return dist::all_reduce(value, data, dist::Reduction::Mean);
    });
    const data::ArrayDataset all = sentences(20);
    Trained out;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& [x, y] : data::Loader(all, {.batch = 10, .shard = {data.rank(), data.size()}}))
        out.losses.push_back(step(x, y).item<double>());
    }
    for (const NamedTensor& one : state_dict(gpt)) out.state[one.name] = one.value.to_host();
    return out;
  };
  const Trained alone = run({}, {});
  for (const Trained& rank : test::on_ranks<Trained>(4, [&](int) {
         const dist::Mesh mesh({{"data", 2}, {"tensor", 2}});
         return run(mesh.along("data"), mesh.along("tensor"));
       }))
    expect_alike(rank, alone);
}

}  // namespace
}  // namespace tegula
