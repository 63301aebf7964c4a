#pragma once
// Pooling as tile programs, for devices without a call for it.

#include <vector>

#include "tegula/graph/in_tiles.h"
#include "tegula/ops/products/spatial.h"

namespace tegula::ops {

/// The program of a pooling over operands that lie in any way, along the memory of its result. Windows are read by loads; in the backward pass an element adds up
/// the windows that see it, in their order, so that no sum depends on an order of instances.
std::vector<TileWay> pooling_ways(const runtime::Pooling& call, const Window& window, const InTiles::Operands& operands);

}  // namespace tegula::ops
