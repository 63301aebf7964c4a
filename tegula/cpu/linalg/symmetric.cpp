// Eigenvalues of symmetric matrices, and singular values, by plain loops.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tegula/cpu/linalg/reflector.h"
#include "tegula/cpu/linalg/spectra.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

/// Divides by the greatest size, so that squares neither overflow nor vanish; returns what the values are to be multiplied by.
template <class T>
T scale_down(T* a, std::int64_t count) {
  T most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(a[i]));
  if (!(most > T(0))) return 1;
  for (std::int64_t i = 0; i < count; ++i) a[i] /= most;
  return most;
}

constexpr int kMostTurns = 80;  // of an iteration that mostly needs two, or ten

template <class T>
TEGULA_WIDE T product(const T* x, const T* y, std::int64_t length) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < length; ++i) sum += x[i] * y[i];
  return sum;
}

/// to -= left * w + right * row.
template <class T>
TEGULA_WIDE void subtract_two(T* to, T left, const T* w, T right, const T* row, std::int64_t length) {
#pragma omp simd
  for (std::int64_t j = 0; j < length; ++j) to[j] -= left * w[j] + right * row[j];
}

/// Three diagonals of a full symmetric matrix: reflectors stay in the rows behind them, as form_q wants them with a shift of 1.
template <class T>
void to_three_diagonals(const Products<T>& products, T* a, std::int64_t n, T* diagonal, T* beside, T* factors, T* w) {
  constexpr std::int64_t kAlone = 256;  // rows that one thread does sooner by itself
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    T* const row = a + k * n + k + 1;
    const std::int64_t rest = n - k - 1;
    const T tau = factors[k] = make_reflector(row, rest);
    diagonal[k] = a[k * n + k], beside[k] = row[0];
    if (tau == T(0)) continue;
    const T kept = std::exchange(row[0], T(1));
    const auto line = [&](std::int64_t i) { return a + (k + 1 + i) * n + k + 1; };
    const int threads = rest < kAlone ? 1 : products.threads();
    parallel(threads, [&](int part, int parts) {
      const Range mine = share(rest, part, parts);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) w[i] = tau * product(line(i), row, rest);
    });
    const T half = tau / 2 * product(w, row, rest);
    for (std::int64_t i = 0; i < rest; ++i) w[i] -= half * row[i];
    parallel(threads, [&](int part, int parts) {
      const Range mine = share(rest, part, parts);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) subtract_two(line(i), row[i], w, w[i], row, rest);
    });
    row[0] = kept;
  }
  if (n > 0) diagonal[n - 1] = a[n * n - 1], beside[n - 1] = 0;
}

/// d: the diagonal becomes the eigenvalues; e: what stands beside it. Rows of `vectors` follow.
template <class T>
std::int32_t ql(std::int64_t n, T* d, T* e, T* vectors) {
  const T eps = std::numeric_limits<T>::epsilon();
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
        r = std::hypot(p, e[i]);
        e[i + 1] = s * r;
        s = e[i] / r, c = p / r;
        p = c * d[i] - s * g;
        d[i + 1] = h + s * (c * g + s * d[i]);
        if (vectors) rotate(vectors + i * n, vectors + (i + 1) * n, n, c, s);
      }
      p = -s * s2 * c3 * beside * e[l] / next;
      e[l] = s * p, d[l] = c * p;
      if (!(std::abs(e[l]) > eps * most)) break;
    }
    d[l] += shift, e[l] = 0;
  }
  return 0;
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

/// Rows [have, count) of u (count, m): of length 1, and orthogonal to all before them.
template <class T>
void complete(T* u, std::int64_t have, std::int64_t count, std::int64_t m) {
  std::int64_t axis = 0;
  for (std::int64_t i = have; i < count; ++i) {
    T* const row = u + i * m;
    for (bool found = false; !found && axis < m; ++axis) {
      std::fill_n(row, m, T(0));
      row[axis] = 1;
      for (int again = 0; again < 2; ++again)
        for (std::int64_t j = 0; j < i; ++j) {
          const T along = product(row, u + j * m, m);
          for (std::int64_t c = 0; c < m; ++c) row[c] -= along * u[j * m + c];
        }
      const T length = std::sqrt(product(row, row, m));
      // Of the axes that are left one keeps at least this much: their squares add up to the number of vectors that are missing.
      found = length * length * static_cast<T>(4 * m) > T(count - i);
      for (std::int64_t c = 0; found && c < m; ++c) row[c] /= length;
    }
  }
}

}  // namespace

template <class T>
std::int32_t symmetric_eigen(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* work) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
  const T scale = scale_down(a, n * n);
  T *const diagonal = work, *const beside = work + n, *const factors = work + 2 * n, *const w = work + 3 * n, *const found = work + 4 * n;
  to_three_diagonals(products, a, n, diagonal, beside, factors, w);
  if (vectors) form_q(products, a, n, std::max<std::int64_t>(n - 1, 0), 1, factors, found, n, found + n * n);
  const std::int32_t state = ql(n, diagonal, beside, vectors ? found : nullptr);
  const std::vector<std::int64_t> order = ascending(diagonal, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = order[static_cast<std::size_t>(i)];
    values[i] = diagonal[from] * scale;
    if (vectors) std::copy_n(found + from * n, n, vectors + i * n);
  }
  return state;
}

template <class T>
std::int32_t singular_values(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* u, std::int64_t count, T* values, T* v,
                             T* work) {
  T *const w = work, *const right = w + n * n, *const left = right + n * n, *const factors = left + n * n, *const q = factors + 2 * n,
           *const more = q + m * n;
  const T scale = scale_down(a, m * n);
  const bool tall = m > n;
  if (tall) factor_qr(products, a, m, n, factors, more);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) w[j * n + i] = tall && i > j ? T(0) : a[j * m + i];
  std::fill_n(right, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) right[i * n + i] = 1;
  const T eps = std::numeric_limits<T>::epsilon(), small = eps * std::sqrt(static_cast<T>(n));  // of a product of n terms
  const T noise = eps * static_cast<T>(n) * eps * static_cast<T>(n);  // the greatest value is 1 at least: what is below has no direction
  std::int32_t state = 1;
  for (int turn = 0; turn < kMostTurns && state != 0; ++turn) {
    state = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) {
        T *const x = w + i * n, *const y = w + j * n;
        const T xx = product(x, x, n), yy = product(y, y, n), xy = product(x, y, n);
        if (!(std::abs(xy) > small * std::sqrt(xx) * std::sqrt(yy)) || xx <= noise || yy <= noise) continue;
        state = 1;
        const T zeta = (yy - xx) / (2 * xy), t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::hypot(T(1), zeta));
        const T c = 1 / std::hypot(T(1), t), s = c * t;
        rotate(x, y, n, c, s);
        if (v) rotate(right + i * n, right + j * n, n, c, s);
      }
  }
  for (std::int64_t i = 0; i < n; ++i) factors[n + i] = -std::sqrt(product(w + i * n, w + i * n, n));  // of tall matrices `factors` holds τ
  const std::vector<std::int64_t> order = ascending(factors + n, n);
  std::int64_t rank = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = order[static_cast<std::size_t>(i)];
    const T value = -factors[n + from];
    values[i] = value * scale;
    if (!v) continue;
    for (std::int64_t j = 0; j < n; ++j) v[j * n + i] = right[from * n + j];
    if (!(value > eps * static_cast<T>(n) * -factors[n + order[0]])) continue;  // rounding errors have no direction
    rank = i + 1;
    for (std::int64_t j = 0; j < n; ++j) left[i * n + j] = w[from * n + j] / value;
  }
  if (!v) return state;
  if (tall) {
    form_q(products, a, m, n, 0, factors, q, n, more);
    products.assign(rank, m, n, {left, n, 1}, {q, m, 1}, {u, m, 1});
  } else {
    std::copy_n(left, rank * n, u);
  }
  complete(u, rank, count, m);
  return state;
}

#define TEGULA_SYMMETRIC(T)                                                                \
  template std::int32_t symmetric_eigen(const Products<T>&, T*, std::int64_t, T*, T*, T*); \
  template std::int32_t singular_values(const Products<T>&, T*, std::int64_t, std::int64_t, T*, std::int64_t, T*, T*, T*);
TEGULA_SYMMETRIC(float)
TEGULA_SYMMETRIC(double)
#undef TEGULA_SYMMETRIC

}  // namespace tegula::host
