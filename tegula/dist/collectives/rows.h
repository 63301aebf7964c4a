#pragma once
// A tensor's elements as one row for each rank.

#include <cstdint>

#include "tegula/core/line.h"
#include "tegula/dist/exchange/group.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// x (…) -> (n, part), in its order: row r is rank r's. Zeros fill up the last rows.
Tensor rows_of(const Tensor& x, std::int64_t n, std::int64_t part, const Line& where);
/// The same with rows as short as may be.
Tensor rows_of(const Tensor& x, const Group& group, const Line& where);
/// The inverse of rows_of: (n, part) -> `shape`.
Tensor from_rows(const Tensor& rows, const Shape& shape, const Line& where);

}  // namespace tegula::dist
