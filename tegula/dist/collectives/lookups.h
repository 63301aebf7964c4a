#pragma once
// The gradients of tables among ranks: the rows that a batch looks up are often fewer bytes than the table.

#include <functional>
#include <optional>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/lookups.h"

namespace tegula::dist {

/// The gradient of a table (length, …) as a sum.
struct TableGradient {
  std::int64_t length = 0;
  std::vector<ops::AddedRows> rows;
  Tensor
      rest;  // (length, …): what reaches the table otherwise, as by the scores of a network whose output layer is its embedding; undefined where nothing does
};
/// Nothing where no rows are added, or where gathering the rows of all ranks moves as much as a sum of the whole.
std::optional<TableGradient> table_gradient(const Tensor& gradient, int ranks, const Line& where);

/// The sum (mean) of a table's gradient over ranks that add as many rows each: the rows travel and are added where they arrive, in the ranks' order, so that all get the
/// same bits. In two pieces, since the rows of a first layer are the last that a backward pass makes, and the rest is often the first.
class TableSum {
 public:
  /// `exchange` sums the rest (elements) over the ranks. `narrow`: the dtype in which the values of rows travel; none: as they are.
  TableSum(TableGradient own, const Group& group, Reduction reduction, std::optional<DType> narrow,
           const std::function<Tensor(const Tensor&)>& exchange, const Line& where);
  /// (length, …).
  Tensor finish() const;

 private:
  Group group_;
  Reduction reduction_;
  std::optional<DType> narrow_;
  Line where_;
  std::vector<ops::AddedRows> rows_;  // the indices of all ranks, this rank's values
  std::int64_t length_;
  Tensor rest_;  // summed
};

}  // namespace tegula::dist
