// Splits of rows for training and testing.

#include "tegula/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/io/files.h"

namespace tegula::data {
namespace {

using Rows = std::vector<std::int64_t>;

Rows sorted(std::vector<Rows> parts) {
  Rows all;
  for (const Rows& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}
Rows counting(std::int64_t n) {
  Rows rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}
/// 100 rows, a tenth of class 1.
Rows unbalanced() {
  Rows classes(100, 0);
  for (std::size_t i = 0; i < 100; i += 10) classes[i] = 1;
  return classes;
}
std::int64_t ones(const Rows& rows, const Rows& classes) {
  return std::count_if(rows.begin(), rows.end(), [&](std::int64_t row) { return classes[static_cast<std::size_t>(row)] == 1; });
}

TEST(Split, EveryRowIsInOnePart) {
  const auto parts = split(103, {0.7, 0.2, 0.1}, {.seed = 4});
  EXPECT_EQ(sorted(parts), counting(103));
  EXPECT_EQ(parts[0].size(), 72U);
  EXPECT_EQ(parts[1].size(), 21U);
  EXPECT_EQ(parts[2].size(), 10U);
  EXPECT_EQ(split(103, {0.7, 0.2, 0.1}, {.seed = 4}), parts);
  EXPECT_NE(split(103, {0.7, 0.2, 0.1}, {.seed = 5}), parts);
  EXPECT_FALSE(std::is_sorted(parts[0].begin(), parts[0].end()));
}

TEST(Split, StrataGiveEachPartItsShareOfEveryClass) {
  const Rows classes = unbalanced();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto parts = split(100, {0.8, 0.2}, {.seed = seed, .strata = classes});
    EXPECT_EQ(sorted(parts), counting(100));
    EXPECT_NEAR(static_cast<double>(parts[1].size()), 20, 1);
    EXPECT_NEAR(static_cast<double>(ones(parts[1], classes)), 2, 1);
  }
}

TEST(Split, FoldsTestEveryRowOnce) {
  const Rows classes = unbalanced();
  std::vector<Rows> tests;
  for (const Fold& fold : k_fold(100, 5, {.seed = 1, .strata = classes})) {
    EXPECT_EQ(sorted({fold.train, fold.test}), counting(100));
    EXPECT_EQ(fold.test.size(), 20U);
    EXPECT_EQ(ones(fold.test, classes), 2);
    tests.push_back(fold.test);
  }
  EXPECT_EQ(sorted(tests), counting(100));
}

TEST(Split, OfASetGivesTwoSets) {
  const ArrayDataset set(HostArray::empty(f32, {10, 2}), HostArray::empty(i64, {10}));
  const auto [train, test] = split_set(set, 0.3, {.seed = 2});
  EXPECT_EQ(train.size(), 7);
  EXPECT_EQ(test.size(), 3);
}

TEST(Split, RefusesWhatIsNoSplit) {
  EXPECT_ERROR(split(10, {0.5, 0.4}), "shares with the sum 0.9");
  EXPECT_ERROR(split(10, {1.5, -0.5}), "a share of -0.5");
  EXPECT_ERROR(split(2, {0.5, 0.25, 0.25}), "2 rows for 3 parts");
  EXPECT_ERROR(split(10, {1.0}, {.strata = {1, 2}}), "2 strata for 10 rows");
  EXPECT_ERROR(k_fold(10, 1), "1 folds of 10 rows");
  EXPECT_ERROR(k_fold(3, 4), "4 folds of 3 rows");
}

}  // namespace
}  // namespace tegula::data
