#include "tegula/train/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/nn/state.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::SmallNet;
using testing::TemporaryFolder;

/// A training loop written by hand, one step at a time.
struct Session {
  data::ArrayDataset points = testing::clouds(100, 5);
  Generator generator{7};
  struct Net {
    Generator* generator;
    nn::Linear hidden{2, 16};
    nn::BatchNorm1d norm{16};
    nn::Dropout drop{0.3, generator};
    nn::Linear head{16, 3};
    Tensor operator()(Tensor x) { return head(drop(relu(norm(hidden(x))))); }
  } net{&generator};
  optim::Adam adam{parameters(net), {.lr = 1e-2}};
  data::Loader loader{points, {.batch = 16, .shuffle = true, .seed = 9}};

  CheckpointParts parts() { return {.model = nn::state(net), .optimizer = adam.state(), .generator = &generator, .loader = &loader}; }
  void train(int steps) {
    auto step = jit([&](Tensor x, Tensor y) {
      Tensor loss = cross_entropy(net(x), y);
      adam.step(grad(loss, parameters(net)));
      return loss;
    });
    while (steps > 0) {
      const auto batch = loader.next();
      if (!batch) continue;
      adam.lr = 1e-2 / static_cast<double>(1 + loader.position().batch);  // a schedule
      step(batch->x, batch->y);
      --steps;
    }
  }
  std::vector<std::string> all_bits() {
    auto all = bits(nn::state(net));
    for (auto& text : bits(adam.state())) all.push_back(text);
    return all;
  }
};

TEST(Checkpoint, TwoNStepsAreNThenSaveThenLoadThenN) {
  const TemporaryFolder folder;
  constexpr int kSteps = 11;  // not a whole number of epochs
  manual_seed(1);
  Session whole;
  whole.train(2 * kSteps);

  manual_seed(1);
  Session first;
  first.train(kSteps);
  save_checkpoint(folder / "run", first.parts());

  manual_seed(2);  // other weights, to be replaced
  Session second;
  second.train(3);
  load_checkpoint(folder / "run", second.parts());
  second.train(kSteps);
  EXPECT_EQ(second.all_bits(), whole.all_bits());
  EXPECT_EQ(second.loader.position(), whole.loader.position());
  EXPECT_EQ(second.generator.counter_variable().read().item<std::int64_t>(),
            whole.generator.counter_variable().read().item<std::int64_t>());
  EXPECT_NE(first.all_bits(), whole.all_bits());
}

TEST(Checkpoint, CarriesExtrasAndIsAModelFile) {
  const TemporaryFolder folder;
  Session run;
  CheckpointParts parts = run.parts();
  parts.extra = {{"curve", tensor({1.f, 2.f}).to_array()}};
  parts.metadata = {{"who", "me"}};
  save_checkpoint(folder / "run", parts);
  const auto contents = load_checkpoint(folder / "run", run.parts());
  ASSERT_EQ(contents.extra.size(), 1u);
  EXPECT_EQ(contents.extra[0].first, "curve");
  EXPECT_EQ(contents.extra[0].second.values<float>()[1], 2.f);
  EXPECT_EQ(contents.metadata.at("who"), "me");
  Session other;
  load(other.net, load_state(folder / "run"), Strict::No);
  EXPECT_EQ(bits(parameters(other.net)), bits(parameters(run.net)));
}

TEST(Checkpoint, NumbersThatAreNoneAreRefused) {
  const TemporaryFolder folder;
  Session run;
  const auto before = run.all_bits();
  const auto with = [&](const std::string& name, const HostArray& value) {
    save_checkpoint(folder / "run", run.parts());
    io::Safetensors file = io::read_safetensors(folder / "run");
    for (auto& [tensor, array] : file.tensors) {
      if (tensor == name) array = value;
    }
    io::write_safetensors(folder / "run", file.tensors, file.metadata);
    CheckpointParts parts = run.parts();
    parts.epochs = 10;
    return testing::message_of([&] { load_checkpoint(folder / "run", parts); });
  };
  const auto has = [](const std::string& message, const char* part) { EXPECT_NE(message.find(part), std::string::npos) << message; };
  const auto number = [](double value) { return HostArray::from(std::span<const double>(&value, 1), {}); };
  const auto count = [](std::initializer_list<std::int64_t> values, const Shape& shape) {
    return HostArray::from(std::span<const std::int64_t>(values.begin(), values.size()), shape);
  };
  has(with("optimizer/lr", number(NAN)), "\"optimizer/lr\" is nan, expected a number of at least 0");
  has(with("optimizer/lr", number(-1)), "\"optimizer/lr\" is -1");
  has(with("optimizer/lr", number(INFINITY)), "\"optimizer/lr\" is inf");
  has(with("optimizer/steps", count({-5}, {})), "\"optimizer/steps\" is -5");
  has(with("loader/position", count({11, 0, 100, 16, 1, 9}, {6})), "11 epochs done, expected at most the 10 of this training");
  EXPECT_EQ(with("loader/position", count({10, 0, 100, 16, 1, 9}, {6})), "");
  run.loader.seek({0, 0});
  EXPECT_EQ(run.all_bits(), before);
}

TEST(Checkpoint, ThatDoesNotFitChangesNothing) {
  const TemporaryFolder folder;
  Session run;
  run.train(3);
  save_checkpoint(folder / "run", run.parts());

  Session other;
  const auto before = other.all_bits();
  other.loader = data::Loader(other.points, {.batch = 8, .shuffle = true, .seed = 9});
  EXPECT_ERROR(load_checkpoint(folder / "run", other.parts()), "shuffled batches of 16");
  EXPECT_EQ(other.all_bits(), before);

  nn::Linear wide{2, 17};
  CheckpointParts parts{.model = {{"hidden.weight", wide.weight.cell()}}};
  EXPECT_ERROR(load_checkpoint(folder / "run", parts), "\"hidden.weight\" of shape (16, 2) f32, expected (17, 2) f32");
  EXPECT_ERROR(load_checkpoint(folder / "run", {.model = {{"nobody", wide.weight.cell()}}}), "no tensor \"nobody\"");
  EXPECT_ERROR(save_checkpoint(folder / "run", {.model = {{"optimizer/lr", wide.weight.cell()}}}),
               "a model parameter named \"optimizer/lr\"");

  io::Bytes bytes = io::read_file(folder / "run");
  bytes.resize(bytes.size() - 1);
  io::write_atomically(folder / "run", bytes);
  EXPECT_ERROR(load_checkpoint(folder / "run", other.parts()), "run");
  EXPECT_EQ(other.all_bits(), before);
}

}  // namespace
}  // namespace tegula
