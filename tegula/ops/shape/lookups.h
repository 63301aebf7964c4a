#pragma once
// The gradients of tables: sums of rows that were looked up.

#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// Rows that are added to a table (length, …): values (k, …) at `index` (k, i64, in [0, length)).
struct AddedRows {
  Tensor index, values;
};
/// The rows that the gradient of a lookup along axis 0 (take) added to zeros; nothing for any other tensor.
std::optional<AddedRows> added_rows(const Tensor& sums);
/// The other way: (length, …). The index is not looked at once more.
Tensor sum_of(const AddedRows& rows, std::int64_t length, const Line& where);

}  // namespace tegula::ops
