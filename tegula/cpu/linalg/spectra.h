#pragma once
// Eigenvalues and singular values of one matrix by plain loops: what runs where no LAPACK is found.

#include <cstddef>
#include <cstdint>

#include "tegula/cpu/linalg/blocks.h"

namespace tegula::host {

/// Householder's reduction to three diagonals, then the implicit QL algorithm (Bowdler, Martin, Reinsch, Wilkinson, 1968). a (n, n), whose lower triangle by rows
/// is read, is overwritten; values (n) ascending, vectors (n, n) by columns or null. Returns a state (runtime/matrix_routine.h).
template <class T>
std::int32_t symmetric_eigen(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* work);
inline std::int64_t symmetric_eigen_work(std::int64_t n) { return 4 * n + n * n + qr_work(n, n); }

/// Jacobi's rotations from one side (Hestenes, 1958), of R where the matrix is tall. a (m, n), m >= n, by columns, is overwritten; u (m, count) by columns, v (n, n) by
/// rows, both null without vectors; values (n) descending.
template <class T>
std::int32_t singular_values(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* u, std::int64_t count, T* values, T* v,
                             T* work);
inline std::int64_t singular_values_work(std::int64_t m, std::int64_t n) { return 3 * n * n + 2 * n + m * n + qr_work(m, n); }

/// Reduction to Hessenberg's form, then the QR algorithm with double shifts (Francis, 1961). a (n, n) by columns is overwritten; values (n, 2), vectors (n, n, 2) or
/// null.
template <class T>
std::int32_t general_eigen(T* a, std::int64_t n, T* values, T* vectors, T* work);
inline std::int64_t general_eigen_work(std::int64_t n) { return n * n + 4 * n; }
/// LAPACK's form of the same, real and imaginary parts and packed vectors by columns, as pairs; each vector of norm 1.
template <class T>
void pairs_of(const T* re, const T* im, const T* packed, std::int64_t n, T* values, T* vectors);

}  // namespace tegula::host
