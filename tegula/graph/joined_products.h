#pragma once
// Sums of products as one product of joined operands: for the gradient of `scan` and the passes.

#include <cstdint>

#include "tegula/graph/op.h"

namespace tegula {

/// True if Σ A_t · B_t, each (m, k) · (k, n), is faster as the one product (A_1 … A_T) · (B_1; …; B_T). Joining moves `moved` elements per pair;
/// each separate product, which is written and added, moves 2 m n.
constexpr bool joined_operands_pay(std::int64_t moved, std::int64_t m, std::int64_t n) { return moved <= 2 * m * n; }

/// The op of `concat`, its inputs side by side along an axis. `ops/` defines it.
Ref<const Op> join_op(int axis);

}  // namespace tegula
