#pragma once
// For functions whose gradient is another function's.

#include "tegula/graph/autodiff/grad.h"

namespace tegula {

/// As vjp, but for each x that is not reached, or by zeros only, an empty tensor; also when none is.
std::vector<Tensor> vjp_parts(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Wrt>& xs, const Line& where);

}  // namespace tegula
