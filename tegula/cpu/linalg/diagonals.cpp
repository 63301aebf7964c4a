#include "tegula/cpu/linalg/diagonals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tegula/cpu/linalg/reflector.h"

namespace tegula::host {
namespace {

constexpr int kMostTurns = 80;  // of an iteration that mostly needs two

/// √(a² + b²) of numbers that do not overflow.
template <class T>
T length_of(T a, T b) {
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  const T sum = a * a + b * b;
  return sum > kLeast ? std::sqrt(sum) : std::hypot(a, b);
}

/// The cosine and sine of a rotation that makes (f, g) (length, 0).
template <class T>
struct Turn {
  T length, c = 1, s = 0;
  Turn(T f, T g) : length(length_of(f, g)) {
    if (length > T(0)) c = f / length, s = g / length;
  }
};

/// Upper bidiagonal values between `first` and `last`, none of which is 0, with a shift.
template <class T>
void sweep(T* d, T* e, std::int64_t first, std::int64_t last, T* right_c, T* right_s, T* left_c, T* left_s) {
  const T most = std::max({std::abs(d[last]), std::abs(d[last - 1]), std::abs(e[last - 1]), std::abs(d[first]), std::abs(e[first])});
  const T end = d[last] / most, before = d[last - 1] / most, beside = e[last - 1] / most, begin = d[first] / most;
  const T b = ((before + end) * (before - end) + beside * beside) / 2, c = end * beside * (end * beside);
  T shift = 0;
  if (b != T(0) || c != T(0)) {
    const T root = std::sqrt(b * b + c);
    shift = c / (b + (b < T(0) ? -root : root));
  }
  T f = (begin + end) * (begin - end) + shift, g = begin * (e[first] / most);
  for (std::int64_t j = first; j < last; ++j) {
    const Turn<T> right(f, g);
    if (j != first) e[j - 1] = right.length;
    f = right.c * d[j] + right.s * e[j], e[j] = right.c * e[j] - right.s * d[j];
    g = right.s * d[j + 1], d[j + 1] = right.c * d[j + 1];
    right_c[j - first] = right.c, right_s[j - first] = right.s;
    const Turn<T> left(f, g);
    d[j] = left.length;
    f = left.c * e[j] + left.s * d[j + 1], d[j + 1] = left.c * d[j + 1] - left.s * e[j];
    if (j + 1 < last) g = left.s * e[j + 1], e[j + 1] = left.c * e[j + 1];
    left_c[j - first] = left.c, left_s[j - first] = left.s;
  }
  e[last - 1] = f;
}

}  // namespace

template <class T>
std::int32_t three_diagonals(std::int64_t n, T* d, T* e, T* vectors, T* work) {
  const T eps = std::numeric_limits<T>::epsilon();
  T *const cosines = work, *const sines = work + n;
  T shift = 0, most = 0;
  for (std::int64_t l = 0; l < n; ++l) {
    most = std::max(most, std::abs(d[l]) + std::abs(e[l]));
    std::int64_t m = l;
    while (m + 1 < n && !(std::abs(e[m]) <= eps * most)) ++m;
    for (int turn = 0; m > l; ++turn) {
      if (turn == kMostTurns) return static_cast<std::int32_t>(l + 1);
      T g = d[l], p = (d[l + 1] - g) / (2 * e[l]), r = std::hypot(p, T(1));
      if (p < 0) r = -r;
      d[l] = e[l] / (p + r);
      d[l + 1] = e[l] * (p + r);
      const T next = d[l + 1];
      T h = g - d[l];
      for (std::int64_t i = l + 2; i < n; ++i) d[i] -= h;
      shift += h;
      p = d[m];
      T c = 1, c2 = 1, c3 = 1, s = 0, s2 = 0;
      const T beside = e[l + 1];
      for (std::int64_t i = m; i-- > l;) {
        c3 = c2, c2 = c, s2 = s;
        g = c * e[i], h = c * p;
        const Turn<T> one(p, e[i]);
        e[i + 1] = s * one.length;
        s = one.s, c = one.c;
        p = c * d[i] - s * g;
        d[i + 1] = h + s * (c * g + s * d[i]);
        cosines[m - 1 - i] = c, sines[m - 1 - i] = s;
      }
      if (vectors) rotate_in_turn(vectors + m * n, -n, cosines, sines, m - l, n);
      p = -s * s2 * c3 * beside * e[l] / next;
      e[l] = s * p, d[l] = c * p;
      if (!(std::abs(e[l]) > eps * most)) break;
    }
    d[l] += shift, e[l] = 0;
  }
  return 0;
}

template <class T>
std::int32_t two_diagonals(std::int64_t n, T* d, T* e, T* left, T* right, T* work) {
  const T eps = std::numeric_limits<T>::epsilon();
  T most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max({most, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : T(0)});
  int turn = 0;
  for (std::int64_t last = n - 1; last > 0;) {
    std::int64_t first = last;
    while (first > 0 && !(std::abs(e[first - 1]) <= eps * most)) --first;  // the reduction had such errors
    if (first > 0) e[first - 1] = 0;
    if (first == last) {
      --last, turn = 0;
      continue;
    }
    if (turn++ == kMostTurns) return static_cast<std::int32_t>(last + 1);
    std::int64_t zero = last;
    while (zero >= first && !(std::abs(d[zero]) <= eps * eps * most)) --zero;
    if (zero == last) {  // the last column becomes 0
      T f = std::exchange(e[last - 1], T(0));
      d[last] = 0;
      for (std::int64_t j = last; j-- > first;) {
        const Turn<T> one(d[j], f);
        d[j] = one.length;
        if (j > first) f = -one.s * e[j - 1], e[j - 1] = one.c * e[j - 1];
        if (right) rotate(right + j * n, right + last * n, n, one.c, -one.s);
      }
    } else if (zero >= first) {  // its row becomes 0
      T f = std::exchange(e[zero], T(0));
      d[zero] = 0;
      for (std::int64_t j = zero + 1; j <= last; ++j) {
        const Turn<T> one(d[j], f);
        d[j] = one.length;
        if (j < last) f = -one.s * e[j], e[j] = one.c * e[j];
        if (left) rotate(left + j * n, left + zero * n, n, one.c, -one.s);
      }
    } else {
      sweep(d, e, first, last, work, work + n, work + 2 * n, work + 3 * n);
      if (!right) continue;
      rotate_in_turn(right + first * n, n, work, work + n, last - first, n);
      rotate_in_turn(left + first * n, n, work + 2 * n, work + 3 * n, last - first, n);
    }
  }
  return 0;
}

#define TEGULA_DIAGONALS(T)                                            \
  template std::int32_t three_diagonals(std::int64_t, T*, T*, T*, T*); \
  template std::int32_t two_diagonals(std::int64_t, T*, T*, T*, T*, T*);
TEGULA_DIAGONALS(float)
TEGULA_DIAGONALS(double)
#undef TEGULA_DIAGONALS

}  // namespace tegula::host
