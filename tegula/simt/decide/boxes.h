#pragma once
// Finds the tiles of memory that are boxes of a tensor, so that the copy engine can bring them.

#include <optional>
#include <vector>

#include "tegula/simt/analysis.h"
#include "tegula/simt/tensor_map.h"

namespace tegula::gpu {

struct TensorBox {
  Term x, y;  // coordinates of the tile's first element: along the rows of the tensor, and across
  std::vector<Term> planes;  // of the map's planes: which of them
  simt::TensorMap map;  // without its box
};

/// The tile of a Load or a Store, whose neighbours along axis `along` lie side by side. Its pointer must be parameter + y * stride + x, and perhaps planes' numbers times
/// their distances, its mask no more than x + … < columns and y + … < rows, of a stride and sizes that the launch knows; all but what is accessed is a multiple of 16 bytes.
std::optional<TensorBox> box_of(const Analysis& analysis, tile::Id access, int along);

}  // namespace tegula::gpu
