#include "tegula/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tegula/core/warning.h"
#include "tegula/data/digits.h"
#include "tegula/data/mnist.h"
#include "tegula/models/registry.h"
#include "tegula/nn/sequential.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::clouds;
using testing::SmallNet;
using testing::TemporaryFolder;

struct Outcome {
  History history;
  std::vector<std::string> bits;
};

/// Trains SmallNet on clouds for `epochs` of a schedule over four.
Outcome run(std::uint64_t seed, std::int64_t epochs, const std::string& checkpoint = "", const std::string& resume = "") {
  manual_seed(seed);
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam,
                  {.epochs = epochs,
                   .batch = 32,
                   .seed = seed,
                   .schedule = optim::OneCycleLR{.maximum = 2e-2, .total = 4 * 12},
                   .checkpoint = checkpoint});
  if (!resume.empty()) trainer.resume(resume);
  Outcome outcome{trainer.fit(clouds(400, 1), clouds(200, 2)), bits(nn::state(net))};
  for (auto& text : bits(adam.state())) outcome.bits.push_back(text);
  return outcome;
}

/// How many epochs a checkpoint has behind it.
std::int64_t epochs_in(const std::string& path) {
  for (const auto& [name, array] : io::read_safetensors(path).tensors) {
    if (name == "extra/history") return array.shape[0];
  }
  return -1;
}

TEST(Trainer, LearnsAndReports) {
  const Outcome outcome = run(3, 4);
  ASSERT_EQ(outcome.history.size(), 4u);
  EXPECT_EQ(outcome.history[3].epoch, 4);
  EXPECT_LT(outcome.history[3].train_loss, outcome.history[0].train_loss);
  EXPECT_GT(outcome.history[3].test_accuracy, 0.95);
  EXPECT_GT(outcome.history[3].rows_per_second, 0);
}

TEST(Trainer, TheSameSeedGivesTheSameBits) {
  const auto first = run(3, 2), again = run(3, 2), other = run(4, 2);
  EXPECT_EQ(first.bits, again.bits);
  EXPECT_NE(first.bits, other.bits);
}

TEST(Trainer, ResumedItEndsAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  const Outcome whole = run(3, 4);
  run(3, 2, folder / "run");
  const Outcome resumed = run(3, 4, "", folder / "run");
  EXPECT_EQ(resumed.bits, whole.bits);
  ASSERT_EQ(resumed.history.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(resumed.history[i].train_loss, whole.history[i].train_loss);
    EXPECT_EQ(resumed.history[i].test_accuracy, whole.history[i].test_accuracy);
  }
  EXPECT_ERROR(run(4, 4, "", folder / "run"), "seed 3");
}

TEST(Trainer, ACheckpointThatFailsOnceDoesNotEndTheTraining) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "there");
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, {.epochs = 3, .batch = 50, .checkpoint = folder / "there/run"});
  std::vector<std::string> warnings;
  set_warning_handler([&](const std::string& name, const std::string& text) { warnings.push_back(name + " " + text); });
  trainer.on_epoch = [&](const EpochRecord& r) {
    if (r.epoch == 1) std::filesystem::rename(folder / "there", folder / "gone");
    if (r.epoch == 2) std::filesystem::rename(folder / "gone", folder / "there");
  };
  const History history = trainer.fit(clouds(400, 1));
  set_warning_handler(nullptr);
  EXPECT_EQ(history.size(), 3u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("train.checkpoint none of epoch 2, the training goes on: "), std::string::npos) << warnings[0];
  EXPECT_EQ(epochs_in(folder / "there/run"), 3);  // the third could be written again
}

TEST(Trainer, TriesTheCheckpointBeforeTheFirstStep) {
  const TemporaryFolder folder;
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, {.epochs = 1, .checkpoint = folder / "missing/run"});
  int steps = 0;
  trainer.on_step = [&](const StepReport&) { ++steps; };
  EXPECT_ERROR(trainer.fit(clouds(400, 1)), "create the folder");
  EXPECT_EQ(steps, 0);
}

TEST(Trainer, ALossThatIsNoNumberIsSaidAndLeavesTheCheckpointFromBefore) {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  set_warning_handler([&](const std::string& name, const std::string& text) { warnings.push_back(name + " " + text); });
  SmallNet net;
  optim::SGD sgd(parameters(net), {.lr = 0.01});
  Trainer trainer(net, sgd, {.epochs = 2, .batch = 50, .checkpoint = folder / "run"});
  trainer.on_epoch = [&](const EpochRecord&) { sgd.lr = NAN; };
  EXPECT_EQ(trainer.fit(clouds(400, 1)).size(), 2u);
  set_warning_handler(nullptr);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("train.not_finite after epoch 2 the loss is no number, the checkpoint from before stays"), std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[0].find("trainer_test.cpp:"), std::string::npos) << warnings[0];
  EXPECT_EQ(epochs_in(folder / "run"), 1);
}

TEST(Trainer, ErrorsOfItsOwnLossNameTheUsersLine) {
  const auto line_of = [](const std::string& message) { return std::stoi("0" + message.substr(message.rfind(".cpp:") + 5)); };
  SmallNet net;
  optim::Adam adam(parameters(net));
  data::ArrayDataset points = clouds(64, 1);
  points.targets.values<std::int64_t>()[3] = 7;
  const int line = __LINE__ + 1;
  Trainer trainer(net, adam, {.epochs = 1, .batch = 32});
  std::string message = testing::message_of([&] { trainer.fit(points); });
  EXPECT_NE(message.find("got label 7"), std::string::npos) << message;
  EXPECT_NE(message.find("trainer_test.cpp:"), std::string::npos) << message;
  EXPECT_EQ(line_of(message), line) << message;
  const int other = __LINE__ + 1;
  Evaluator evaluator(net, {.batch = 32});
  message = testing::message_of([&] { evaluator.evaluate(points); });
  EXPECT_EQ(line_of(message), other) << message;
  EXPECT_NE(testing::message_of([&] { evaluator.predict(HostArray::empty(f32, {0, 2})); }).find("trainer_test.cpp:"), std::string::npos);
}

TEST(Trainer, CallsBackAndTracesOncePerMode) {
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, {.epochs = 2, .batch = 50});
  int steps = 0, epochs = 0;
  trainer.on_step = [&](const StepReport& r) {
    ++steps;
    EXPECT_EQ(r.batches, 8);
    EXPECT_EQ(r.epochs, 2);
    EXPECT_TRUE(std::isfinite(r.mean_loss));
    EXPECT_EQ(r.learning_rate, 1e-3);
  };
  trainer.on_epoch = [&](const EpochRecord& r) {
    EXPECT_EQ(r.epoch, ++epochs);
    EXPECT_TRUE(std::isnan(r.test_loss));
  };
  trainer.fit(clouds(400, 1));
  EXPECT_EQ(steps, 16);
  EXPECT_EQ(epochs, 2);
  EXPECT_LE(trainer.traces(), 5);  // the calls 2, 4, 16 and 256 trace again to check
}

TEST(Trainer, TakesAnyLoss) {
  data::ArrayDataset line(tensor({0.f, 1.f, 2.f, 3.f}, {4, 1}).to_array(), tensor({1.f, 3.f, 5.f, 7.f}, {4, 1}).to_array());
  nn::Sequential net{nn::Linear{1, 1}};
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  Trainer trainer(net, sgd, {.epochs = 300, .batch = 4, .loss = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); }});
  const History history = trainer.fit(line);
  EXPECT_LT(history.back().train_loss, 1e-5);
  EXPECT_TRUE(std::isnan(history.back().train_accuracy));
  EXPECT_NEAR(trainer.evaluator().predict(line).to_host()[3], 7, 0.05);
}

TEST(Trainer, MinimisesTheObjectiveAndReportsTheLoss) {
  data::ArrayDataset line(tensor({0.f, 1.f, 2.f, 3.f}, {4, 1}).to_array(), tensor({1.f, 3.f, 5.f, 7.f}, {4, 1}).to_array());
  nn::Sequential net{nn::Linear{1, 1}};
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  Trainer trainer(net, sgd,
                  {.epochs = 300,
                   .batch = 4,
                   .loss = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); },
                   .objective = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t + 2); }});
  EXPECT_NEAR(trainer.fit(line).back().train_loss, 4, 1e-3);
  EXPECT_NEAR(trainer.evaluator().predict(line).to_host()[3], 9, 0.05);
}

TEST(Evaluator, CountsEveryRowOnceInEvaluationMode) {
  SmallNet net;
  Evaluator evaluator(net, {.batch = 64});
  const data::ArrayDataset points = clouds(150, 1);
  const Evaluation first = evaluator.evaluate(points), second = evaluator.evaluate(points);
  EXPECT_EQ(first.rows, 150);
  EXPECT_EQ(first.loss, second.loss);  // no dropout
  const Tensor scores = evaluator.predict(points);
  EXPECT_EQ(scores.shape(), (Shape{150, 3}));
  EXPECT_NEAR(cross_entropy(scores, from_array(points.targets)).item<double>(), first.loss, 1e-6);
  EXPECT_ERROR(evaluator.predict(HostArray::empty(f32, {0, 2})), "at least one row");
}

TEST(LearningCurve, HoldsWhatWasMeasured) {
  const History history{{.epoch = 3, .train_loss = 1, .train_accuracy = 0.5, .test_loss = 2, .test_accuracy = 0.25}};
  const auto curve = learning_curve(history, "title");
  EXPECT_EQ(curve.first_x, 3);
  EXPECT_EQ(curve.test_loss, std::vector<double>{2});
  EXPECT_EQ(curve.train_accuracy, std::vector<double>{0.5});
}

TEST(Mnist, MlpReaches95PercentInOneEpoch) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  const auto [train, test] = data::mnist(data + "/mnist");
  manual_seed(0);
  auto model = models::make("mnist-mlp");
  optim::Adam adam(parameters(model.net));
  Trainer trainer(model.net, adam, {.epochs = 1, .batch = 128, .schedule = optim::OneCycleLR{.maximum = 1e-2, .total = 468}});
  EXPECT_GE(trainer.fit(train, test)[0].test_accuracy, 0.95);
}

TEST(Digits, CnnLearnsTheDrawnDigits) {
  manual_seed(0);
  auto model = models::make("lenet5");
  optim::Adam adam(parameters(model.net), {.lr = 2e-3});
  Trainer trainer(model.net, adam, {.epochs = 2, .batch = 64});
  EXPECT_GE(trainer.fit(data::draw_digits(4000, 1), data::draw_digits(500, 2))[1].test_accuracy, 0.8);
}

}  // namespace
}  // namespace tegula
