#pragma once
// Sums of lines by groups that are known. Internal to ops/.

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// One side of a sparse matrix: entry k of row r, starts[r] <= k < starts[r + 1], stands in column lines[k], and is entry order[k] of the values.
struct GroupedSide {
  Tensor starts, lines, order;  // i64 (rows + 1), (count), (count); no order: as they are; no starts: entry r alone is in row r
};
/// y (rows, width) = Σ of weights * source[lines] over each row's entries; source (columns, width). Its gradient is the same by the other side. `rows`: of each entry, in
/// the order of the weights, `columns` likewise; both i64 (count).
struct GroupedMatrix {
  GroupedSide here, there;
  Tensor rows, columns;
};
Tensor grouped_sum(const GroupedMatrix& matrix, const Tensor& source, const Tensor& weights, const Line& where);

/// The greatest of each row's lines (rows, width), -inf of none; no gradient.
Tensor grouped_max(const GroupedSide& side, const Tensor& source, const Line& where);

}  // namespace tegula::ops
