#pragma once
// Factors of many small matrices, each by one instance that holds its matrix as a tile: for devices that run thousands of instances at once, where a library factors
// them one after another.

#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::ops {

/// True if tiles do a routine (QR, SVD) over this many matrices of these extents sooner on this device.
bool suits_tiles(const runtime::Device& device, const runtime::MatrixRoutine& routine);

/// The results of that routine (MatrixOp): a (…, n, m) by columns, f32 or f64, at most 64 by 64.
/// QR: Householder's reflectors, as LAPACK's. SVD (m >= n): Jacobi's rotations from one side, n / 2 pairs of columns at once (Hestenes, 1958; the order of Brent and Luk, 1985),
/// then the directions of values that are 0 by QR.
std::vector<Tensor> by_tiles(const runtime::MatrixRoutine& routine, const Tensor& a, std::span<const Result> results, const Line& where);

}  // namespace tegula::ops
