// The order in which a Trainer takes its rows, and what it keeps of validations.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::clouds;
using testing::SmallNet;

/// Rows that say which they are.
struct Numbered {
  std::int64_t count;
  std::int64_t size() const { return count; }
  data::Sample get(std::int64_t i) const { return {data::number(static_cast<float>(i)), data::number(0.0f)}; }
};

TEST(TrainerOrder, RowsComeAsTheyAreWhereNothingIsShuffled) {
  struct Net {
    Variable w{ones({})};
    nn::Buffer seen{zeros({3})};
    Tensor operator()(const Tensor& x) {
      seen = x;
      return x * w;
    }
  } net;
  optim::SGD sgd(parameters(net), {.lr = 0});
  Trainer trainer(net, sgd, mse_loss, {.epochs = 1, .batch = 3, .shuffle = false});
  std::vector<float> first;
  trainer.on_step = [&](const StepReport&) { first.push_back(net.seen.read().to_host()[0]); };
  trainer.fit(Numbered{12});
  EXPECT_EQ(first, (std::vector<float>{0, 3, 6, 9}));
  // The set is as good as endless: nothing lists its rows.
  const long before = testing::peak_memory();
  Trainer endless(net, sgd, mse_loss, {.epochs = 1, .batch = 3, .shuffle = false});
  endless.on_step = [&](const StepReport& r) { return r.step == 5 ? Go::Stop : Go::On; };
  endless.fit(Numbered{3'000'000'000});
  EXPECT_EQ(net.seen.read().to_host()[0], 12);
  EXPECT_LT(testing::peak_memory() - before, 64 << 20);
}

TEST(TrainerOrder, BatchesHaveRowsOfSimilarLengths) {
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 60; ++i) lengths.push_back(i * 7 % 60);
  struct Net {
    Variable w{ones({})};
    nn::Buffer seen{zeros({6})};
    Tensor operator()(const Tensor& x) {
      seen = x;
      return x * w;
    }
  } net;
  optim::SGD sgd(parameters(net), {.lr = 0});
  Trainer trainer(net, sgd, mse_loss, {.epochs = 1, .batch = 6, .lengths = lengths});
  int batches = 0;
  trainer.on_step = [&](const StepReport&) {
    ++batches;
    std::int64_t least = 60, most = 0;
    for (const float row : net.seen.read().to_host()) {
      const std::int64_t length = lengths[static_cast<std::size_t>(row)];
      least = std::min(least, length), most = std::max(most, length);
    }
    EXPECT_EQ(most - least, 5);
  };
  trainer.fit(Numbered{60});
  EXPECT_EQ(batches, 10);
}

TEST(TrainerOrder, ValidationsAreKeptOverAResume) {
  const testing::TemporaryFolder folder;
  const auto train = [&](const std::string& resume, std::int64_t stop) {
    manual_seed(6);
    SmallNet net;
    optim::Adam adam(parameters(net));
    Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .batch = 20, .validate_every = 4});
    if (!resume.empty()) trainer.resume(resume);
    trainer.on_validation = [&](const ValidationReport& r) {
      if (r.step != stop) return Go::On;
      trainer.save(folder / "half");
      return Go::Stop;
    };
    trainer.fit(clouds(400, 1), clouds(100, 2));
    return trainer.validations();
  };
  const auto whole = train("", 0), half = train("", 8), rest = train(folder / "half", 0);
  ASSERT_EQ(whole.size(), 5u);
  EXPECT_EQ(half.size(), 2u);
  ASSERT_EQ(rest.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(rest[i].step, static_cast<std::int64_t>(4 * (i + 1)));
    EXPECT_EQ(rest[i].test.loss, whole[i].test.loss);
    EXPECT_EQ(rest[i].train_loss, whole[i].train_loss);
    EXPECT_TRUE(std::isfinite(rest[i].train_loss));
  }
}

}  // namespace
}  // namespace tegula
