#pragma once
// Kernels of one's own: the tile language (docs/tile.md).
#include "tegula/tegula.h"

#include "tegula/ops/tile_jit.h"  // tile::jit, tile::out, and the words
