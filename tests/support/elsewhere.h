#pragma once
// A function here, and loaded from its graph file by another process, which has the file and nothing else.

#include <functional>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/graph/variable.h"

namespace tegula::test {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// f32 in [-1, 1].
Tensor numbers(const Shape& shape, double seed = 1);

/// Expects the same bits of the first result, of the gradients of its mean square by float arguments and by the weights, and the same kernels; of a
/// plan file, the first result and the kernels. The test
/// program has a test OtherProcess.DISABLED_ThatLoads, which calls load_here().
void expect_same_elsewhere(const Function& f, const std::vector<Tensor>& x, const Parameters& weights);
/// The work of the other process.
void load_here();

}  // namespace tegula::test
