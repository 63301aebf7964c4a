#pragma once
// Reductions to few diagonals by blocks (Dongarra, Sorensen and Hammarling, 1989): half of the work is products of the matrix and a vector, which read it
// once for each column and are shared out between the threads; the other half is in products of matrices. Bits do not depend on the number of threads.

#include <cstdint>

#include "tegula/cpu/linalg/blocks.h"

namespace tegula::host {

/// Qᵀ A Q = T. a (n, n) by rows, of which what is on and behind the diagonal is read; row k keeps reflector k behind the diagonal, as apply_q wants them with a
/// shift of 1. diagonal and beside (n): of T, beside[n - 1] = 0; factors (n): τ of each.
template <class T>
void to_three_diagonals(const Products<T>& products, T* a, std::int64_t n, T* diagonal, T* beside, T* factors, T* work);

/// Qᵀ A P = B, which has its values on the diagonal and above it. a (n, n) by columns; row k of memory keeps reflector k of Q, with a shift of 0, and row k of `right`
/// (n, n) that of P, with a shift of 1. diagonal and beside as above; left_factors and right_factors (n): τ of each.
template <class T>
void to_two_diagonals(const Products<T>& products, T* a, std::int64_t n, T* right, T* diagonal, T* beside, T* left_factors,
                      T* right_factors, T* work);

/// Elements of `work` for both.
std::int64_t reduce_work(std::int64_t n);

}  // namespace tegula::host
