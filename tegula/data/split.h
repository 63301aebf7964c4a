#pragma once
// Splits of rows for training and testing:
//
//   auto [train, test] = data::split_set(set, 0.2, {.seed = 1});           // a fifth is for testing
//   for (const data::Fold& fold : data::k_fold(set.size(), 5)) fit(data::subset(set, fold.train), data::subset(set, fold.test));

#include <cstdint>
#include <utility>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/data/dataset.h"

namespace tegula::data {

struct SplitOptions {
  std::uint64_t seed = 0;
  /// The class of each row: each part gets its share of every class, to within one row. Empty: rows are drawn from all.
  std::vector<std::int64_t> strata = {};
};

/// The rows 0 … count - 1 in random order, cut into parts of these shares: split(1000, {0.8, 0.1, 0.1}). Every row is in one part.
/// Throws Error for shares that are not positive or do not add up to 1, a part without rows, and strata that are not one for each row.
std::vector<std::vector<std::int64_t>> split(std::int64_t count, const std::vector<double>& shares, const SplitOptions& options = {},
                                             Line where = Line::current());

struct Fold {
  std::vector<std::int64_t> train, test;
};
/// k ways to use one k-th of the rows for testing and the others for training; every row is tested once. Throws Error unless 2 <= k <= count.
std::vector<Fold> k_fold(std::int64_t count, std::int64_t k, const SplitOptions& options = {}, Line where = Line::current());

/// A set in two: one for training, and one with a share of `test` of its rows.
template <Dataset T>
std::pair<Subset<T>, Subset<T>> split_set(const T& set, double test, const SplitOptions& options = {}, Line where = Line::current()) {
  auto parts = split(set.size(), {1 - test, test}, options, where);
  return {subset(set, std::move(parts[0])), subset(set, std::move(parts[1]))};
}

}  // namespace tegula::data
