#pragma once
// Products of middle size on tensor cores, operands rounded to tf32, as one kernel of our own: too large for plain_tensor_product.h, whose
// small tiles would read the operands too often, and too small to keep a card busy with large ones. The blocks of a cluster share out the
// inner axis of one large tile and add their parts through each other's shared memory, so that there is no kernel that adds up. A block asks
// for all of its share at once and multiplies what has arrived while the rest is under way.

#include <vector>

#include "tegula/cuda/handwritten/plain_split_product.h"

namespace tegula::gpu {

/// The cuts that are worth trying for a product that may round its operands (see split_choices).
std::vector<SplitChoice> cluster_choices(const BlasProduct& p, const Card& card);

/// The kernel that split_product_kernel describes, for a choice with warps and such a tile.
PlainKernel cluster_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice);

}  // namespace tegula::gpu
