// Batches are weighted by the number of elements their losses are means of: in accumulation, in reports, and where nothing counts.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/nn/sequences/positions.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/trainer.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

/// Rows of so many tokens, and padding (0) behind them, as inputs and as labels (N, 4).
data::Arrays rows_of(const std::vector<std::int64_t>& lengths) {
  const auto n = static_cast<std::int64_t>(lengths.size());
  HostArray inputs = HostArray::empty(i64, {n, 4}), labels = HostArray::empty(i64, {n, 4});
  std::int64_t begun = 0;  // rows that are not empty, each with its own tokens
  for (std::int64_t i = 0; i < 4 * n; ++i) {
    const std::int64_t length = lengths[static_cast<std::size_t>(i / 4)], k = 4 * begun + i % 4;
    const bool is_token = i % 4 < length;
    inputs.values<std::int64_t>()[static_cast<std::size_t>(i)] = is_token ? 1 + k * 7 % 5 : 0;
    labels.values<std::int64_t>()[static_cast<std::size_t>(i)] = is_token ? 1 + k * 3 % 5 : 0;
    if (i % 4 == 3 && length > 0) ++begun;
  }
  return data::Arrays({inputs, labels});
}

Tensor loss_of_tokens(const Tensor& scores, const Tensor& labels) {
  return cross_entropy(reshape(scores, {-1, 6}), reshape(labels, {-1}), {.ignore_index = 0});
}
Tensor tokens_in(const Tensor&, const Tensor& labels) { return sum(cast(labels != 0, f32)); }

struct Trained {
  std::vector<float> weights;
  EpochRecord record;
  double validated = 0;  // the training loss at the last validation
};

Trained trained(const std::vector<std::int64_t>& lengths, TrainerOptions options, double lr = 1) {
  manual_seed(5);
  nn::Embedding net(6, 6);
  optim::SGD sgd(parameters(net), {.lr = lr});
  options.count = tokens_in;
  options.shuffle = false;
  Trainer trainer(net, sgd, loss_of_tokens, options);
  trainer.fit(rows_of(lengths), rows_of({2}));
  return {net.weight.to_host(), trainer.history().back(), trainer.validations().empty() ? 0 : trainer.validations().back().train_loss};
}

TEST(Counted, AccumulatedBatchesAreTheStepOfOneBatchOfAllTheirTokens) {
  const Trained whole = trained({4, 1, 4, 1}, {.epochs = 1, .batch = 4});
  for (const std::int64_t batch : {1, 2}) {
    const Trained parts = trained({4, 1, 4, 1}, {.epochs = 1, .batch = batch, .accumulate = 4 / batch});
    expect_near(parts.weights, whole.weights, 1e-5);
    EXPECT_NEAR(parts.record.train_loss, whole.record.train_loss, 1e-5);
  }
}

// The reported loss is the minimised one, between validations, too: with a rate of 0 all losses are those of the same weights.
TEST(Counted, WhatIsReportedIsTheMeanOverTokens) {
  const double expected = trained({4, 1, 4, 1}, {.epochs = 1, .batch = 4}, 0).record.train_loss;
  const Trained parts = trained({4, 1, 4, 1}, {.epochs = 1, .batch = 1, .validate_every = 4}, 0);
  EXPECT_NEAR(parts.record.train_loss, expected, 1e-5);
  EXPECT_NEAR(parts.validated, expected, 1e-5);
}

// The mean over no token is NaN.
TEST(Counted, ABatchOfPaddingAloneChangesNothing) {
  const Trained without = trained({4, 3}, {.epochs = 1, .batch = 1});
  const Trained with = trained({4, 0, 3, 0}, {.epochs = 1, .batch = 1});
  expect_near(with.weights, without.weights, 1e-5);
  EXPECT_NEAR(with.record.train_loss, without.record.train_loss, 1e-6);
  const Trained accumulated = trained({0, 4, 0, 1}, {.epochs = 1, .batch = 1, .accumulate = 4});
  expect_near(accumulated.weights, trained({4, 1}, {.epochs = 1, .batch = 2}).weights, 1e-5);
  expect_near(trained({0, 0, 4, 1}, {.epochs = 1, .batch = 1, .accumulate = 2}).weights, accumulated.weights, 1e-5);
}

TEST(Counted, AShortLastBatchCountsByItsRows) {
  const auto weights = [](std::int64_t batch, std::int64_t accumulate) {
    manual_seed(5);
    nn::Embedding net(6, 6);
    optim::SGD sgd(parameters(net), {.lr = 1});
    TrainerOptions options{.epochs = 1, .batch = batch, .accumulate = accumulate};
    options.shuffle = false;
    Trainer trainer(net, sgd, loss_of_tokens, options);
    trainer.fit(rows_of({4, 4, 4}));
    return net.weight.to_host();
  };
  expect_near(weights(2, 2), weights(3, 1), 1e-5);
}

}  // namespace
}  // namespace tegula
