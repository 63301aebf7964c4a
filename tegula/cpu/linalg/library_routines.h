#pragma once
// One matrix of a routine, by LAPACK.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tegula/cpu/linalg/lapack.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::host {

/// True for general eigenvalues and SVD where there is a LAPACK, and for symmetric eigenvalues from 100 rows on where it is a fast one. Factors and triangular systems
/// are cut by our own recursion, which shares them out between our threads, and whose products a fast library computes (blocks.cpp): its own threads would wait for
/// each other without end where processors are shared.
bool by_library(const runtime::MatrixRoutine& d);
/// Elements of `work`.
template <class T>
std::size_t library_work(const runtime::MatrixRoutine& d);
/// buffers: of one matrix, the description's; `a` is a copy of its first input that may be overwritten.
template <class T>
void run_library(const runtime::MatrixRoutine& d, T* a, std::span<void* const> buffers, T* work);

}  // namespace tegula::host
