#pragma once
// Gradients of the routines of linear algebra (Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008; Walter
// and Lehmann, 2018, for LU of any shape), as other ops: they differentiate again.

#include <span>
#include <vector>

#include "tegula/ops/linalg/matrix_op.h"

namespace tegula::ops {

std::vector<Tensor> matrix_gradients(const MatrixOp& op, const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted);

}  // namespace tegula::ops
