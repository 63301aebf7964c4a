#pragma once
// Small products on tensor cores, operands rounded to tf32, as one kernel of our own. The warps of a block share out the inner axis of one
// tile of the result: each brings the lines it needs from memory to its registers, where the tensor cores take them, all at once, so that a
// product costs one wait for memory; what the warps have summed meets in shared memory.

#include <vector>

#include "tegula/cuda/handwritten/plain_split_product.h"

namespace tegula::gpu {

/// The cuts that are worth trying for a product that may round its operands (see split_choices).
std::vector<SplitChoice> tensor_choices(const BlasProduct& p);

/// The kernel that split_product_kernel describes, for a choice with warps.
PlainKernel tensor_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice);

}  // namespace tegula::gpu
