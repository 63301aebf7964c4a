#include "tegula/train/matching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "tegula/core/error.h"

namespace tegula {
namespace {

constexpr std::int64_t kNone = -1;
constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// Matches rows to columns, of which there are as many or more. Rows come in one by one: a shortest path leads from each to a free column, by costs that are
/// reduced by a price of each row and column.
class Matcher {
 public:
  Matcher(std::span<const double> costs, std::int64_t rows, std::int64_t columns, bool turned)
      : costs_(costs),
        rows_(rows),
        columns_(columns),
        turned_(turned),
        row_price_(at(rows)),
        column_price_(at(columns)),
        row_of_(at(columns), kNone),
        column_of_(at(rows), kNone) {}

  /// The column of each row.
  std::vector<std::int64_t> run() {
    for (std::int64_t row = 0; row < rows_; ++row) bring_in(row);
    return column_of_;
  }
  double cost(std::int64_t row, std::int64_t column) const { return costs_[at(turned_ ? column * rows_ + row : row * columns_ + column)]; }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  void bring_in(std::int64_t from) {
    std::vector<double> length(at(columns_), kForbidden);
    std::vector<std::int64_t> before(at(columns_), kNone);  // the row from which the path comes to a column
    std::vector<bool> seen(at(columns_)), in_tree(at(rows_));
    double least = 0;
    std::int64_t row = from, end = kNone;
    while (end == kNone) {
      in_tree[at(row)] = true;
      std::int64_t next = kNone;
      for (std::int64_t c = 0; c < columns_; ++c) {
        if (seen[at(c)]) continue;
        const double path = least + cost(row, c) - row_price_[at(row)] - column_price_[at(c)];
        if (path < length[at(c)]) length[at(c)] = path, before[at(c)] = row;
        if (next == kNone || length[at(c)] < length[at(next)] || (length[at(c)] == length[at(next)] && row_of_[at(c)] == kNone)) next = c;
      }
      if (length[at(next)] == kForbidden)
        throw Error({.op = "best_matching", .got = "costs that forbid every choice", .expected = "a pair for each row or each column"});
      least = length[at(next)];
      seen[at(next)] = true;
      if (row_of_[at(next)] == kNone) end = next;
      else row = row_of_[at(next)];
    }
    row_price_[at(from)] += least;
    for (std::int64_t r = 0; r < rows_; ++r)
      if (in_tree[at(r)] && r != from) row_price_[at(r)] += least - length[at(column_of_[at(r)])];
    for (std::int64_t c = 0; c < columns_; ++c)
      if (seen[at(c)]) column_price_[at(c)] -= least - length[at(c)];
    for (std::int64_t c = end;;) {
      const std::int64_t r = before[at(c)];
      row_of_[at(c)] = r;
      std::swap(column_of_[at(r)], c);
      if (r == from) return;
    }
  }

  std::span<const double> costs_;
  std::int64_t rows_, columns_;
  bool turned_;
  std::vector<double> row_price_, column_price_;
  std::vector<std::int64_t> row_of_, column_of_;
};

}  // namespace

Matching best_matching(std::span<const double> costs, std::int64_t rows, std::int64_t columns) {
  if (rows < 0 || columns < 0 || static_cast<std::int64_t>(costs.size()) != rows * columns) {
    throw Error({.op = "best_matching",
                 .got = std::to_string(costs.size()) + " costs",
                 .expected = std::to_string(rows) + " times " + std::to_string(columns)});
  }
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!std::isnan(costs[i]) && costs[i] != -kForbidden) continue;
    throw Error({.op = "best_matching",
                 .got = std::string(std::isnan(costs[i]) ? "NaN" : "-infinity") + " in row " +
                        std::to_string(static_cast<std::int64_t>(i) / columns),
                 .expected = "numbers, and infinity for what is forbidden"});
  }
  Matching out;
  if (rows == 0 || columns == 0) return out;
  const bool turned = rows > columns;
  Matcher matcher(costs, std::min(rows, columns), std::max(rows, columns), turned);
  const std::vector<std::int64_t> partner = matcher.run();
  std::vector<std::int64_t> order(partner.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (turned) std::ranges::sort(order, {}, [&](std::int64_t i) { return partner[static_cast<std::size_t>(i)]; });
  for (const std::int64_t i : order) {
    const std::int64_t other = partner[static_cast<std::size_t>(i)];
    out.rows.push_back(turned ? other : i), out.columns.push_back(turned ? i : other);
    out.cost += matcher.cost(i, other);
  }
  return out;
}

std::vector<Matching> best_matching(const Tensor& costs) {
  if (costs.rank() < 2)
    throw Error({.op = "best_matching", .got = "costs of shape " + to_string(costs.shape()), .expected = "(…, rows, columns)"});
  const std::vector<double> values = costs.to_host<double>();
  const std::int64_t rows = costs.size(-2), columns = costs.size(-1);
  std::int64_t count = 1;
  for (int i = 0; i + 2 < costs.rank(); ++i) count *= costs.size(i);
  std::vector<Matching> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto each = static_cast<std::size_t>(rows * columns);
    out.push_back(best_matching(std::span(values).subspan(static_cast<std::size_t>(i) * each, each), rows, columns));
  }
  return out;
}

}  // namespace tegula
