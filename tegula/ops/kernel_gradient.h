#pragma once
// The gradient of a kernel of one's own, in the tile language or in CUDA C++.

#include <functional>
#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/graph/tensor.h"

namespace tegula {

/// The gradients of the inputs, one for each, empty where none flows; from the inputs, the results and the gradients of the results.
using KernelGradient = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results,
                                                         const std::vector<Tensor>& gradients)>;

/// The results, as functions of the inputs that have this gradient. Throws Error where it gives another number of them.
std::vector<Tensor> with_kernel_gradient(const std::string& name, const std::vector<Tensor>& results, const std::vector<Tensor>& inputs,
                                         const KernelGradient& gradient, const Line& where);

}  // namespace tegula
