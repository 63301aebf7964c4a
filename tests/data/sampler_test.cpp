#include "tegula/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tegula/data/random_stream.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

using Rows = std::vector<std::int64_t>;

Rows epoch_of(Sampler& sampler) {
  Rows rows;
  for (auto batch = sampler.next(); !batch.empty(); batch = sampler.next()) rows.insert(rows.end(), batch.begin(), batch.end());
  return rows;
}

Rows counting(std::int64_t n) {
  Rows rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(Sampler, WithoutShufflingGivesTheRowsInOrder) {
  Sampler sampler(10, {.batch = 4});
  EXPECT_EQ(sampler.batches(), 3);
  EXPECT_EQ(sampler.next().size(), 4u);
  EXPECT_EQ(sampler.next()[0], 4);
  EXPECT_EQ(sampler.next().size(), 2u);
  EXPECT_TRUE(sampler.next().empty());
  EXPECT_EQ(sampler.position(), (Sampler::Position{1, 0}));
  EXPECT_EQ(epoch_of(sampler), counting(10));
}

TEST(Sampler, DropsAnIncompleteLastBatchWhenAsked) {
  Sampler sampler(10, {.batch = 4, .last = Last::Drop});
  EXPECT_EQ(sampler.batches(), 2);
  EXPECT_EQ(epoch_of(sampler), counting(8));
  Sampler small(3, {.batch = 4, .last = Last::Drop});
  EXPECT_TRUE(small.next().empty());
  Sampler none(0, {.batch = 4});
  EXPECT_TRUE(none.next().empty());
}

TEST(Sampler, EveryShuffledEpochVisitsEachRowOnceInAnotherOrder) {
  Sampler sampler(1000, {.batch = 7, .shuffle = true, .seed = 3});
  const Rows first = epoch_of(sampler), second = epoch_of(sampler);
  EXPECT_NE(first, second);
  for (Rows rows : {first, second}) {
    EXPECT_NE(rows, counting(1000));
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, counting(1000));
  }
}

TEST(Sampler, TheSameSeedGivesTheSameOrderWhateverTheBatch) {
  Sampler a(100, {.batch = 7, .shuffle = true, .seed = 3}), b(100, {.batch = 64, .shuffle = true, .seed = 3});
  Sampler c(100, {.batch = 7, .shuffle = true, .seed = 4});
  const Rows order = epoch_of(a);
  EXPECT_EQ(order, epoch_of(b));
  EXPECT_NE(order, epoch_of(c));
}

TEST(Sampler, ContinuesFromAnyPosition) {
  Sampler whole(50, {.batch = 8, .shuffle = true, .seed = 9});
  for (int steps = 0; steps < 20; ++steps) {
    Sampler resumed(50, {.batch = 8, .shuffle = true, .seed = 9});
    resumed.seek(whole.position());
    const auto want = whole.next();
    const auto got = resumed.next();
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin(), got.end())) << steps;
  }
  EXPECT_GT(whole.position().epoch, 1);
}

TEST(Sampler, RefusesImpossibleOptionsAndPositions) {
  EXPECT_ERROR(Sampler(-1), "-1 rows");
  EXPECT_ERROR(Sampler(std::int64_t{1} << 32), "2^32 - 1");
  EXPECT_ERROR(Sampler(10, {.batch = 0}), "batch 0");
  Sampler sampler(10, {.batch = 5});
  EXPECT_ERROR(sampler.seek({0, 3}), "batch 0 to 2");
  EXPECT_ERROR(sampler.seek({-1, 0}), "epoch -1");
}

TEST(GatherBatch, CopiesRowsOfAnyDtypeAndRank) {
  const float values[] = {0, 1, 2, 3, 4, 5};
  const HostArray array = HostArray::from<float>(values, {3, 2});
  const HostArray batch = gather_batch(array, Rows{2, 0, 2, 1});
  EXPECT_EQ(batch.shape, (Shape{4, 2}));
  const float want[] = {4, 5, 0, 1, 4, 5, 2, 3};
  EXPECT_TRUE(std::equal(std::begin(want), std::end(want), batch.values<float>().begin()));
  const std::int64_t labels[] = {7, 8, 9};
  EXPECT_EQ(gather_batch(HostArray::from<std::int64_t>(labels, {3}), Rows{1}).values<std::int64_t>()[0], 8);
  EXPECT_EQ(gather_batch(array, Rows{}).shape, (Shape{0, 2}));
}

TEST(GatherBatch, RefusesRowsOutsideAndScalars) {
  const HostArray array = HostArray::empty(u8, {3, 2});
  EXPECT_ERROR(gather_batch(array, Rows{3}), "row 3 of shape (3, 2), expected 0 to 2");
  EXPECT_ERROR(gather_batch(array, Rows{-1}), "row -1");
  EXPECT_ERROR(gather_batch(HostArray::empty(u8, {}), Rows{0}), "shape ()");
}

TEST(RandomStream, DrawsBelowABoundEvenly) {
  RandomStream random(1, 2);
  int counts[6] = {};
  for (int i = 0; i < 60'000; ++i) ++counts[random.below(6)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 400);  // four standard deviations
}

TEST(RandomStream, NoiseHasMeanZeroAndVarianceOne) {
  RandomStream random(5, 0);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double v = random.noise();
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(RandomStream, BeginsWithPhiloxWordsAndStreamsDiffer) {
  RandomStream random(42, 0), other(42, 1);
  bool differs = false;
  for (std::uint64_t i = 0; i < 9; ++i) {
    const auto word = random.word();
    EXPECT_EQ(word, philox_word(42, i));
    differs |= word != other.word();
  }
  EXPECT_TRUE(differs);
}

TEST(Sampler, WeightsSayHowOftenARowIsDrawn) {
  Sampler sampler(4, {.batch = 2, .seed = 7, .weights = {1, 0, 3, 4}});
  std::array<int, 4> times{};
  constexpr int kEpochs = 2000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const Rows rows = epoch_of(sampler);
    ASSERT_EQ(rows.size(), 4U);
    for (const auto row : rows) ++times.at(static_cast<std::size_t>(row));
  }
  EXPECT_EQ(times[1], 0);
  // 8000 draws: five deviations of the binomial distribution.
  for (const auto& [row, share] : {std::pair(0, 1.0 / 8), std::pair(2, 3.0 / 8), std::pair(3, 4.0 / 8)})
    EXPECT_NEAR(times[static_cast<std::size_t>(row)], 4 * kEpochs * share, 5 * std::sqrt(4 * kEpochs * share * (1 - share))) << row;
  Sampler again(4, {.batch = 2, .seed = 7, .weights = {1, 0, 3, 4}}), first(4, {.batch = 2, .seed = 7, .weights = {1, 0, 3, 4}});
  first.next();
  again.seek(first.position());
  EXPECT_EQ(epoch_of(again), epoch_of(first));
}

TEST(Sampler, StrataGiveEveryBatchTheClassesOfTheWhole) {
  std::vector<std::int64_t> classes(60, 0);
  for (std::size_t i = 0; i < 12; ++i) classes[i] = 1;  // a fifth, all at the begin
  Sampler sampler(60, {.batch = 10, .shuffle = true, .seed = 3, .strata = classes});
  Rows before;
  for (int epoch = 0; epoch < 3; ++epoch) {
    Rows all;
    for (auto batch = sampler.next(); !batch.empty(); batch = sampler.next()) {
      const auto ones = std::count_if(batch.begin(), batch.end(), [&](auto row) { return classes[static_cast<std::size_t>(row)] == 1; });
      EXPECT_NEAR(static_cast<double>(ones), 2, 1);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    EXPECT_NE(all, before);
    before = all;
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, counting(60));
  }
}

TEST(Sampler, RefusesWeightsAndStrataThatAreNone) {
  EXPECT_ERROR(Sampler(3, {.weights = {1, 2}}), "2 weights, strata or lengths for 3 rows");
  EXPECT_ERROR(Sampler(2, {.weights = {1, -2}}), "a weight of -2");
  EXPECT_ERROR(Sampler(2, {.weights = {1, NAN}}), "a weight of");
  EXPECT_ERROR(Sampler(2, {.weights = {0, 0}}), "weights with the sum 0");
  EXPECT_ERROR(Sampler(2, {.weights = {1, 2}, .strata = {0, 1}}), "weights and strata");
}

TEST(Sampler, BatchesOfSimilarLengthsHoldEveryRowOnceInAnotherOrderEachEpoch) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t row = 0; row < 1003; ++row) lengths.push_back(1 + row * 7919 % 60);
  Sampler sampler(1003, {.batch = 10, .shuffle = true, .seed = 3, .lengths = lengths});
  std::vector<std::int64_t> first_epoch;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::int64_t> seen, firsts;
    std::int64_t padded = 0, total = 0, batches = 0;
    for (auto rows = sampler.next(); !rows.empty(); rows = sampler.next(), ++batches) {
      std::int64_t longest = 0;
      for (const auto row : rows) {
        seen.push_back(row);
        longest = std::max(longest, lengths[static_cast<std::size_t>(row)]);
        total += lengths[static_cast<std::size_t>(row)];
      }
      padded += longest * static_cast<std::int64_t>(rows.size());
      if (rows.size() == 10) firsts.push_back(longest);
    }
    EXPECT_EQ(batches, 101);
    EXPECT_LT(static_cast<double>(padded), 1.03 * static_cast<double>(total));  // at random it would be nearly twice as much
    EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.end()));
    if (epoch == 0) first_epoch = seen;
    else EXPECT_NE(seen, first_epoch);
    std::sort(seen.begin(), seen.end());
    for (std::int64_t row = 0; row < 1003; ++row) EXPECT_EQ(seen[static_cast<std::size_t>(row)], row);
  }
  EXPECT_THROW(Sampler(3, {.lengths = {1, 2}}), Error);
  EXPECT_THROW(Sampler(2, {.strata = {0, 1}, .lengths = {1, 2}}), Error);
}

}  // namespace
}  // namespace tegula::data
