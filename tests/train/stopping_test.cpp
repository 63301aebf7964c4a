// The ends of trainings, and their reports.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tegula/core/warning.h"
#include "tegula/io/plot.h"
#include "tegula/io/safetensors.h"
#include "tegula/nn/freeze.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/optim/groups.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/trainer.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::clouds;
using testing::message_of;
using testing::SmallNet;
using testing::TemporaryFolder;

/// The warnings of a piece of program.
struct Warnings {
  std::vector<std::string> all;
  Warnings() {
    set_warning_handler([this](const std::string& name, const std::string& text) { all.push_back(name + " " + text); });
  }
  ~Warnings() { set_warning_handler(nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

/// An epoch that is judged better than all others though it is not the last: by a value of one's own.
double best_is_the_third(const EpochRecord& r) { return std::abs(static_cast<double>(r.epoch) - 3); }

struct Ended {
  std::vector<std::string> bits;
  std::vector<std::vector<std::string>> after_each;  // epoch
  std::size_t epochs = 0;
};

Ended run(TrainerOptions options, const EpochCallback& callback, const std::string& resume = "") {
  manual_seed(3);
  SmallNet net;
  optim::Adam adam(parameters(net), {.lr = 0.01});
  Ended ended;
  options.batch = 32;
  options.validate_every = 1000;
  Trainer trainer(net, adam, cross_entropy, options);
  trainer.on_epoch = callback;
  if (!resume.empty()) trainer.resume(resume);
  ended.epochs = trainer.fit(clouds(400, 1), clouds(200, 2)).size();
  ended.bits = bits(nn::state(net));
  return ended;
}

TEST(EarlyStopping, RestoresTheBestEpoch) {
  const auto best = run({.epochs = 3}, {});
  const auto stopped = run({.epochs = 50}, EarlyStopping{.patience = 2, .value = best_is_the_third, .restore_best = true});
  EXPECT_EQ(stopped.epochs, 5U);
  EXPECT_EQ(stopped.bits, best.bits);  // parameters and running statistics
  // However it ends: here by its epochs.
  EXPECT_EQ(run({.epochs = 4}, EarlyStopping{.patience = 9, .value = best_is_the_third, .restore_best = true}).bits, best.bits);
  EXPECT_EQ(run({.epochs = 50}, EarlyStopping{.patience = 2, .value = best_is_the_third}).bits, run({.epochs = 5}, {}).bits);
}

TEST(EarlyStopping, StandsBesideAFunction) {
  int epochs = 0;
  const auto stopped = run({.epochs = 50, .early_stopping = EarlyStopping{.patience = 1, .value = best_is_the_third, .restore_best = true}},
                           [&](const EpochRecord&) { ++epochs; });
  EXPECT_EQ(epochs, 4);
  EXPECT_EQ(stopped.bits, run({.epochs = 3}, {}).bits);
}

TEST(EarlyStopping, GoesOnFromACheckpointAsIfItHadNeverStopped) {
  const EarlyStopping stopping{.patience = 2, .value = best_is_the_third, .restore_best = true};
  const auto whole = run({.epochs = 50}, stopping);
  for (const std::int64_t half : {2, 4, 5}) {
    const TemporaryFolder folder;
    run({.epochs = half, .checkpoint = folder / "run"}, EarlyStopping{.patience = 9, .value = best_is_the_third, .restore_best = true});
    const auto resumed = run({.epochs = 50}, stopping, folder / "run");
    EXPECT_EQ(resumed.epochs, whole.epochs) << half;
    EXPECT_EQ(resumed.bits, whole.bits) << half;
  }
}

TEST(EarlyStopping, BeginsAnewWithEachFit) {
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 50, .batch = 32});
  trainer.on_epoch = EarlyStopping{.patience = 2, .value = best_is_the_third};
  for (int fit = 0; fit < 2; ++fit) EXPECT_EQ(trainer.fit(clouds(64, 1)).size(), 5U);
}

TEST(EarlyStopping, WithinAFunctionItCannotRestore) {
  const std::string message = message_of(
      [] { run({.epochs = 2}, [stopping = EarlyStopping{.restore_best = true}](const EpochRecord& r) mutable { return stopping(r); }); });
  EXPECT_NE(message.find("EarlyStopping: got .restore_best in a function of one's own"), std::string::npos) << message;
}

TEST(Checkpoint, BestOnlyHasTheBestEpoch) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name) {
    std::string all;
    for (const auto& [tensor, array] : io::read_safetensors(folder / name).tensors) {
      if (tensor.find('/') == std::string::npos) all += tensor + std::string(static_cast<const char*>(array.buffer->data()), array.bytes());
    }
    return all;
  };
  run({.epochs = 6, .checkpoint = Checkpoint{.path = folder / "best", .best_only = true, .value = best_is_the_third}}, {});
  run({.epochs = 3, .checkpoint = folder / "third"}, {});
  EXPECT_EQ(file("best"), file("third"));
  // A resumed training knows the best value before it.
  run({.epochs = 4, .checkpoint = folder / "four"}, {});
  const auto before = std::filesystem::last_write_time(folder / "best");
  run({.epochs = 6, .checkpoint = Checkpoint{.path = folder / "best", .best_only = true, .value = best_is_the_third}}, {}, folder / "four");
  EXPECT_EQ(std::filesystem::last_write_time(folder / "best"), before);
}

/// Takes the logarithm of its input, which is 0 in one row; tanh hides it from the loss, not from the gradient.
struct Logarithm {
  nn::Linear in{1, 4};
  nn::Linear out{4, 1};
  Tensor operator()(Tensor x) { return out(tanh(in(log(x)))); }
};
/// The loss shows it at once.
struct Bare {
  nn::Linear in{1, 1};
  Tensor operator()(Tensor x) { return in(log(x)); }
};
/// The output is a root, whose derivative at 0 is infinite: the forward pass is fine.
struct Root {
  nn::Linear in{1, 1, {.bias = false}};
  Tensor operator()(Tensor x) { return sqrt(abs(in(x))); }
};

data::Arrays rows_with_a_zero(std::int64_t n, std::int64_t zero_at) {
  HostArray x = HostArray::empty(f32, {n, 1}), y = HostArray::empty(f32, {n, 1});
  for (std::int64_t i = 0; i < n; ++i) {
    x.values<float>()[static_cast<std::size_t>(i)] = i == zero_at ? 0.F : 1 + 0.01F * static_cast<float>(i);
    y.values<float>()[static_cast<std::size_t>(i)] = i == zero_at ? -1.F : 1;
  }
  return data::Arrays({x, y});
}

template <class Net>
std::pair<std::string, std::vector<std::string>> stopped(TrainerOptions options, std::int64_t zero_at, const Loss& loss = mse_loss) {
  manual_seed(1);
  Net net;
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  options.batch = 2;
  options.shuffle = false;
  Trainer trainer(net, adam, loss, options);
  const std::string message = message_of([&] { trainer.fit(rows_with_a_zero(400, zero_at)); });
  return {message, bits(nn::state(net))};
}

TEST(Nonfinite, StopsAtTheBatchWithTheLineThatMadeIt) {
  EXPECT_NE(stopped<Bare>({.epochs = 3}, 301).first.find("a loss of inf in batch 151 of epoch 1, made by log at"), std::string::npos);
  const auto [message, weights] = stopped<Logarithm>({.epochs = 3}, 301);
  EXPECT_NE(message.find("Trainer: got a loss of nan in batch 152 of epoch 1, made by log at"), std::string::npos) << message;
  EXPECT_NE(message.find("stopping_test.cpp:"), std::string::npos) << message;
  EXPECT_NE(message.find("expected a number"), std::string::npos) << message;
  // The model is as it was before that step: as after 150 batches.
  manual_seed(1);
  Logarithm net;
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .steps = 150, .batch = 2, .shuffle = false});
  trainer.fit(rows_with_a_zero(400, 301));
  EXPECT_EQ(bits(nn::state(net)), weights);
}

// The gradient makes it, and the loss of the next batch shows it.
TEST(Nonfinite, FindsAnOpOfTheBackwardPass) {
  const auto [message, weights] = stopped<Root>({.epochs = 3}, 21);
  EXPECT_NE(message.find("a loss of nan in batch 12 of epoch 1, made by "), std::string::npos) << message;
  EXPECT_NE(message.find("sqrt"), std::string::npos) << message;
  for (const auto& cell : weights) EXPECT_EQ(cell.find("nan"), std::string::npos);
}

TEST(Nonfinite, GoWarnsOnceAndTrainsOn) {
  const Warnings warnings;
  const auto [message, weights] = stopped<Logarithm>({.epochs = 3, .nonfinite = Nonfinite::Go}, 5);
  EXPECT_EQ(message, "");
  ASSERT_EQ(warnings.all.size(), 1U);
  EXPECT_NE(warnings.all[0].find("train.not_finite after epoch 1 the loss is no number"), std::string::npos) << warnings.all[0];
}

TEST(Nonfinite, TheBestEpochIsRestoredAllTheSame) {
  manual_seed(3);
  SmallNet net;
  optim::SGD sgd(parameters(net), {.lr = 0.01});
  Trainer trainer(net, sgd, cross_entropy, {.epochs = 3, .batch = 50});
  trainer.on_epoch = EarlyStopping{.restore_best = true};
  std::vector<std::string> after;
  trainer.on_step = [&](const StepReport& r) {
    if (r.epoch == 2 && r.batch == 1) sgd.lr = NAN;
  };
  const std::string message = message_of([&] { trainer.fit(clouds(400, 1)); });
  EXPECT_NE(message.find("of epoch 2"), std::string::npos) << message;
  for (const Parameter& p : parameters(net)) {
    for (const float value : p.read().to_host()) ASSERT_TRUE(std::isfinite(value)) << p.name;
  }
}

/// With a layer that nothing is made of.
struct Idle {
  nn::Linear used{2, 3}, idle{2, 3}, spare{2, 2};
  Tensor operator()(Tensor x) { return used(x); }
};

TEST(Trainer, NamesParametersWithoutGradientOnce) {
  const Warnings warnings;
  Idle net;
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  freeze(net.spare);
  Trainer trainer(net, sgd, cross_entropy, {.epochs = 2, .batch = 10});
  trainer.fit(clouds(50, 1));
  trainer.fit(clouds(50, 1));
  ASSERT_EQ(warnings.all.size(), 1U);
  EXPECT_NE(warnings.all[0].find("train.no_gradient the loss does not depend on idle.weight, idle.bias, so that"), std::string::npos)
      << warnings.all[0];
  EXPECT_NE(warnings.all[0].find("stopping_test.cpp:"), std::string::npos) << warnings.all[0];
}

TEST(Trainer, NamesParametersThatTheOptimiserWasNotGiven) {
  const auto warnings_of = [](bool freezes) {
    const Warnings warnings;
    nn::Sequential net{nn::Linear{2, 4}, nn::Linear{4, 3}};
    optim::SGD sgd(optim::split(parameters(net), [](const Parameter& p) { return p.name.starts_with("1."); }).chosen, {.lr = 0.1});
    if (freezes) freeze(net, "0.*");
    Trainer trainer(net, sgd, cross_entropy, {.epochs = 1, .batch = 10});
    trainer.fit(clouds(50, 1));
    trainer.fit(clouds(50, 1));
    return warnings.all;
  };
  const std::vector<std::string> all = warnings_of(false);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NE(all[0].find("train.left_out the optimiser was not given 0.weight, 0.bias of the model, so that training leaves them"),
            std::string::npos)
      << all[0];
  EXPECT_NE(all[0].find("stopping_test.cpp:"), std::string::npos) << all[0];
  EXPECT_TRUE(warnings_of(true).empty());
}

TEST(Trainer, KeepsTheLastBatchWhenAsked) {
  const auto rows_seen = [](std::optional<Last> last) {
    nn::Linear net{2, 3};
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    Trainer trainer(net, sgd, cross_entropy, {.epochs = 1, .batch = 60, .last = last});
    std::int64_t batches = 0;
    trainer.on_step = [&](const StepReport& r) { batches = r.batches; };
    trainer.fit(clouds(64, 1));
    return batches;
  };
  EXPECT_EQ(rows_seen({}), 1);
  EXPECT_EQ(rows_seen(Last::Keep), 2);
}

TEST(Trainer, EndsAfterSoManySteps) {
  nn::Linear net{2, 3};
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  Trainer trainer(net, sgd, cross_entropy, {.epochs = 9, .steps = 14, .batch = 10});
  std::int64_t steps = 0;
  trainer.on_step = [&](const StepReport& r) { steps = r.step; };
  EXPECT_EQ(trainer.fit(clouds(50, 1)).size(), 2U);
  EXPECT_EQ(steps, 14);
}

/// f's output on stdout.
template <class F>
std::string printed(F f) {
  ::testing::internal::CaptureStdout();
  f();
  std::fflush(stdout);
  return ::testing::internal::GetCapturedStdout();
}

TEST(Progress, IsATableWhereItIsAskedForAndNothingInAPipe) {
  const auto with = [](Progress progress) {
    return printed([&] { run({.epochs = 2, .progress = progress, .progress_rows = "points"}, {}); });
  };
  EXPECT_EQ(with(Progress::AtTerminal), "");
  EXPECT_EQ(with(Progress::No), "");
  const std::string table = with(Progress::Yes);
  EXPECT_NE(table.find("epoch  train loss  train accuracy  test loss  test accuracy"), std::string::npos) << table;
  EXPECT_NE(table.find("points/s\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\n    2 "), std::string::npos) << table;
}

TEST(Progress, SaysWhichEpochWasTheBest) {
  const std::string table =
      printed([] { run({.epochs = 50, .progress = Progress::Yes}, EarlyStopping{.patience = 2, .value = best_is_the_third}); });
  EXPECT_NE(table.find("stopped early: epoch 3 was the best\n"), std::string::npos) << table;
}

TEST(LearningCurve, OfARegressionHasItsLossAlone) {
  nn::Linear net{2, 1};
  optim::SGD sgd(parameters(net), {.lr = 0.01});
  Trainer trainer(net, sgd, mse_loss, {.epochs = 3, .batch = 10});
  const data::ArrayDataset set(normal({40, 2}).to_array(), normal({40, 1}).to_array());
  const History history = trainer.fit(set, set);
  const TemporaryFolder folder;
  try {
    io::plot(folder / "curve.png", learning_curve(history, "regression"));
  } catch (const Error& error) {
    if (std::string(error.what()).find("no program gnuplot") != std::string::npos) GTEST_SKIP() << "no gnuplot";
    FAIL() << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "curve.png"));
}

}  // namespace
}  // namespace tegula
