// Ctrl-C in a training: the step is finished, the checkpoint written, and the training goes on from it to the bit.

#include <gtest/gtest.h>

#include <csignal>

#include "tegula/core/interrupt.h"
#include "tegula/core/warning.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/trainer.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::clouds;
using testing::SmallNet;
using testing::TemporaryFolder;

struct Training {
  History history;
  std::vector<std::string> bits, warnings;
  std::int64_t steps = 0;
};

/// Four epochs of twelve steps, interrupted behind step `at`.
Training train(std::int64_t at, const std::string& checkpoint, const std::string& resume = "") {
  Training run;
  std::signal(SIGINT, SIG_DFL);  // a shell in the background ignores it, and children inherit that
  set_warning_handler([&](const std::string& name, const std::string& text) { run.warnings.push_back(name + ": " + text); });
  manual_seed(3);
  SmallNet net;
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, cross_entropy, {.epochs = 4, .batch = 32, .seed = 3, .checkpoint = checkpoint, .stop_on_interrupt = true});
  if (!resume.empty()) trainer.resume(resume);
  trainer.on_step = [&](const StepReport& r) {
    run.steps = r.step;
    if (r.step == at) std::raise(SIGINT);
  };
  run.history = trainer.fit(clouds(400, 1), clouds(200, 2));
  run.bits = bits(nn::state(net));
  for (auto& text : bits(adam.state())) run.bits.push_back(text);
  set_warning_handler(nullptr);
  return run;
}

TEST(Interrupted, ATrainingEndsBehindItsStepAndGoesOnToTheBit) {
  const TemporaryFolder folder;
  const Training whole = train(-1, "");
  EXPECT_TRUE(whole.warnings.empty());
  EXPECT_EQ(whole.steps, 48);
  for (const std::int64_t at : {1, 17, 24, 35}) {  // the first step, within an epoch, an epoch's last, within one
    const std::string file = folder / "run";
    const Training first = train(at, file);
    EXPECT_EQ(first.steps, at);
    EXPECT_EQ(first.history.size(), static_cast<std::size_t>(at / 12));
    EXPECT_EQ(interrupted(), SIGINT);
    ASSERT_EQ(first.warnings.size(), 1u);
    EXPECT_NE(first.warnings[0].find("stopped by signal 2 (Interrupt) after " + std::to_string(at) + " steps"), std::string::npos)
        << first.warnings[0];
    EXPECT_NE(first.warnings[0].find("trainer.resume(\"" + file + "\")"), std::string::npos) << first.warnings[0];
    const Training rest = train(-1, "", file);
    EXPECT_EQ(rest.steps, 48);
    EXPECT_EQ(rest.bits, whole.bits) << "stopped behind step " << at;
    EXPECT_EQ(interrupted(), 0) << "a new fit forgets the request";
  }
}

TEST(Interrupted, WithoutACheckpointTheWarningNamesTheOption) {
  const Training run = train(5, "");
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_NE(run.warnings[0].find("TrainerOptions::checkpoint"), std::string::npos) << run.warnings[0];
}

}  // namespace
}  // namespace tegula
