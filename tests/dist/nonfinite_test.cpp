// A loss that is no number in a training of several ranks: the rank whose rows it comes from names the op and the user's line, the others name that rank.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/dist/ranks.h"

namespace tegula {
namespace {

/// tanh hides a logarithm of 0 from the loss, not from the gradient.
struct Logarithm {
  nn::Linear in{1, 4}, out{4, 1};
  Tensor operator()(Tensor x) { return out(dropout(tanh(in(log(x))), 0.1)); }
};
/// Its statistics are those of all ranks.
struct WithExchange {
  nn::Linear in{1, 4}, out{4, 1};
  nn::BatchNorm1d norm{4};
  Tensor operator()(Tensor x) { return out(norm(in(log(x)))); }
};

data::Arrays rows_with_a_zero(std::int64_t n, std::int64_t zero_at) {
  HostArray x = HostArray::empty(f32, {n, 1}), y = HostArray::empty(f32, {n, 1});
  for (std::int64_t i = 0; i < n; ++i) {
    x.values<float>()[static_cast<std::size_t>(i)] = i == zero_at ? 0.F : 1 + 0.01F * static_cast<float>(i);
    y.values<float>()[static_cast<std::size_t>(i)] = 1;
  }
  return data::Arrays({x, y});
}

/// The messages of two ranks, and their weights afterwards, for batches of 4 rows.
template <class Net>
std::pair<std::vector<std::string>, std::vector<std::vector<float>>> stopped(const TrainerOptions& options, std::int64_t zero_at) {
  std::vector<std::vector<float>> weights(2);
  const auto failures = test::failures_of(2, [&](int rank) {
    manual_seed(7);
    Net net;
    if constexpr (std::is_same_v<Net, WithExchange>) nn::sync_batch_norm(net, dist::world());
    optim::Adam adam(parameters(net), {.lr = 1e-3});
    TrainerOptions own = options;  // both ranks are here
    own.batch = 4, own.shuffle = false, own.group = dist::world();
    Trainer trainer(net, adam, mse_loss, own);
    const auto keep = [&] {
      for (const Parameter& p : Parameters(parameters(net))) {
        const auto values = p.read().to_host();
        weights[static_cast<std::size_t>(rank)].insert(weights[static_cast<std::size_t>(rank)].end(), values.begin(), values.end());
      }
    };
    try {
      trainer.fit(rows_with_a_zero(120, zero_at));
    } catch (const Error&) {
      keep();
      throw;
    }
    keep();
  });
  return {failures, weights};
}

TEST(NonfiniteOnRanks, TheRankWhoseRowsMakeItNamesTheLine) {
  // Rows 40 and 41 of batch 11 are those of rank 0, 42 and 43 those of rank 1.
  for (const int rank : {0, 1}) {
    const auto [failures, weights] = stopped<Logarithm>({.epochs = 2}, rank == 0 ? 41 : 43);
    const std::string& own = failures[static_cast<std::size_t>(rank)];
    EXPECT_NE(own.find("Trainer: got a loss of nan in batch 1"), std::string::npos) << own;
    EXPECT_NE(own.find("made by log at"), std::string::npos) << own;
    EXPECT_NE(own.find("nonfinite_test.cpp:16"), std::string::npos) << own;
    const std::string& other = failures[static_cast<std::size_t>(1 - rank)];
    EXPECT_NE(other.find("made by what rank " + std::to_string(rank) + " names"), std::string::npos) << other;
    // The model is as it was ahead of that step: as after ten.
    const auto [none, expected] = stopped<Logarithm>({.epochs = 1, .steps = 10}, -1);
    EXPECT_EQ(none, std::vector<std::string>(2));
    EXPECT_EQ(weights, expected);
  }
}

TEST(NonfiniteOnRanks, AModelWithExchangesOfItsOwnAndSharedStateStopToo) {
  for (const std::string& failure : stopped<WithExchange>({.epochs = 2}, 41).first)
    EXPECT_NE(failure.find("Trainer: got a loss of "), std::string::npos) << failure;
  for (const std::string& failure : stopped<Logarithm>({.epochs = 2, .shard = 1}, 41).first)
    EXPECT_NE(failure.find("TEGULA_CHECK=nan finds the op"), std::string::npos) << failure;
}

}  // namespace
}  // namespace tegula
