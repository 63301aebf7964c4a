#pragma once
// Eigenvalues and singular values of one matrix.

#include <cstddef>
#include <cstdint>

#include "tegula/cpu/linalg/blocks.h"

namespace tegula::host {

/// A = V diag(values) Vᵀ. a (n, n), whose lower triangle by rows is read, is overwritten; values (n) ascending, vectors (n, n) by columns or null. Returns a state
/// (runtime/matrix_routine.h).
template <class T>
std::int32_t symmetric_eigen(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* work);
std::int64_t symmetric_eigen_work(std::int64_t n);

/// A = U diag(values) Vᵀ, by A = Q R where the matrix is tall. a (m, n), m >= n, by columns, is overwritten; u (m, count) by columns, v (n, n) by rows, both null
/// without vectors; values (n) descending.
template <class T>
std::int32_t singular_values(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* u, std::int64_t count, T* values, T* v,
                             T* work);
std::int64_t singular_values_work(std::int64_t m, std::int64_t n);

/// Eigenvalues by LAPACK, or by reduction to Hessenberg's form and the QR algorithm with double shifts (Francis, 1961). a (n, n) by columns is overwritten;
/// values (n, 2), vectors (n, n, 2) or null.
template <class T>
std::int32_t general_eigen(T* a, std::int64_t n, T* values, T* vectors, T* work);
template <class T>
std::int64_t general_eigen_work(std::int64_t n, bool vectors);

}  // namespace tegula::host
