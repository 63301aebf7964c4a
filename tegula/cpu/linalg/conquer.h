#pragma once
// Three diagonals divided at the middle: both halves side by side by LAPACK, and put together on all threads.

#include <cstdint>

#include "tegula/cpu/linalg/blocks.h"
#include "tegula/cpu/linalg/lapack.h"

namespace tegula::host {

/// Cuppen's divide and conquer (1981), with vectors of corrected numbers (Gu and Eisenstat, 1994). d (n), n >= 2, the diagonal, becomes the eigenvalues, ascending;
/// e (n), beside it, is overwritten; rows of `vectors` (n, n) become the eigenvectors. Returns a state (runtime/matrix_routine.h).
template <class T>
std::int32_t conquer_three_diagonals(const Products<T>& products, const LapackFunctions<T>& library, std::int64_t n, T* d, T* e, T* vectors,
                                     T* work);
inline std::int64_t conquer_work(std::int64_t n) { return 3 * n * n + 8 * n + 16; }

}  // namespace tegula::host
