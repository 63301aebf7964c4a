#pragma once
// Matching on the host: which of these belongs to which of those (Kuhn, 1955; by shortest augmenting paths, Jonker and Volgenant, 1987).

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Pairs of rows and columns, rows ascending: min(rows, columns) of them, each row and each column at most once.
struct Matching {
  std::vector<std::int64_t> rows, columns;
  double cost = 0;  // of all pairs together
};
/// The pairs with the least cost, of costs by rows (SciPy's linear_sum_assignment). Infinity forbids a pair. In time of rows · columns · min(rows, columns). Throws Error for NaN and
/// -infinity, another number of costs than rows times columns, and where every choice has a forbidden pair.
Matching best_matching(std::span<const double> costs, std::int64_t rows, std::int64_t columns);
/// The cheapest matching of each matrix of costs (…, rows, columns): a detector's predictions against the objects of its picture (Carion et al., 2020). Waits for the costs.
std::vector<Matching> best_matching(const Tensor& costs);

}  // namespace tegula
