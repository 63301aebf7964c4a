// Matching: against every choice, SciPy's published example, shapes, what is forbidden.

#include "tegula/train/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tegula/data/random_stream.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// The least cost of all choices.
double tried(const std::vector<double>& costs, std::int64_t rows, std::int64_t columns) {
  const bool turned = rows > columns;
  const std::int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  std::vector<std::int64_t> order(static_cast<std::size_t>(many));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  double best = kForbidden;
  do {
    double sum = 0;
    for (std::int64_t i = 0; i < few; ++i) {
      const std::int64_t other = order[static_cast<std::size_t>(i)];
      sum += costs[static_cast<std::size_t>(turned ? other * columns + i : i * columns + other)];
    }
    best = std::min(best, sum);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(Matching, IsTheBestOfAllChoices) {
  data::RandomStream random(1, 0);
  for (int trial = 0; trial < 400; ++trial) {
    const auto rows = static_cast<std::int64_t>(1 + random.below(6)), columns = static_cast<std::int64_t>(1 + random.below(6));
    std::vector<double> costs(static_cast<std::size_t>(rows * columns));
    const bool equal = trial % 3 == 0, negative = trial % 2 == 0;
    for (double& cost : costs) cost = static_cast<double>(random.below(equal ? 3 : 1000)) - (negative ? 500 : 0);
    const double best = tried(costs, rows, columns);
    const Matching found = best_matching(costs, rows, columns);
    EXPECT_DOUBLE_EQ(found.cost, best) << trial;
    ASSERT_EQ(found.rows.size(), static_cast<std::size_t>(std::min(rows, columns)));
    EXPECT_TRUE(std::ranges::is_sorted(found.rows));
    std::vector<std::int64_t> used = found.columns;
    std::ranges::sort(used);
    EXPECT_EQ(std::ranges::adjacent_find(used), used.end());
    EXPECT_EQ(std::ranges::adjacent_find(found.rows), found.rows.end());
    double sum = 0;
    for (std::size_t i = 0; i < found.rows.size(); ++i) sum += costs[static_cast<std::size_t>(found.rows[i] * columns + found.columns[i])];
    EXPECT_DOUBLE_EQ(sum, found.cost);
  }
}

TEST(Matching, OfABatchOfTensors) {
  // The example of SciPy's linear_sum_assignment: columns 1, 0, 2 with a cost of 5.
  const Tensor one = tensor({4.F, 1.F, 3.F, 2.F, 0.F, 5.F, 3.F, 2.F, 2.F}, {1, 3, 3});
  const auto found = best_matching(one);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].columns, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(found[0].cost, 5);
  EXPECT_TRUE(best_matching(std::vector<double>(), 0, 4).rows.empty());
  EXPECT_ERROR(best_matching(tensor({1.F})), "costs of shape (1,), expected (…, rows, columns)");
}

TEST(Matching, WhatIsForbiddenIsNotTaken) {
  const std::vector<double> costs{kForbidden, 1, 1, kForbidden};
  EXPECT_EQ(best_matching(costs, 2, 2).columns, (std::vector<std::int64_t>{1, 0}));
  const std::vector<double> none{kForbidden, 1, kForbidden, 2};  // both rows want the second column
  EXPECT_ERROR(best_matching(none, 2, 2), "forbid every choice");
  EXPECT_ERROR(best_matching(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}, 1, 2), "NaN in row 0");
  EXPECT_ERROR(best_matching(std::vector<double>{-kForbidden}, 1, 1), "-infinity");
  EXPECT_ERROR(best_matching(std::vector<double>{1, 2, 3}, 2, 2), "3 costs, expected 2 times 2");
}

TEST(Matching, OfManyRows) {
  data::RandomStream random(2, 0);
  constexpr std::int64_t kCount = 200;
  std::vector<double> costs(static_cast<std::size_t>(kCount * kCount));
  for (double& cost : costs) cost = 1 + static_cast<double>(random.below(1000000));
  std::vector<std::int64_t> hidden(static_cast<std::size_t>(kCount));  // a choice that costs nothing
  for (std::int64_t i = 0; i < kCount; ++i) {
    hidden[static_cast<std::size_t>(i)] = (i * 37 + 11) % kCount;
    costs[static_cast<std::size_t>(i * kCount + hidden[static_cast<std::size_t>(i)])] = 0;
  }
  EXPECT_EQ(best_matching(costs, kCount, kCount).columns, hidden);
}

}  // namespace
}  // namespace tegula
