#pragma once
// The vjp of functions whose gradient is another function's.

#include "tegula/graph/autodiff/grad.h"

namespace tegula {

/// The vjp, with an empty tensor for each x that is not reached, or by zeros only; no error when none is reached.
std::vector<Tensor> vjp_parts(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Wrt>& xs, const Line& where);

}  // namespace tegula
