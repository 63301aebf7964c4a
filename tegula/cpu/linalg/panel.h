#pragma once
// The smallest blocks of factors, a register of numbers at a time: what recursion comes down to (blocks.cpp).

#include <cstdint>

namespace tegula::host {

inline constexpr std::int64_t kPanel = 16;  // columns of an LU that are factored at once
inline constexpr std::int64_t kTriangle = 16;  // rows of a triangle whose system is solved at once

/// The distance of a panel's columns, of this number of rows: whole registers, and one more line of the cache, so that columns do not share their places in it.
template <class T>
constexpr std::int64_t panel_apart(std::int64_t rows) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  return (rows + kLine - 1) / kLine * kLine + kLine;
}

/// P A = L U in place, A (m, n) by columns, panel_apart(m) from one to the next, n <= kPanel; `a` is aligned to 64 bytes. Memory between the columns is
/// changed.
/// pivots (min(m, n)): in step i row i changes places with row pivots[i], whose number is the greatest, the first of equals (LAPACK's rule).
void factor_panel(float* a, std::int64_t m, std::int64_t n, std::int64_t* pivots);
void factor_panel(double* a, std::int64_t m, std::int64_t n, std::int64_t* pivots);

/// A = L Lᵀ in place, A (m, n) the first columns of a symmetric matrix, of which what is on and below the diagonal is read; they lie as above. Returns 0, or the order of the first
/// leading block that is not positive definite.
std::int32_t factor_symmetric_panel(float* a, std::int64_t m, std::int64_t n);
std::int32_t factor_symmetric_panel(double* a, std::int64_t m, std::int64_t n);

/// T X = B in place: X (n, right) by rows, `apart` from one to the next, n <= kTriangle; T the upper or lower triangle of t, whose element (i, j) is
/// t[i * row + j * column], with ones on its diagonal or what is stored.
template <class T>
struct SmallTriangle {
  const T* t;
  std::int64_t row, column, n;
  bool upper, ones;
};
void solve_triangle(const SmallTriangle<float>& triangle, float* x, std::int64_t apart, std::int64_t right);
void solve_triangle(const SmallTriangle<double>& triangle, double* x, std::int64_t apart, std::int64_t right);

}  // namespace tegula::host
