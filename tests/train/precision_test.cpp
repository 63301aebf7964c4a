// Training in half precision ends where f32 does.

#include <gtest/gtest.h>

#include <cmath>

#include <tegula/models.h>
#include <tegula/tegula.h>

#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::clouds;
using testing::SmallNet;
using testing::TemporaryFolder;

TEST(TrainingPrecision, HalvesReachTheAccuracyOfF32OnTheDrawnDigits) {
  const data::ArrayDataset train = data::draw_digits(3000, 1), test = data::draw_digits(1000, 2);
  std::vector<double> accuracy;
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    manual_seed(0);
    models::Model model = models::make("mnist-cnn");
    optim::Adam adam(parameters(model.net), {.lr = 2e-3});
    Trainer trainer(model.net, adam, cross_entropy, {.epochs = 2, .batch = 64, .precision = precision});
    const History history = trainer.fit(train, test);
    accuracy.push_back(history.back().test_accuracy);
    EXPECT_EQ(trainer.loss_scaler() != nullptr, precision == Precision::fp16);
    RecordProperty(std::string(name(precision)), std::to_string(accuracy.back()));
    for (const Parameter& p : nn::state(model.net)) EXPECT_EQ(p.read().dtype(), f32) << p.name;
  }
  EXPECT_GT(accuracy[0], 0.85);
  // Two standard deviations of a share of 1000 images, and the effect of another rounding on so short a training.
  EXPECT_NEAR(accuracy[1], accuracy[0], 0.03);
  EXPECT_NEAR(accuracy[2], accuracy[0], 0.03);
}

TEST(TrainingPrecision, AResumedFp16RunEndsAsIfItHadNeverStopped) {
  const auto run = [](std::int64_t epochs, const std::string& checkpoint, const std::string& resume) {
    manual_seed(3);
    SmallNet net;
    optim::Adam adam(parameters(net));
    Trainer trainer(net, adam, cross_entropy,
                    {.epochs = epochs, .batch = 32, .clip_norm = 1, .precision = Precision::fp16, .checkpoint = checkpoint});
    if (!resume.empty()) trainer.resume(resume);
    trainer.fit(clouds(400, 1), clouds(200, 2));
    std::vector<std::string> all = bits(nn::state(net));
    for (auto& text : bits(adam.state())) all.push_back(text);
    for (auto& text : bits(trainer.loss_scaler()->state())) all.push_back(text);
    return all;
  };
  const TemporaryFolder folder;
  const auto whole = run(4, "", "");
  run(2, folder / "run", "");
  EXPECT_EQ(run(4, "", folder / "run"), whole);
}

}  // namespace
}  // namespace tegula
