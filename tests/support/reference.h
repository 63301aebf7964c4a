#pragma once
// The specification of a graph, executable: every node in f64, from the formula or the naive loops its op declares. Slow on purpose.

#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The elements of y, row-major. Leaves give their values; what has been evaluated is computed again where its inputs are still known.
std::vector<double> reference_of(const Tensor& y);

}  // namespace tegula
