#pragma once
// One matrix of a routine, by LAPACK.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tegula/cpu/linalg/lapack.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::host {

/// True if LAPACK computes this faster than loops of our own.
bool by_library(const runtime::MatrixRoutine& d);
/// Elements of `work`.
template <class T>
std::size_t library_work(const runtime::MatrixRoutine& d);
/// buffers: of one matrix, the description's; `a` is a copy of its first input that may be overwritten.
template <class T>
void run_library(const runtime::MatrixRoutine& d, T* a, std::span<void* const> buffers, T* work);

}  // namespace tegula::host
