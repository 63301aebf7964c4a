#pragma once
// Linear algebra: factors, systems, spectra, and what is composed of them.

#include "tegula/ops/linalg/factors.h"    // lu lu_factor lu_solve cholesky cholesky_solve qr
#include "tegula/ops/linalg/measures.h"   // trace kron matrix_power matrix_exp matrix_norm cond matrix_rank pinv
#include "tegula/ops/linalg/solve.h"      // solve inverse det slogdet lstsq
#include "tegula/ops/linalg/spectra.h"    // svd svdvals eigh eigvalsh eig eigvals
#include "tegula/ops/linalg/triangles.h"  // triangular_solve
