#include "tegula/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tegula/core/warning.h"
#include "tegula/data/digits.h"
#include "tegula/data/mnist.h"
#include "tegula/models/registry.h"
#include "tegula/nn/sequences/recurrent.h"
#include "tegula/nn/sequential.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
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
  Trainer trainer(net, adam, cross_entropy,
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

/// Returns the number of epochs that a checkpoint has behind it.
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

TEST(Trainer, BatchesGrowAndResumeWhereTheyStand) {
  const TemporaryFolder folder;
  const auto grown = [&](std::int64_t epochs, const std::string& checkpoint, const std::string& resume, std::vector<std::int64_t>* steps) {
    manual_seed(5);
    SmallNet net;
    optim::Adam adam(parameters(net), {.lr = 1e-2});
    Trainer trainer(
        net, adam, cross_entropy,
        {.epochs = epochs, .batch = 20, .batches = {{.epoch = 2, .batch = 40}, {.epoch = 4, .batch = 100}}, .checkpoint = checkpoint});
    if (!resume.empty()) trainer.resume(resume);
    trainer.on_step = [&](const StepReport& r) {
      if (steps && r.batch == r.batches) steps->push_back(r.step);
    };
    trainer.fit(clouds(400, 1));
    return bits(nn::state(net));
  };
  std::vector<std::int64_t> steps, later;
  const auto whole = grown(5, "", "", &steps);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{20, 30, 40, 44, 48}));  // at the end of each epoch
  for (const std::int64_t first : {1, 2, 3, 4}) {  // the next epoch has other batches, or the same
    later.clear();
    grown(first, folder / "c", "", nullptr);
    EXPECT_EQ(grown(5, "", folder / "c", &later), whole) << first;
    EXPECT_EQ(later, std::vector<std::int64_t>(steps.begin() + first, steps.end())) << first;
  }
  SmallNet net;
  optim::Adam adam(parameters(net));
  EXPECT_ERROR(Trainer(net, adam, cross_entropy, {.batches = {{.epoch = 3, .batch = 8}, {.epoch = 3, .batch = 9}}}),
               "batches of 9 from epoch 3 on");
  EXPECT_ERROR(Trainer(net, adam, cross_entropy, {.batches = {{.epoch = 3, .batch = 0}}}), "batches of 0 from epoch 3 on");
}

TEST(Trainer, ACheckpointThatFailsOnceDoesNotEndTheTraining) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "there");
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 3, .batch = 50, .checkpoint = folder / "there/run"});
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
  Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .checkpoint = folder / "missing/run"});
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
  Trainer trainer(net, sgd, cross_entropy, {.epochs = 2, .batch = 50, .checkpoint = folder / "run", .nonfinite = Nonfinite::Go});
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
  Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .batch = 32});
  std::string message = testing::message_of([&] { trainer.fit(points); });
  EXPECT_NE(message.find("got label 7"), std::string::npos) << message;
  EXPECT_NE(message.find("trainer_test.cpp:"), std::string::npos) << message;
  EXPECT_EQ(line_of(message), line) << message;
  const int other = __LINE__ + 1;
  Evaluator evaluator(net, {.batch = 32, .loss = cross_entropy});
  message = testing::message_of([&] { evaluator.evaluate(points); });
  EXPECT_EQ(line_of(message), other) << message;
  EXPECT_NE(testing::message_of([&] { evaluator.predict(HostArray::empty(f32, {0, 2})); }).find("trainer_test.cpp:"), std::string::npos);
}

TEST(Trainer, LayersOfTheLibraryAsTheModelNameTheUsersLine) {
  nn::Sequential layers{nn::Linear{3, 2}};  // clouds have two features
  optim::Adam adam(parameters(layers));
  const std::string line = "trainer_test.cpp:" + std::to_string(__LINE__ + 1);
  Trainer trainer(layers, adam, cross_entropy, {.epochs = 1, .batch = 32});
  const std::string message = testing::message_of([&] { trainer.fit(clouds(64, 1)); });
  EXPECT_NE(message.find("2), expected 3 features"), std::string::npos) << message;
  EXPECT_NE(message.find(line), std::string::npos) << message;
}

TEST(Trainer, TakesModelsThatGiveAStruct) {
  manual_seed(1);
  nn::LSTM lstm{2, 3, {.batch_first = true}};
  optim::Adam adam(parameters(lstm));
  const auto loss = [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) {
    return mse_loss(outputs.at(0), targets.at(0)) + mean(square(outputs.at(2)));  // all outputs, and the last cell
  };
  Trainer trainer(lstm, adam, loss, {.epochs = 3, .batch = 4});
  const History history = trainer.fit(data::ArrayDataset(normal({8, 5, 2}).to_array(), zeros({8, 5, 3}).to_array()));
  EXPECT_LT(history.back().train_loss, history.front().train_loss);
}

TEST(Trainer, CallsBackAndTracesOncePerMode) {
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 2, .batch = 50});
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
  Trainer trainer(net, sgd, mse_loss, {.epochs = 300, .batch = 4});
  const History history = trainer.fit(line);
  EXPECT_LT(history.back().train_loss, 1e-5);
  EXPECT_TRUE(std::isnan(history.back().train_accuracy));
  EXPECT_NEAR(trainer.evaluator().predict(line).to_host()[3], 7, 0.05);
}

TEST(Trainer, MinimisesTheObjectiveAndReportsTheLoss) {
  data::ArrayDataset line(tensor({0.f, 1.f, 2.f, 3.f}, {4, 1}).to_array(), tensor({1.f, 3.f, 5.f, 7.f}, {4, 1}).to_array());
  nn::Sequential net{nn::Linear{1, 1}};
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  Trainer trainer(net, sgd, [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); },
                  {.epochs = 300, .batch = 4, .objective = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t + 2); }});
  EXPECT_NEAR(trainer.fit(line).back().train_loss, 4, 1e-3);
  EXPECT_NEAR(trainer.evaluator().predict(line).to_host()[3], 9, 0.05);
}

/// {a (2,), b (2,), sum of a ()}, and the product of their first elements ().
data::Arrays pairs(std::int64_t n) {
  data::RandomStream random(3, 0);
  std::vector<HostArray> arrays{HostArray::empty(f32, {n, 2}), HostArray::empty(f32, {n, 2}), HostArray::empty(f32, {n, 1}),
                                HostArray::empty(f32, {n, 1})};
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    float* at[4];
    for (std::size_t a = 0; a < 4; ++a) at[a] = arrays[a].values<float>().data() + i * (a < 2 ? 2 : 1);
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t k = 0; k < 2; ++k) at[a][k] = random.uniform(-1, 1);
    }
    at[2][0] = at[0][0] + at[0][1];
    at[3][0] = at[1][0] - at[1][1];
  }
  return data::Arrays(arrays);
}

struct TwoHeads {
  nn::Linear first{2, 1}, second{2, 1};
  std::pair<Tensor, Tensor> operator()(Tensor a, Tensor b) { return {first(a), second(b)}; }
};

TEST(Trainer, SeveralInputsOutputsAndTargets) {
  manual_seed(1);
  TwoHeads net;
  optim::SGD sgd(parameters(net), {.lr = 0.3});
  const auto both = [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) {
    return mse_loss(outputs[0], targets[0]) + mse_loss(outputs[1], targets[1]);
  };
  Trainer trainer(net, sgd, both, {.epochs = 20, .batch = 20});
  const History history = trainer.fit(pairs(200), pairs(40));
  EXPECT_LT(history.back().test_loss, 1e-4);
  const auto outputs = trainer.evaluator().predict_all(pairs(40));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_LT(max(abs(outputs[1] - from_array(pairs(40).arrays[3]))).item(), 0.05f);
}

TEST(Trainer, SaysHowInputsAndTargetsAreTold) {
  TwoHeads two;
  optim::SGD sgd(parameters(two), {.lr = 0.1});
  const int line = __LINE__ + 1;
  Trainer simple(two, sgd, mse_loss, {.epochs = 1, .batch = 20});
  const std::string message = testing::message_of([&] { simple.fit(pairs(40)); });
  EXPECT_NE(message.find("loss: got 2 outputs and 2 targets"), std::string::npos) << message;
  EXPECT_NE(message.find("trainer_test.cpp:" + std::to_string(line)), std::string::npos) << message;
  EXPECT_ERROR(Trainer(two, sgd, mse_loss, {.inputs = 3}), ".inputs = 3, expected a number of tensors with which the model can be called");
  EXPECT_ERROR(Trainer(two, sgd, Loss(), {}), "no loss");
  nn::Sequential net{nn::Linear{2, 1}};
  optim::SGD plain(parameters(net), {.lr = 0.1});
  const auto rows = [](const Tensor& y, const Tensor& t) { return square(y - t); };
  Trainer none(net, plain, rows, {.epochs = 1, .batch = 20});
  EXPECT_ERROR(none.fit(data::Arrays({pairs(40).arrays[0], pairs(40).arrays[2]})), "loss: got a value of shape (20, 1), expected a number");
  EXPECT_ERROR(none.fit(data::AnyDataset()), "Trainer::fit: got no rows to train on");
  Trainer large(net, plain, mse_loss, {.epochs = 1, .batch = 50});
  EXPECT_ERROR(large.fit(data::Arrays({pairs(40).arrays[0], pairs(40).arrays[2]})), "trainer_test.cpp:");  // no full batch
  EXPECT_ERROR(Evaluator(net).evaluate(pairs(3)), "Evaluator::evaluate: got no loss");
}

TEST(Trainer, MeasuresMetricsOfOnesOwnAndKeepsThemInCheckpoints) {
  const TemporaryFolder folder;
  const data::Arrays line({tensor({0.f, 1.f, 2.f, 3.f}, {4, 1}).to_array(), tensor({1.f, 3.f, 5.f, 7.f}, {4, 1}).to_array()});
  const auto run = [&](std::int64_t epochs, const std::string& resume) {
    manual_seed(2);
    nn::Sequential net{nn::Linear{1, 1}};
    optim::SGD sgd(parameters(net), {.lr = 0.01});
    const auto worst = [](const Tensor& y, const Tensor& t) { return max(abs(y - t)); };
    Trainer trainer(
        net, sgd, mse_loss,
        {.epochs = epochs, .batch = 2, .test_batch = 4, .metrics = {{"mae", l1_loss}, {"worst", worst}}, .checkpoint = folder / "run"});
    if (!resume.empty()) trainer.resume(resume);
    const History history = trainer.fit(line, line);
    const Tensor error = abs(trainer.evaluator().predict(line) - from_array(line.arrays[1]));
    EXPECT_NEAR(history.back().test_metrics.at("mae"), mean(error).item(), 1e-5);
    EXPECT_NEAR(history.back().test_metrics.at("worst"), max(error).item(), 1e-5);
    EXPECT_GT(history.back().train_metrics.at("worst"), 0);
    return history;
  };
  const History whole = run(4, "");
  run(2, "");
  const History resumed = run(4, folder / "run");
  ASSERT_EQ(resumed.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(resumed[i].test_metrics, whole[i].test_metrics);
    EXPECT_EQ(resumed[i].train_metrics, whole[i].train_metrics);
  }
}

TEST(Trainer, AccumulatedGradientsAreThoseOfTheLargeBatch) {
  const auto train = [](std::int64_t batch, std::int64_t accumulate) {
    manual_seed(4);
    nn::Sequential net{nn::Linear{2, 8}, tanh, nn::Linear{8, 1}};
    optim::Adam adam(parameters(net), {.lr = 0.01});
    Trainer trainer(net, adam, mse_loss, {.epochs = 3, .batch = batch, .seed = 9, .clip_norm = 1, .accumulate = accumulate});
    std::int64_t steps = 0;
    trainer.on_step = [&](const StepReport& r) { steps = r.step; };
    trainer.fit(data::Arrays({pairs(100).arrays[0], pairs(100).arrays[2]}));
    EXPECT_EQ(steps, 3 * ((100 / batch + accumulate - 1) / accumulate));
    return net(from_array(pairs(100).arrays[0])).to_host();
  };
  const auto large = train(20, 1), small = train(5, 4);
  for (std::size_t i = 0; i < large.size(); ++i) EXPECT_NEAR(small[i], large[i], 1e-5);
  train(20, 3);  // 5 batches: steps of 3 and of 2
}

TEST(Trainer, AccumulatesScaledGradientsInFp16) {
  manual_seed(4);
  nn::Sequential net{nn::Linear{2, 1}};
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  Trainer trainer(net, sgd, mse_loss, {.epochs = 20, .batch = 5, .accumulate = 4, .precision = Precision::fp16});
  const History history = trainer.fit(data::Arrays({pairs(100).arrays[0], pairs(100).arrays[2]}));
  EXPECT_LT(history.back().train_loss, 1e-3);
  EXPECT_LT(trainer.loss_scaler()->skipped().item<std::int64_t>(), 10);
}

TEST(Trainer, ResumesInTheMiddleOfAnAccumulation) {
  const TemporaryFolder folder;
  const auto run = [&](bool stop, bool resume) {
    manual_seed(5);
    nn::Sequential net{nn::Linear{2, 1}};
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    Trainer trainer(net, sgd, mse_loss, {.epochs = 2, .batch = 10, .accumulate = 4});
    trainer.on_step = [&](const StepReport& r) {
      if (!stop || r.epoch != 2 || r.batch != 3) return Go::On;
      trainer.save(folder / "run");
      return Go::Stop;
    };
    if (resume) trainer.resume(folder / "run");
    trainer.fit(data::Arrays({pairs(100).arrays[0], pairs(100).arrays[2]}));
    return bits(nn::state(net));
  };
  const auto whole = run(false, false);
  EXPECT_NE(run(true, false), whole);
  EXPECT_EQ(run(false, true), whole);
}

TEST(Trainer, CallbacksStopTheTraining) {
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 50, .batch = 50});
  trainer.on_epoch = [](const EpochRecord& r) { return r.epoch == 3 ? Go::Stop : Go::On; };
  EXPECT_EQ(trainer.fit(clouds(400, 1)).size(), 3u);
  trainer.on_step = [](const StepReport& r) { return r.step == 12 ? Go::Stop : Go::On; };
  EXPECT_EQ(trainer.fit(clouds(400, 1)).size(), 1u);  // within the second epoch
}

TEST(Trainer, EarlyStoppingWaitsForSomethingBetter) {
  EarlyStopping stop{.patience = 2, .least = 0.01};
  const auto after = [&](double loss) { return stop({.train_loss = 9, .test_loss = loss}); };
  EXPECT_EQ(after(1.0), Go::On);
  EXPECT_EQ(after(0.995), Go::On);  // not better by more than 0.01: the first
  EXPECT_EQ(after(0.9), Go::On);
  EXPECT_EQ(after(NAN), Go::On);
  EXPECT_EQ(stop.best, 0.9);
  EarlyStopping by_metric{.patience = 1, .value = [](const EpochRecord& r) { return -r.test_accuracy; }};
  EXPECT_EQ(by_metric({.test_accuracy = 0.5}), Go::On);
  EXPECT_EQ(by_metric({.test_accuracy = 0.4}), Go::Stop);

  nn::Sequential net{nn::Linear{2, 3}};
  optim::SGD sgd(parameters(net), {.lr = 0});
  Trainer trainer(net, sgd, cross_entropy, {.epochs = 50, .batch = 50});
  trainer.on_epoch = EarlyStopping{.patience = 3};
  EXPECT_EQ(trainer.fit(clouds(400, 1), clouds(100, 2)).size(), 4u);  // the first is the best
}

TEST(Trainer, ValidatesEverySoManySteps) {
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 2, .batch = 50, .validate_every = 3});
  std::vector<std::int64_t> steps;
  trainer.on_validation = [&](const ValidationReport& r) {
    steps.push_back(r.step);
    EXPECT_EQ(r.test.rows, 100);
    EXPECT_GT(r.test.accuracy, 0);
  };
  bool trains = true;
  trainer.on_step = [&](const StepReport&) { trains = trains && net.drop.training.get() == 1; };
  const History history = trainer.fit(clouds(400, 1), clouds(100, 2));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 6, 9, 12, 15}));
  EXPECT_TRUE(trains);
  EXPECT_TRUE(std::isfinite(history.back().test_loss));
}

TEST(Trainer, WorkersChangeNothing) {
  const auto train = [](int workers) {
    manual_seed(6);
    SmallNet net;
    optim::Adam adam(parameters(net));
    Trainer trainer(net, adam, cross_entropy, {.epochs = 2, .batch = 50, .seed = 3, .workers = workers});
    trainer.fit(data::map(clouds(400, 1), [](data::Sample sample, data::RandomStream& random) {
      sample[0].values<float>()[0] += random.noise();
      return sample;
    }));
    return bits(nn::state(net));
  };
  EXPECT_EQ(train(0), train(3));
}

TEST(Evaluator, CountsEveryRowOnceInEvaluationMode) {
  SmallNet net;
  Evaluator evaluator(net, {.batch = 64, .loss = cross_entropy});
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
  Trainer trainer(model.net, adam, cross_entropy,
                  {.epochs = 1, .batch = 128, .schedule = optim::OneCycleLR{.maximum = 1e-2, .total = 468}});
  EXPECT_GE(trainer.fit(train, test)[0].test_accuracy, 0.95);
}

TEST(Digits, CnnLearnsTheDrawnDigits) {
  manual_seed(0);
  auto model = models::make("lenet5");
  optim::Adam adam(parameters(model.net), {.lr = 2e-3});
  Trainer trainer(model.net, adam, cross_entropy, {.epochs = 2, .batch = 64});
  EXPECT_GE(trainer.fit(data::draw_digits(4000, 1), data::draw_digits(500, 2))[1].test_accuracy, 0.8);
}

}  // namespace
}  // namespace tegula
