// Eigenvalues of symmetric matrices, and singular values: reduced to few diagonals by our own blocks, which are shared out between our threads. The diagonals
// are left to a fast LAPACK, which divides and conquers, or to iterations of our own where there is none and where the matrix is small.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "tegula/cpu/fourier/side_by_side.h"
#include "tegula/cpu/linalg/conquer.h"
#include "tegula/cpu/linalg/diagonals.h"
#include "tegula/cpu/linalg/lapack.h"
#include "tegula/cpu/linalg/reduce.h"
#include "tegula/cpu/linalg/spectra.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

constexpr std::int64_t kConquered = 160;  // rows from which on a fast LAPACK is faster
constexpr std::int64_t kMostConquered = 20000;  // whose squares are LAPACK's integers

template <class T>
const LapackFunctions<T>* conqueror(std::int64_t n) {
  return n >= kConquered && n < kMostConquered ? fast_lapack<T>() : nullptr;
}

/// Divides by a power of two near the greatest size, so that squares neither overflow nor vanish; returns what the values are to be multiplied by.
template <class T>
TEGULA_WIDE T scale_down(T* a, std::int64_t count) {
  T most = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(a[i]));
  if (!(most > T(0))) return 1;
  const T power = std::ldexp(T(1), std::ilogb(most));
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) a[i] /= power;
  return power;
}

/// The triangle below the diagonal, above it as well.
template <class T>
void mirror(T* a, std::int64_t n) {
  constexpr std::int64_t kTurned = 64;
  for (std::int64_t i = 0; i < n; i += kTurned) {
    const std::int64_t end = std::min(i + kTurned, n);
    for (std::int64_t j = 0; j < i; j += kTurned) turn_matrix<T>(a + i * n + j, n, end - i, kTurned, a + j * n + i, n);
    for (std::int64_t r = i; r < end; ++r)
      for (std::int64_t c = i; c < r; ++c) a[c * n + r] = a[r * n + c];
  }
}

/// The order in which `values` ascend; NaNs come last.
template <class T>
std::vector<std::int64_t> ascending(const T* values, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(
      order, [&](std::int64_t a, std::int64_t b) { return values[a] < values[b] || (std::isnan(values[b]) && !std::isnan(values[a])); });
  return order;
}

/// Sorted rows of length n, `apart` from one to the next in `to`.
template <class T>
void copy_rows(const T* from, const std::vector<std::int64_t>& order, std::int64_t n, T* to, std::int64_t apart) {
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(from + order[static_cast<std::size_t>(i)] * n, n, to + i * apart);
}

/// Eigenvalues of the tridiagonal T, and its vectors as rows of `vectors` unless that is null. Returns LAPACK's info, without sign.
template <class T>
std::int32_t conquer_symmetric(const Products<T>& products, const LapackFunctions<T>& f, std::int64_t n, T* d, T* e, T* vectors, T* work) {
  if (vectors) return conquer_three_diagonals(products, f, n, d, e, vectors, work);
  const int order = static_cast<int>(n), one = 1;
  int integer = 0, info = 0;
  f.stedc("N", &order, d, e, nullptr, &order, work, &one, &integer, &one, &info, 1);
  return std::abs(info);
}

/// Singular values of the bidiagonal B: left vectors in rows of `left`, `apart` elements from one to the next, right vectors in columns of `right`.
template <class T>
std::int32_t conquer_two(const LapackFunctions<T>& f, std::int64_t n, T* d, T* e, T* left, std::int64_t apart, T* right, T* work) {
  const int order = static_cast<int>(n), stride = static_cast<int>(apart);
  std::vector<int> integers(static_cast<std::size_t>(8 * n));
  int info = 0;
  f.bdsdc("U", right ? "I" : "N", &order, d, e, left, &stride, right, &order, nullptr, nullptr, work, integers.data(), &info, 1, 1);
  return std::abs(info);
}

}  // namespace

std::int64_t symmetric_eigen_work(std::int64_t n) {
  return 3 * n + n * n + std::max({reduce_work(n), qr_work(n, n), conqueror<float>(n) ? conquer_work(n) : 0});
}

template <class T>
std::int32_t symmetric_eigen(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* work) {
  T *const diagonal = work, *const beside = diagonal + n, *const factors = beside + n, *const found = factors + n,
           *const more = found + n * n;
  mirror(a, n);
  const T scale = scale_down(a, n * n);
  to_three_diagonals(products, a, n, diagonal, beside, factors, more);
  std::int32_t state = 0;
  if (const auto* const library = conqueror<T>(n)) {
    state = conquer_symmetric(products, *library, n, diagonal, beside, vectors, more);
    if (vectors) apply_q(products, a, n, n - 1, 1, factors, vectors, n, more);
    for (std::int64_t i = 0; i < n; ++i) values[i] = diagonal[i] * scale;
    return state;
  }
  if (vectors) form_q(products, a, n, n - 1, 1, factors, found, n, more);
  state = three_diagonals(n, diagonal, beside, vectors ? found : nullptr, more);
  const std::vector<std::int64_t> order = ascending(diagonal, n);
  for (std::int64_t i = 0; i < n; ++i) values[i] = diagonal[order[static_cast<std::size_t>(i)]] * scale;
  if (vectors) copy_rows(found, order, n, vectors, n);
  return state;
}

std::int64_t singular_values_work(std::int64_t m, std::int64_t n) {
  return 4 * n * n + 5 * n + std::max({reduce_work(n), qr_work(m, m), 3 * n * n + 4 * n});
}

template <class T>
std::int32_t singular_values(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* u, std::int64_t count, T* values, T* v,
                             T* work) {
  T *const square = work, *const rows = square + n * n, *const left = rows + n * n, *const right = left + n * n,
           *const diagonal = right + n * n, *const beside = diagonal + n, *const factors = beside + n, *const left_factors = factors + n,
           *const right_factors = left_factors + n, *const more = right_factors + n;
  const T scale = scale_down(a, m * n);
  const bool tall = m > n;
  T* b = a;
  if (tall) {
    factor_qr(products, a, m, n, factors, more);
    b = square;
    for (std::int64_t j = 0; j < n; ++j) std::fill(std::copy_n(a + j * m, j + 1, b + j * n), b + (j + 1) * n, T(0));
  }
  to_two_diagonals(products, b, n, rows, diagonal, beside, left_factors, right_factors, more);
  std::int32_t state = 0;
  if (const auto* const library = conqueror<T>(n)) {
    state = conquer_two(*library, n, diagonal, beside, left, n, v ? right : nullptr, more);
    for (std::int64_t i = 0; i < n; ++i) values[i] = diagonal[i] * scale;
    if (!v) return state;
    apply_q(products, b, n, n, 0, left_factors, left, n, more);
    turn_matrix<T>(right, n, n, n, v, n);
    apply_q(products, rows, n, n - 1, 1, right_factors, v, n, more);
    std::copy_n(v, n * n, right);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(left + i * n, n, u + i * m);
  } else {
    if (v) {
      form_q(products, b, n, n, 0, left_factors, left, n, more);
      form_q(products, rows, n, n - 1, 1, right_factors, right, n, more);
    }
    state = two_diagonals(n, diagonal, beside, v ? left : nullptr, v ? right : nullptr, more);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool negative = diagonal[i] < T(0);
      beside[i] = negative ? diagonal[i] : -diagonal[i];
      for (std::int64_t j = 0; j < n && negative && v; ++j) right[i * n + j] = -right[i * n + j];
    }
    const std::vector<std::int64_t> order = ascending(beside, n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = -beside[order[static_cast<std::size_t>(i)]] * scale;
    if (!v) return state;
    copy_rows(left, order, n, u, m);
    copy_rows(right, order, n, v, n);
    std::copy_n(v, n * n, right);
  }
  turn_matrix<T>(right, n, n, n, v, n);
  if (!tall) return state;
  for (std::int64_t k = 0; k < count; ++k) std::fill(u + k * m + (k < n ? n : 0), u + (k + 1) * m, T(0));
  for (std::int64_t k = n; k < count; ++k) u[k * m + k] = 1;
  apply_q(products, a, m, n, 0, factors, u, count, more);
  return state;
}

#define TEGULA_SYMMETRIC(T)                                                                \
  template std::int32_t symmetric_eigen(const Products<T>&, T*, std::int64_t, T*, T*, T*); \
  template std::int32_t singular_values(const Products<T>&, T*, std::int64_t, std::int64_t, T*, std::int64_t, T*, T*, T*);
TEGULA_SYMMETRIC(float)
TEGULA_SYMMETRIC(double)
#undef TEGULA_SYMMETRIC

}  // namespace tegula::host
