#pragma once
// Small trainings, by one process and by ranks that are threads.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/dist/ranks.h"

namespace tegula::test {

/// Rows that a line divides, so that there is something to learn.
inline data::ArrayDataset rows(std::int64_t count, const Shape& sample) {
  Shape shape{count};
  for (const auto size : sample) shape.push_back(size);
  HostArray inputs = HostArray::empty(f32, shape), targets = HostArray::empty(i64, {count});
  const auto values = inputs.values<float>();
  const auto each = static_cast<std::size_t>(numel(sample));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i * i % 1013)));
  for (std::size_t r = 0; r < static_cast<std::size_t>(count); ++r) {
    const float total = values[r * each] + values[r * each + 1];
    targets.values<std::int64_t>()[r] = total > 0.5f ? 2 : total > -0.5f ? 1 : 0;
  }
  return {inputs, targets};
}

struct Outcome {
  History history;
  std::vector<std::vector<float>> weights;
};

/// Weights are those of the net behind the training, whole on every rank.
template <class Net>
Outcome train(const data::AnyDataset& training, const data::AnyDataset& testing, const dist::Group& group, TrainerOptions options,
              int seed = 7, const Loss& loss = cross_entropy) {
  manual_seed(static_cast<std::uint64_t>(seed));
  Net net;
  optim::Adam adam(parameters(net), {.lr = 0.01});
  options.group = group;
  options.test_batch = 7;
  options.metrics = {{"l1", [](const Tensor& scores, const Tensor&) { return mean(abs(scores)); }}};
  Trainer trainer(net, adam, loss, options);
  Outcome outcome;
  outcome.history = trainer.fit(training, testing);
  for (const Parameter& parameter : Parameters(parameters(net))) outcome.weights.push_back(parameter.read().to_host());
  return outcome;
}

inline void expect_close(const Outcome& a, const Outcome& b, double tolerance) {
  ASSERT_EQ(a.history.size(), b.history.size());
  for (std::size_t e = 0; e < a.history.size(); ++e) {
    EXPECT_NEAR(a.history[e].train_loss, b.history[e].train_loss, tolerance);
    EXPECT_NEAR(a.history[e].test_loss, b.history[e].test_loss, tolerance);
    const auto expect_equal = [](double x, double y) {  // NaN: not measured
      if (!std::isnan(x) || !std::isnan(y)) { EXPECT_NEAR(x, y, 1e-6); }
    };
    expect_equal(a.history[e].train_accuracy, b.history[e].train_accuracy);
    expect_equal(a.history[e].test_accuracy, b.history[e].test_accuracy);
    EXPECT_NEAR(a.history[e].test_metrics.at("l1"), b.history[e].test_metrics.at("l1"), tolerance);
    EXPECT_NEAR(a.history[e].train_metrics.at("l1"), b.history[e].train_metrics.at("l1"), tolerance);
  }
  for (std::size_t p = 0; p < a.weights.size(); ++p) {
    for (std::size_t i = 0; i < a.weights[p].size(); ++i) EXPECT_NEAR(a.weights[p][i], b.weights[p][i], tolerance) << p << " " << i;
  }
}

template <class Net>
void expect_like_one_process(const data::AnyDataset& training, const data::AnyDataset& testing, const TrainerOptions& options,
                             const std::vector<int>& sizes, const Loss& loss = cross_entropy, double falls = 0.97) {
  TrainerOptions by_one = options;
  by_one.shard = 0;
  const Outcome alone = train<Net>(training, testing, {}, by_one, 7, loss);
  EXPECT_LT(alone.history.back().train_loss, falls * alone.history.front().train_loss);  // it learns
  for (const int size : sizes) {
    // Ranks begin with other weights: rank 0's count.
    const auto run = [&] {
      return on_ranks<Outcome>(
          size, [&](int rank) { return train<Net>(training, testing, dist::world(), options, rank == 0 ? 7 : 100 + rank, loss); });
    };
    const auto first = run(), second = run();
    for (int r = 0; r < size; ++r) {
      const Outcome& outcome = first[static_cast<std::size_t>(r)];
      expect_close(outcome, alone, 2e-4);
      EXPECT_EQ(outcome.weights, first[0].weights) << "the same bits on all ranks";
      EXPECT_EQ(outcome.weights, second[static_cast<std::size_t>(r)].weights) << "and at every run";
      EXPECT_EQ(outcome.history.back().test_loss, first[0].history.back().test_loss);
    }
  }
}
template <class Net>
void expect_like_one_process(const Shape& sample, const TrainerOptions& options, const std::vector<int>& sizes) {
  expect_like_one_process<Net>(rows(64, sample), rows(30, sample), options, sizes);
}

}  // namespace tegula::test
