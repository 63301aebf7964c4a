#pragma once
// One Householder reflector: H = I - τ v vᵀ, v[0] = 1.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tegula/cpu/wide.h"

namespace tegula::host {

/// H with H x = (β, 0, …): x becomes β and the tail of v. Returns τ; 0 where x is zero behind its first element.
template <class T>
TEGULA_WIDE T make_reflector(T* x, std::int64_t length) {
  T most = 0, sum = 0;
  for (std::int64_t i = 1; i < length; ++i) most = std::max(most, std::abs(x[i]));
  if (length < 2 || most == T(0)) return 0;
  for (std::int64_t i = 1; i < length; ++i) sum += (x[i] / most) * (x[i] / most);
  const T first = x[0], norm = std::hypot(first, most * std::sqrt(sum)), beta = first > T(0) ? -norm : norm;
  const T divisor = first - beta;
  for (std::int64_t i = 1; i < length; ++i) x[i] /= divisor;
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
