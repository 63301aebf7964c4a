#include "tegula/data/split.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::data {
namespace {

[[noreturn]] void refuse(const char* op, std::string got, std::string expected, const Line& where) {
  throw Error({.op = op, .got = std::move(got), .expected = std::move(expected), .where = where});
}

/// The rows in random order; with strata class by class.
std::vector<std::int64_t> shuffled(const char* op, std::int64_t count, const SplitOptions& options, const Line& where) {
  if (!options.strata.empty() && options.strata.size() != static_cast<std::size_t>(count))
    refuse(op, std::to_string(options.strata.size()) + " strata for " + std::to_string(count) + " rows", "one for each row", where);
  if (count < 0 || count > UINT32_MAX) refuse(op, std::to_string(count) + " rows", "0 to 2^32 - 1", where);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  RandomStream random(options.seed, 0);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(static_cast<std::uint32_t>(i))]);
  if (options.strata.empty()) return rows;
  std::map<std::int64_t, std::vector<std::int64_t>> classes;
  for (const std::int64_t row : rows) classes[options.strata[static_cast<std::size_t>(row)]].push_back(row);
  rows.clear();
  for (const auto& [stratum, members] : classes) rows.insert(rows.end(), members.begin(), members.end());
  return rows;
}

}  // namespace

std::vector<std::vector<std::int64_t>> split(std::int64_t count, const std::vector<double>& shares, const SplitOptions& options,
                                             Line where) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share > 0)) refuse("split", "a share of " + number_text(share), "positive shares", where);
    sum += share;
  }
  if (!(std::abs(sum - 1) < 1e-6)) refuse("split", "shares with the sum " + number_text(sum), "a sum of 1", where);
  const std::vector<std::int64_t> rows = shuffled("split", count, options, where);
  std::vector<std::vector<std::int64_t>> parts(shares.size());
  // Without strata the parts lie one behind the other. With strata, rows of a class lie together, and each row goes to the part that is
  // furthest behind its share.
  std::vector<double> due(shares.size(), 0);
  if (options.strata.empty()) {
    double end = 0;
    std::size_t begin = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) {
      end += shares[p];
      const auto to = p + 1 == shares.size() ? rows.size() : static_cast<std::size_t>(std::llround(end * static_cast<double>(count)));
      for (; begin < to; ++begin) parts[p].push_back(rows[begin]);
    }
  } else {
    for (const std::int64_t row : rows) {
      std::size_t most = 0;
      for (std::size_t p = 0; p < shares.size(); ++p) {
        due[p] += shares[p];
        if (due[p] > due[most]) most = p;
      }
      due[most] -= 1;
      parts[most].push_back(row);
    }
  }
  for (const auto& part : parts) {
    if (part.empty())
      refuse("split", std::to_string(count) + " rows for " + std::to_string(shares.size()) + " parts", "a row in each", where);
  }
  return parts;
}

std::vector<Fold> k_fold(std::int64_t count, std::int64_t k, const SplitOptions& options, Line where) {
  if (k < 2 || k > count)
    refuse("k_fold", std::to_string(k) + " folds of " + std::to_string(count) + " rows", "2 to as many as there are rows", where);
  const std::vector<std::int64_t> rows = shuffled("k_fold", count, options, where);
  std::vector<Fold> folds(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t f = 0; f < folds.size(); ++f) (i % folds.size() == f ? folds[f].test : folds[f].train).push_back(rows[i]);
  }
  return folds;
}

}  // namespace tegula::data
