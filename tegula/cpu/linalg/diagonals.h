#pragma once
// Spectra of matrices of few diagonals, by iterations whose rotations are applied to vectors a sweep at a time. Vectors are rows of memory.

#include <cstdint>

namespace tegula::host {

/// count + 1 rows, `step` elements from each to the next (maybe backward): rotation i makes row i c[i] row i + s[i] row i+1, and row i+1 c[i] row i+1 - s[i] row i, in
/// this order.
void rotate_in_turn(float* rows, std::int64_t step, const float* c, const float* s, std::int64_t count, std::int64_t columns);
void rotate_in_turn(double* rows, std::int64_t step, const double* c, const double* s, std::int64_t count, std::int64_t columns);

/// The implicit QL algorithm (Bowdler, Martin, Reinsch, Wilkinson, 1968). d (n), the diagonal, becomes the eigenvalues, in no order; e (n), beside it, is overwritten.
/// Rows of `vectors` (n, n), or null, follow. work: 2 n. Returns a state (runtime/matrix_routine.h).
template <class T>
std::int32_t three_diagonals(std::int64_t n, T* d, T* e, T* vectors, T* work);

/// The implicit QR algorithm (Golub and Kahan, 1965; Golub and Reinsch, 1970). d (n), the diagonal, becomes the singular values, in no order, and some of them negative;
/// e (n), above it, is overwritten. Rows of left and right (n, n), or both null, follow. work: 4 n.
template <class T>
std::int32_t two_diagonals(std::int64_t n, T* d, T* e, T* left, T* right, T* work);

}  // namespace tegula::host
