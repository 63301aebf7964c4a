#pragma once
// One Householder reflector: H = I - τ v vᵀ, v[0] = 1.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tegula/cpu/wide.h"

namespace tegula::host {

/// H with H x = (β, 0, …): x becomes β and the tail of v. Returns τ; 0 where x is zero behind its first element.
template <class T>
TEGULA_WIDE T make_reflector(T* x, std::int64_t length) {
  T most = 0, sum = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 1; i < length; ++i) most = std::max(most, std::abs(x[i]));
  if (length < 2 || most == T(0)) return 0;
  const T first = x[0], greatest = std::max(most, std::abs(first));
  // Within these bounds neither squares nor reciprocals overflow or vanish.
  constexpr T kLeast = std::numeric_limits<T>::min() * 8 / std::numeric_limits<T>::epsilon();
  const bool plain = most * most > kLeast && greatest * greatest < std::numeric_limits<T>::max() / T(1 << 30);
  const T unit = plain ? T(1) : most;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 1; i < length; ++i) sum += (x[i] / unit) * (x[i] / unit);
  const T norm = plain ? std::sqrt(first * first + sum) : std::hypot(first, most * std::sqrt(sum)), beta = first > T(0) ? -norm : norm;
  const T divisor = first - beta, factor = plain ? 1 / divisor : T(1);
#pragma omp simd
  for (std::int64_t i = 1; i < length; ++i) x[i] *= factor;
  for (std::int64_t i = 1; i < length && !plain; ++i) x[i] /= divisor;
  x[0] = beta;
  return (beta - first) / beta;
}

/// y = H y; of v the first element is not read.
template <class T>
TEGULA_WIDE void reflect(const T* v, T tau, T* y, std::int64_t length) {
  T sum = y[0];
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 1; i < length; ++i) sum += v[i] * y[i];
  sum *= tau;
  y[0] -= sum;
#pragma omp simd
  for (std::int64_t i = 1; i < length; ++i) y[i] -= sum * v[i];
}

/// Four lines y, `apart` from one to the next: each H y.
template <class T>
TEGULA_WIDE void reflect_four(const T* v, T tau, T* y, std::int64_t apart, std::int64_t length) {
  T *const y0 = y, *const y1 = y0 + apart, *const y2 = y1 + apart, *const y3 = y2 + apart;
  T s0 = y0[0], s1 = y1[0], s2 = y2[0], s3 = y3[0];
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::int64_t i = 1; i < length; ++i) s0 += v[i] * y0[i], s1 += v[i] * y1[i], s2 += v[i] * y2[i], s3 += v[i] * y3[i];
  s0 *= tau, s1 *= tau, s2 *= tau, s3 *= tau;
  y0[0] -= s0, y1[0] -= s1, y2[0] -= s2, y3[0] -= s3;
#pragma omp simd
  for (std::int64_t i = 1; i < length; ++i) y0[i] -= s0 * v[i], y1[i] -= s1 * v[i], y2[i] -= s2 * v[i], y3[i] -= s3 * v[i];
}

/// `count` of them.
template <class T>
void reflect_lines(const T* v, T tau, T* y, std::int64_t apart, std::int64_t count, std::int64_t length) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) reflect_four(v, tau, y + i * apart, apart, length);
  for (; i < count; ++i) reflect(v, tau, y + i * apart, length);
}

/// x (length) and y become c x - s y and s x + c y.
template <class T>
TEGULA_WIDE void rotate(T* x, T* y, std::int64_t length, T c, T s) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) {
    const T left = x[i], right = y[i];
    x[i] = c * left - s * right;
    y[i] = s * left + c * right;
  }
}

}  // namespace tegula::host
