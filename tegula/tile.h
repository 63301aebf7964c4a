#pragma once
// Kernels of one's own: the tile language (docs/tile.md).
#include "tegula/tegula.h"

#include "tegula/formats/kernel_code.h"  // show_kernel, build_kernel
#include "tegula/ops/cuda_kernel.h"  // cuda_kernel: CUDA C++ (docs/cuda_kernels.md)
#include "tegula/ops/tile_jit.h"  // tile::jit, tile::out, and the words
