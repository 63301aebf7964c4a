#include "tegula/cpu/linalg/reduce.h"

#include <algorithm>
#include <utility>

#include "tegula/cpu/linalg/reflector.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

constexpr std::int64_t kColumns = 32;  // of a block at most
constexpr std::int64_t kRows = 4;  // of the matrix that are read at once
constexpr int kMostPieces = 8;

std::int64_t columns_of(std::int64_t n) { return n < 160 ? kColumns / 4 : kColumns; }

/// The number of pieces that a product of n x n numbers and a vector is cut into, on any number of threads.
int pieces_of(std::int64_t n) { return n < 192 ? 1 : n < 768 ? 2 : kMostPieces; }

/// Threads are woken for products of at least so many numbers: of fewer they would come too late.
constexpr std::int64_t kShared = 200'000;
int threads_for(int threads, std::int64_t numbers) { return numbers < kShared ? 1 : threads; }

template <class T>
TEGULA_WIDE T product(const T* x, const T* y, std::int64_t length) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < length; ++i) sum += x[i] * y[i];
  return sum;
}

/// to -= left * x + right * y.
template <class T>
TEGULA_WIDE void subtract_two(T* to, T left, const T* x, T right, const T* y, std::int64_t length) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) to[i] -= left * x[i] + right * y[i];
}

/// to += factor * x.
template <class T>
TEGULA_WIDE void add(T* to, T factor, const T* x, std::int64_t length) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) to[i] += factor * x[i];
}

template <class T>
TEGULA_WIDE void scale(T* x, T factor, std::int64_t length) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) x[i] *= factor;
}

/// kRows lines of a symmetric matrix: sums[r] += line r · x, and y += the lines times factors.
template <class T>
TEGULA_WIDE void both_ways(const T* a, std::int64_t apart, const T* factors, const T* x, T* y, T* sums, std::int64_t length) {
  const T *const a0 = a, *const a1 = a + apart, *const a2 = a1 + apart, *const a3 = a2 + apart;
  const T f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::int64_t j = 0; j < length; ++j) {
    const T at = x[j];
    s0 += a0[j] * at, s1 += a1[j] * at, s2 += a2[j] * at, s3 += a3[j] * at;
    y[j] += (a0[j] * f0 + a1[j] * f1) + (a2[j] * f2 + a3[j] * f3);
  }
  sums[0] += s0, sums[1] += s1, sums[2] += s2, sums[3] += s3;
}

/// y = A x, A (n, n) symmetric, by rows, of which what is on and behind the diagonal is read. sums: kMostPieces * n.
template <class T>
void symmetric_product(int threads, const T* a, std::int64_t apart, std::int64_t n, const T* x, T* y, T* sums) {
  const int pieces = pieces_of(n);
  by_pieces(threads_for(threads, n * n / 2), pieces, [&](std::int64_t piece, int all, int) {
    T* const own = sums + piece * n;
    std::fill_n(own, n, T(0));
    for (std::int64_t i = piece * kRows; i < n; i += all * kRows) {
      const std::int64_t rows = std::min(kRows, n - i);
      for (std::int64_t r = i; r < i + rows; ++r) {
        own[r] += a[r * apart + r] * x[r];
        for (std::int64_t j = r + 1; j < i + rows; ++j) own[r] += a[r * apart + j] * x[j], own[j] += a[r * apart + j] * x[r];
      }
      if (rows == kRows) both_ways(a + i * apart + i + rows, apart, x + i, x + i + rows, own + i + rows, own + i, n - i - rows);
    }
  });
  std::copy_n(sums, n, y);
  for (int piece = 1; piece < pieces; ++piece) add(y, T(1), sums + piece * n, n);
}

/// kRows lines: sums[r] = line r · x.
template <class T>
TEGULA_WIDE void along(const T* a, std::int64_t apart, const T* x, T* sums, std::int64_t length) {
  const T *const a0 = a, *const a1 = a + apart, *const a2 = a1 + apart, *const a3 = a2 + apart;
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::int64_t j = 0; j < length; ++j) s0 += a0[j] * x[j], s1 += a1[j] * x[j], s2 += a2[j] * x[j], s3 += a3[j] * x[j];
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

/// y += kRows lines times factors.
template <class T>
TEGULA_WIDE void across(const T* a, std::int64_t apart, const T* factors, T* y, std::int64_t length) {
  const T *const a0 = a, *const a1 = a + apart, *const a2 = a1 + apart, *const a3 = a2 + apart;
  const T f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
#pragma omp simd
  for (std::int64_t j = 0; j < length; ++j) y[j] += (a0[j] * f0 + a1[j] * f1) + (a2[j] * f2 + a3[j] * f3);
}

/// y (rows) = each of the lines · x (length).
template <class T>
void product_along(int threads, const T* a, std::int64_t apart, std::int64_t rows, std::int64_t length, const T* x, T* y) {
  by_pieces(threads_for(threads, rows * length), pieces_of(length), [&](std::int64_t piece, int all, int) {
    const Range range = share((rows + kRows - 1) / kRows, piece, all);
    const std::int64_t end = std::min(range.end * kRows, rows);
    std::int64_t i = range.begin * kRows;
    for (; i + kRows <= end; i += kRows) along(a + i * apart, apart, x, y + i, length);
    for (; i < end; ++i) y[i] = product(a + i * apart, x, length);
  });
}

/// y (length) = the sum of the lines, line i times x[i].
template <class T>
void product_across(int threads, const T* a, std::int64_t apart, std::int64_t rows, std::int64_t length, const T* x, T* y) {
  constexpr std::int64_t kUnit = 16;
  by_pieces(threads_for(threads, rows * length), pieces_of(length), [&](std::int64_t piece, int all, int) {
    const Range range = share((length + kUnit - 1) / kUnit, piece, all);
    const std::int64_t begin = range.begin * kUnit, count = std::min(range.end * kUnit, length) - begin;
    if (count <= 0) return;
    std::fill_n(y + begin, count, T(0));
    std::int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) across(a + i * apart + begin, apart, x + i, y + begin, count);
    for (; i < rows; ++i) add(y + begin, x[i], a + i * apart + begin, count);
  });
}

/// C - A B, on and behind the diagonal of C (n, n).
template <class T>
void subtract_upper(const Products<T>& products, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) {
  constexpr std::int64_t kWhole = 256;
  if (n <= kWhole) return products.subtract(n, n, k, a, b, c);
  const std::int64_t half = n / 2 / 16 * 16;
  subtract_upper(products, half, k, a, b, c);
  products.subtract(half, n - half, k, a, b.from(0, half), c.from(0, half));
  subtract_upper(products, n - half, k, a.from(half, 0), b.from(0, half), c.from(half, half));
}

}  // namespace

std::int64_t reduce_work(std::int64_t n) { return (4 * kColumns + kMostPieces) * n; }

template <class T>
void to_three_diagonals(const Products<T>& products, T* a, std::int64_t n, T* diagonal, T* beside, T* factors, T* work) {
  // A, less the block's columns so far, is A - Vᵀ W - Wᵀ V; rows of V are reflectors.
  const std::int64_t columns = columns_of(n);
  T *const v = work, *const w = v + columns * n, *const turned = w + columns * n, *const sums = turned + 2 * columns * n;
  for (std::int64_t first = 0; first + 1 < n; first += columns) {
    const std::int64_t last = std::min(first + columns, n - 1);
    for (std::int64_t c = first; c < last; ++c) {
      T* const row = a + c * n;
      const std::int64_t next = c + 1, rest = n - next, done = c - first;
      for (std::int64_t p = 0; p < done; ++p) subtract_two(row + c, v[p * n + c], w + p * n + c, w[p * n + c], v + p * n + c, n - c);
      const T tau = factors[c] = make_reflector(row + next, rest);
      diagonal[c] = row[c], beside[c] = row[next];
      T *const own_v = v + done * n, *const own_w = w + done * n;
      if (tau == T(0)) {
        std::fill_n(own_v, n, T(0));
        std::fill_n(own_w, n, T(0));
        continue;
      }
      own_v[next] = 1;
      std::copy_n(row + next + 1, rest - 1, own_v + next + 1);
      symmetric_product(products.threads(), a + next * n + next, n, rest, own_v + next, own_w + next, sums);
      for (std::int64_t p = 0; p < done; ++p) {
        const T *const other_v = v + p * n + next, *const other_w = w + p * n + next;
        subtract_two(own_w + next, product(other_w, own_v + next, rest), other_v, product(other_v, own_v + next, rest), other_w, rest);
      }
      scale(own_w + next, tau, rest);
      add(own_w + next, -tau / 2 * product(own_w + next, own_v + next, rest), own_v + next, rest);
    }
    const std::int64_t count = last - first;
    std::copy_n(w, count * n, turned);
    std::copy_n(v, count * n, turned + count * n);
    if (count < columns) std::copy_n(w, count * n, v + count * n);
    const Strided<const T> left{v, n, 1}, right{turned, n, 1};
    subtract_upper(products, n - last, 2 * count, left.from(0, last).transposed(), right.from(0, last),
                   Strided<T>{a, n, 1}.from(last, last));
  }
  if (n > 0) diagonal[n - 1] = a[n * n - 1], beside[n - 1] = 0, factors[n - 1] = 0;
}

template <class T>
void to_two_diagonals(const Products<T>& products, T* a, std::int64_t n, T* right, T* diagonal, T* beside, T* left_factors,
                      T* right_factors, T* work) {
  // A, less the block's columns and rows so far, is A - U Yᵀ - X Vᵀ; rows of memory are columns of A.
  const std::int64_t columns = columns_of(n);
  T *const y = work, *const v = y + columns * n, *const u = v + columns * n, *const x = u + columns * n;
  for (std::int64_t first = 0; first < n; first += columns) {
    const std::int64_t last = std::min(first + columns, n);
    for (std::int64_t c = first; c < last; ++c) {
      T* const column = a + c * n;
      const std::int64_t next = c + 1, rest = n - next, done = c - first;
      for (std::int64_t p = 0; p < done; ++p) subtract_two(column + c, y[p * n + c], u + p * n + c, v[p * n + c], x + p * n + c, n - c);
      const T tau = left_factors[c] = make_reflector(column + c, n - c);
      diagonal[c] = column[c];
      T *const own_y = y + done * n, *const own_v = v + done * n, *const own_u = u + done * n, *const own_x = x + done * n;
      own_u[c] = 1;
      std::copy_n(column + next, rest, own_u + next);
      if (tau == T(0)) {
        std::fill_n(own_y, n, T(0));
      } else {
        product_along(products.threads(), a + next * n + c, n, rest, n - c, own_u + c, own_y + next);
        for (std::int64_t p = 0; p < done; ++p)
          subtract_two(own_y + next, product(u + p * n + c, own_u + c, n - c), y + p * n + next, product(x + p * n + c, own_u + c, n - c),
                       v + p * n + next, rest);
        scale(own_y + next, tau, rest);
      }
      beside[c] = right_factors[c] = 0;
      if (rest == 0) continue;
      T* const row = right + c * n;
      for (std::int64_t j = next; j < n; ++j) row[j] = a[j * n + c];
      for (std::int64_t p = 0; p < done; ++p)
        subtract_two(row + next, u[p * n + c], y + p * n + next, x[p * n + c], v + p * n + next, rest);
      add(row + next, T(-1), own_y + next, rest);
      const T other = right_factors[c] = make_reflector(row + next, rest);
      beside[c] = row[next];
      own_v[next] = 1;
      std::copy_n(row + next + 1, rest - 1, own_v + next + 1);
      if (other == T(0)) {
        std::fill_n(own_x, n, T(0));
        continue;
      }
      product_across(products.threads(), a + next * n + next, n, rest, rest, own_v + next, own_x + next);
      for (std::int64_t p = 0; p < done; ++p)
        subtract_two(own_x + next, product(y + p * n + next, own_v + next, rest), u + p * n + next,
                     product(v + p * n + next, own_v + next, rest), x + p * n + next, rest);
      add(own_x + next, -product(own_y + next, own_v + next, rest), own_u + next, rest);
      scale(own_x + next, other, rest);
    }
    if (last == n) break;
    const Strided<const T> left{y, n, 1}, other{u, n, 1};
    products.subtract(n - last, n - last, 2 * columns, left.from(0, last).transposed(), other.from(0, last),
                      Strided<T>{a, n, 1}.from(last, last));
  }
}

#define TEGULA_REDUCE(T)                                                                  \
  template void to_three_diagonals(const Products<T>&, T*, std::int64_t, T*, T*, T*, T*); \
  template void to_two_diagonals(const Products<T>&, T*, std::int64_t, T*, T*, T*, T*, T*, T*);
TEGULA_REDUCE(float)
TEGULA_REDUCE(double)
#undef TEGULA_REDUCE

}  // namespace tegula::host
