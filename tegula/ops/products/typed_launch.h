#pragma once

#include "tegula/ops/rows/tile_launch.h"

namespace tegula::ops {

/// A launch whose inputs are tiles of the type that lies in memory: products multiply them as they are.
class TypedLaunch : public TileLaunch {
 public:
  using TileLaunch::TileLaunch;
  Tile typed_input(int i) {
    const tile::Value pointer = launch_.input(i);
    return {{pointer, pointer.dtype()}, {}};
  }
};

}  // namespace tegula::ops
