#pragma once
// One matrix of a routine, by LAPACK.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tegula/cpu/linalg/lapack.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::host {

/// True for general eigenvalues and SVD where there is a LAPACK. Factors, triangular systems and symmetric eigenvalues are our own: as fast as OpenBLAS on one thread (f64,
/// 512 rows: LU 3.2 and 2.9 ms, Cholesky 1.8 and 1.5; Zen 5, 2026-11-27), and its threads would wait for each other without end where processors are shared.
bool by_library(const runtime::MatrixRoutine& d);
/// Elements of `work`.
template <class T>
std::size_t library_work(const runtime::MatrixRoutine& d);
/// buffers: of one matrix, the description's; `a` is a copy of its first input that may be overwritten.
template <class T>
void run_library(const runtime::MatrixRoutine& d, T* a, std::span<void* const> buffers, T* work);

}  // namespace tegula::host
