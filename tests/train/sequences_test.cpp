// Trainer on sequences of different lengths: batches of like lengths, means over tokens.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/models.h"
#include "tegula/tegula.h"
#include "tegula/text.h"

namespace tegula {
namespace {

/// Scores of each token by itself.
struct Unigram {
  nn::Embedding table{6, 6};
  Tensor operator()(Tensor, Tensor target) const { return table(target); }  // (N, W) -> (N, W, 6)
};

Loss token_loss() {
  return [](const Tensor& scores, const std::vector<Tensor>& targets) {  // lengths, labels
    return cross_entropy(reshape(scores, {-1, 6}), reshape(targets[1], {-1}), {.ignore_index = 0});
  };
}

TEST(Trainer, MeansAreOverTokensWhereItIsToldTo) {
  manual_seed(3);
  // Two batches of two, one with many tokens, one with few.
  const text::TokenPairs pairs({{3}, {3}, {3}, {3}}, {{3, 4, 5, 3, 4, 5, 3, 4, 5, 3}, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {5}, {3}}, 1, 2);
  Unigram net;
  // By hand, over all pairs at once.
  const std::vector<std::int64_t> rows{0, 1, 2, 3};
  const auto all = pairs.gather(rows);
  const Tensor labels = from_array(all[3]);
  const double expected =
      cross_entropy(reshape(net(Tensor(), from_array(all[1])), {-1, 6}), reshape(labels, {-1}), {.ignore_index = 0}).item<double>();
  const auto count = [](const Tensor&, const std::vector<Tensor>& targets) { return sum(cast(targets[1] != 0, f32)); };
  Evaluator tokens(net, {.batch = 2, .loss = token_loss(), .count = Loss(count), .inputs = 2});
  EXPECT_NEAR(tokens.evaluate(pairs).loss, expected, 1e-6);
  Evaluator batches(net, {.batch = 2, .loss = token_loss(), .inputs = 2});
  EXPECT_GT(std::abs(batches.evaluate(pairs).loss - expected), 1e-3);  // 22 tokens count as much as 4

  optim::SGD still(parameters(net), {.lr = 1e-30});
  Trainer trainer(net, still, token_loss(), {.epochs = 1, .batch = 2, .count = Loss(count), .inputs = 2, .lengths = pairs.lengths()});
  std::int64_t steps = 0;
  trainer.on_step = [&](const StepReport&) { ++steps; };
  const History history = trainer.fit(pairs, pairs);
  EXPECT_EQ(steps, 2);
  EXPECT_NEAR(history[0].train_loss, expected, 1e-6);
  EXPECT_NEAR(history[0].test_loss, expected, 1e-6);
  EXPECT_NEAR(history[0].rows_per_second * history[0].seconds, 4, 1e-9);  // rows are rows
}

TEST(Trainer, WithLengthsEveryRowCounts) {
  std::vector<text::Ids> sources, targets;
  for (std::size_t i = 0; i < 21; ++i) sources.emplace_back(1 + i, 3), targets.emplace_back(1 + i, 4);
  const text::TokenPairs pairs(sources, targets, 1, 2);
  Unigram net;
  optim::Adam adam(parameters(net), {.lr = 0.1});
  Trainer trainer(net, adam, token_loss(), {.epochs = 3, .batch = 4, .inputs = 2, .lengths = pairs.lengths()});
  std::int64_t batches = 0;
  trainer.on_step = [&](const StepReport& r) { batches = r.batches; };
  const History history = trainer.fit(pairs);
  EXPECT_EQ(batches, 6);  // the last has one row
  EXPECT_LT(history.back().train_loss, history.front().train_loss);
}

TEST(MaskedTokens, HidesAShareAnewEachTime) {
  text::Ids text;
  for (std::int64_t i = 0; i < 2000; ++i) text.push_back(5 + i % 95);
  const text::MaskedTokens set(text, {.length = 102, .vocabulary = 100});
  ASSERT_EQ(set.size(), 20);
  ASSERT_EQ(set.guessed(), 15);
  std::int64_t masked = 0, kept = 0, other = 0;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
    for (std::int64_t row = 0; row < set.size(); ++row) {
      data::RandomStream random(1, epoch * 100 + static_cast<std::uint64_t>(row));
      const auto sample = set.get(row, random);
      const auto tokens = sample[0].values<std::int64_t>(), places = sample[1].values<std::int64_t>(),
                 labels = sample[2].values<std::int64_t>();
      ASSERT_EQ(tokens.size(), 102u);
      ASSERT_EQ(tokens[0], 2);
      ASSERT_EQ(tokens[101], 3);
      std::size_t next = 0;
      for (std::size_t i = 1; i <= 100; ++i) {
        const std::int64_t there = text[static_cast<std::size_t>(row) * 100 + i - 1];
        if (next < 15 && places[next] == static_cast<std::int64_t>(i)) {
          ASSERT_EQ(labels[next++], there);
          (tokens[i] == 4 ? masked : tokens[i] == there ? kept : other)++;
          ASSERT_TRUE(tokens[i] >= 4 && tokens[i] < 100);
        } else {
          ASSERT_EQ(tokens[i], there);
        }
      }
      ASSERT_EQ(next, 15u);  // in increasing order, none twice
    }
  }
  const double all = 40 * 20 * 15;
  EXPECT_NEAR(static_cast<double>(masked) / all, 0.8, 0.015);
  EXPECT_NEAR(static_cast<double>(other) / all, 0.1, 0.012);
  EXPECT_NEAR(static_cast<double>(kept) / all, 0.1, 0.012);
  EXPECT_THROW(text::MaskedTokens(text, {.length = 2, .vocabulary = 100}), Error);
  EXPECT_THROW(text::MaskedTokens({5, 6}, {.length = 102, .vocabulary = 100}), Error);
  EXPECT_THROW(text::MaskedTokens(text, {.length = 102, .vocabulary = 5}), Error);
}

TEST(Bert, ScoresOfSomePlacesAreThoseOfAll) {
  manual_seed(1);
  models::BertForMaskedLM net({.vocabulary = 40, .width = 16, .layers = 2, .heads = 2, .hidden = 32, .context = 12, .dropout = 0});
  const Tensor tokens = randint(0, 40, {3, 10}), places = tensor<std::int64_t>({1, 4, 9, 0, 2, 3, 5, 6, 7}, {3, 3});
  const auto all = net(tokens).to_host(), some = net.at(tokens, places).to_host();
  const auto at = places.to_host<std::int64_t>();
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t v = 0; v < 40; ++v) EXPECT_NEAR(some[i * 40 + v], all[(i / 3 * 10 + static_cast<std::size_t>(at[i])) * 40 + v], 1e-5);
  EXPECT_THROW(net.at(tokens, ones({2, 3}, i64)), Error);
  const models::BertOptions options = models::bert_options(models::describe(net.bert.options(), "test"), "test");
  EXPECT_EQ(num_parameters(models::BertForMaskedLM(options)), num_parameters(net));
  models::ModelDescription bad = models::describe(options, "test");
  bad.numbers["width"] = 0;
  EXPECT_THROW(models::bert_options(bad, "test"), Error);
}

}  // namespace
}  // namespace tegula
