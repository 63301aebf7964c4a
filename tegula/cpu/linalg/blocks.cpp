// LU, Cholesky and triangular systems: recursion puts nearly all of the work into products (Toledo, 1997), which a fast BLAS computes where there is one. No size that is
// asked of it depends on the number of threads: so the bits do not.

#include "tegula/cpu/linalg/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tegula/cpu/fourier/side_by_side.h"
#include "tegula/cpu/linalg/lapack.h"
#include "tegula/cpu/linalg/panel.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

constexpr std::int64_t kSmall = 32;  // of a triangle that is solved or factored by plain loops
constexpr std::int64_t kCompact = 64;  // columns of an LU that are copied to where they lie close to each other

/// The number of pieces that work is cut into, which threads then share: as many on any number of threads, because a library sums pieces of other sizes in
/// other orders.
int pieces_of(double operations) { return operations < 4e6 ? 1 : operations < 1e8 ? 2 : operations < 1e9 ? 4 : 8; }

constexpr std::int64_t kLibraryTriangle = 256, kLibraryCholesky = 256;  // the same where a fast library computes them
constexpr std::int64_t kOwnCholesky = 128;  // up to which panels of our own are faster than a library
constexpr std::int64_t kMostLibrary = std::numeric_limits<int>::max();

/// Numbers whose reciprocals the library may form. Not NaN.
template <class T>
bool has_reciprocal(T x) {
  constexpr T kLeast = 8 * std::numeric_limits<T>::min(), kMost = T(1) / kLeast;
  return std::abs(x) >= kLeast && std::abs(x) <= kMost;
}

/// A triangle, of which one stride is 1, and the library's word for it: by columns a matrix by rows is its transpose.
template <class T>
struct Triangle {
  const T* data;
  int stride;
  bool by_rows;
  /// False where the library would not take it, or not as exactly.
  static bool suits(Strided<const T> t, Diagonal diagonal, std::int64_t n) {
    if ((t.row != 1 && t.column != 1) || std::max(t.row, t.column) >= kMostLibrary) return false;
    for (std::int64_t i = 0; i < n && diagonal == Diagonal::Stored; ++i)
      if (!has_reciprocal(t(i, i))) return false;
    return true;
  }
  explicit Triangle(Strided<const T> t) : data(t.data), stride(static_cast<int>(std::max(t.row, t.column))), by_rows(t.column == 1) {}
};

/// X (m, n), with contiguous rows: X T = B in place, T the upper triangle of t, by trsm.
template <class T>
bool solved_by_library(Strided<const T> t, Diagonal diagonal, std::int64_t m, std::int64_t n, Strided<T> x) {
  const LapackFunctions<T>* const f = fast_lapack<T>();
  if (!f || n > kLibraryTriangle || m >= kMostLibrary || x.row >= kMostLibrary || !Triangle<T>::suits(t, diagonal, n)) return false;
  const Triangle<T> triangle(t);
  // By columns X is its transpose, to which Tᵀ is applied from the left.
  const char *const stored = triangle.by_rows ? "L" : "U", *const turned = triangle.by_rows ? "N" : "T";
  const T one = 1;
  const int order = static_cast<int>(n), others = static_cast<int>(m), stride = static_cast<int>(x.row);
  f->trsm("L", stored, turned, diagonal == Diagonal::Ones ? "U" : "N", &order, &others, &one, triangle.data, &triangle.stride, x.data,
          &stride, 1, 1, 1, 1);
  return true;
}

template <class T>
TEGULA_WIDE void subtract_line(T* to, const T* line, T factor, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] -= factor * line[i];
}

template <class T>
TEGULA_WIDE void swap_lines(T* one, T* other, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T kept = one[i];
    one[i] = other[i], other[i] = kept;
  }
}

/// The size of the first half of n > kPanel, a multiple of kPanel.
std::int64_t half_of(std::int64_t n) { return std::max(n / 2 / kPanel * kPanel, kPanel); }

/// Cuts the columns of X between the threads, each of which solves its own.
template <class T, class Solve>
void by_columns(const Products<T>& products, std::int64_t n, Strided<T> x, std::int64_t right, const Solve& solve) {
  constexpr std::int64_t kColumns = 16;  // no two threads write one cache line
  const double operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(right);
  const auto pieces = static_cast<int>(std::min<std::int64_t>(pieces_of(operations), right / (2 * kColumns)));
  if (pieces <= 1) return solve(products, x, right);
  by_pieces(products.threads(), pieces, [&](std::int64_t piece, int all, int part) {
    const Range range = share((right + kColumns - 1) / kColumns, piece, all);
    const std::int64_t first = range.begin * kColumns, last = std::min(range.end * kColumns, right);
    if (last > first) solve(products.of_part(part), x.from(0, first), last - first);
  });
}

template <class T>
void lower(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right) {
  if (n <= kTriangle)
    return solve_triangle({.t = t.data, .row = t.row, .column = t.column, .n = n, .upper = false, .ones = diagonal == Diagonal::Ones},
                          x.data, x.row, right);
  const std::int64_t half = half_of(n);
  lower(products, t, diagonal, half, x, right);
  products.subtract(n - half, right, half, t.from(half, 0), x, x.from(half, 0));
  lower(products, t.from(half, half), diagonal, n - half, x.from(half, 0), right);
}

template <class T>
void upper(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right) {
  if (n <= kTriangle)
    return solve_triangle({.t = t.data, .row = t.row, .column = t.column, .n = n, .upper = true, .ones = diagonal == Diagonal::Ones},
                          x.data, x.row, right);
  const std::int64_t half = half_of(n);
  upper(products, t.from(half, half), diagonal, n - half, x.from(half, 0), right);
  products.subtract(half, right, n - half, t.from(0, half), x.from(half, 0), x);
  upper(products, t, diagonal, half, x, right);
}

template <class T>
void behind(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t m, std::int64_t n, Strided<T> x) {
  if (solved_by_library(t, diagonal, m, n, x)) return;
  if (n <= kSmall) {
    std::array<T, kSmall * kSmall> block;  // contiguous, however t lies
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p; q < n; ++q) block[static_cast<std::size_t>(p * kSmall + q)] = t(p, q);
    for (std::int64_t i = 0; i < m; ++i) {
      T* const line = &x(i, 0);
      for (std::int64_t p = 0; p < n; ++p) {
        const T* const row = block.data() + p * kSmall;
        if (diagonal == Diagonal::Stored) line[p] /= row[p];
        subtract_line(line + p + 1, row + p + 1, line[p], n - p - 1);
      }
    }
    return;
  }
  const std::int64_t half = half_of(n);
  behind(products, t, diagonal, m, half, x);
  products.subtract(m, n - half, half, x, t.from(0, half), x.from(0, half));
  behind(products, t.from(half, half), diagonal, m, n - half, x.from(0, half));
}

/// P A = L U of a matrix by rows, whose products, triangles and exchanges of rows all go along them. Only its panels, of a few columns, are turned.
template <class T>
class LU {
 public:
  LU(const Products<T>& products, std::int64_t m, T* work)
      : products_(products),
        panel_(work),
        compact_(work + kPanel * panel_apart<T>(m)) {}

  /// The first n columns of A (m, at least n), m >= n; pivots are rows of A.
  void factor(Strided<T> a, std::int64_t m, std::int64_t n, std::int64_t* pivots) {
    if (n <= kPanel) return panel(a, m, n, pivots);
    if (n <= kCompact && a.row > 4 * kCompact) {  // rows that are far from each other share places in the caches
      const Strided<T> close{compact_, kCompact, 1};
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(&a(i, 0), n, &close(i, 0));
      factor(close, m, n, pivots);
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(&close(i, 0), n, &a(i, 0));
      return;
    }
    const std::int64_t half = half_of(n);
    factor(a, m, half, pivots);
    follow(a, m, half, pivots, n);
    factor(a.from(half, half), m - half, n - half, pivots + half);
    exchange(a.from(half, 0), half, pivots + half, n - half);
    for (std::int64_t i = half; i < n; ++i) pivots[i] += half;
  }
  /// Applies the factors of the first n columns to those behind them, up to `last`.
  void follow(Strided<T> a, std::int64_t m, std::int64_t n, const std::int64_t* pivots, std::int64_t last) {
    exchange(a.from(0, n), last - n, pivots, n);
    solve_lower(products_, Strided<const T>(a), Diagonal::Ones, n, a.from(0, n), last - n);
    products_.subtract(m - n, last - n, n, Strided<const T>(a.from(n, 0)), Strided<const T>(a.from(0, n)), a.from(n, n));
  }

 private:
  void panel(Strided<T> a, std::int64_t m, std::int64_t n, std::int64_t* pivots) {
    const std::int64_t apart = panel_apart<T>(m);
    turn_matrix(a.data, a.row, m, n, panel_, apart);
    factor_panel(panel_, m, n, pivots);
    turn_matrix<T>(panel_, apart, n, m, a.data, a.row);
  }
  /// Step by step row i of X (…, columns) changes places with row pivots[i].
  void exchange(Strided<T> x, std::int64_t columns, const std::int64_t* pivots, std::int64_t count) {
    constexpr double kShared = 8e4;  // numbers
    const bool large = static_cast<double>(count) * static_cast<double>(columns) > kShared;
    parallel(large ? products_.threads() : 1, [&](int part, int parts) {
      const Range mine = share(columns, part, parts);
      for (std::int64_t i = 0; i < count; ++i)
        if (pivots[i] != i) swap_lines(&x(i, mine.begin), &x(pivots[i], mine.begin), mine.end - mine.begin);
    });
  }

  const Products<T>& products_;
  T *panel_, *compact_;
};

/// The lower triangle of C - A Aᵀ.
template <class T>
void subtract_square(const Products<T>& products, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<T> c) {
  constexpr std::int64_t kWhole = 96;
  if (n <= kWhole) return products.subtract(n, n, k, a, a.transposed(), c);
  const std::int64_t half = half_of(n);
  subtract_square(products, half, k, a, c);
  products.subtract(n - half, half, k, a.from(half, 0), a.transposed(), c.from(half, 0));
  subtract_square(products, n - half, k, a.from(half, 0), c.from(half, half));
}

/// Factors by panels from left to right.
template <class T>
std::int32_t cholesky_by_panels(const Products<T>& products, Strided<T> a, std::int64_t n, T* work) {
  for (std::int64_t c = 0; c < n; c += kPanel) {
    const std::int64_t rows = n - c, columns = std::min(kPanel, rows), apart = panel_apart<T>(rows);
    const Strided<T> here = a.from(c, c), below = here.from(columns, 0);
    turn_matrix(here.data, a.row, rows, columns, work, apart);
    if (const std::int32_t state = factor_symmetric_panel(work, rows, columns)) return state + static_cast<std::int32_t>(c);
    turn_matrix<T>(work, apart, columns, rows, here.data, a.row);
    subtract_square(products, rows - columns, columns, Strided<const T>(below), here.from(columns, columns));
  }
  return 0;
}

template <class T>
std::int32_t cholesky(const Products<T>& products, Strided<T> a, std::int64_t n, T* work) {
  if (n <= kOwnCholesky) return cholesky_by_panels(products, a, n, work);
  if (n <= kLibraryCholesky && a.row < kMostLibrary) {
    const LapackFunctions<T>* const f = fast_lapack<T>();
    bool suits = f != nullptr;
    for (std::int64_t i = 0; i < n && suits; ++i) suits = has_reciprocal(a(i, i));
    if (suits) {
      const int order = static_cast<int>(n), stride = static_cast<int>(a.row);
      int info = 0;
      f->potrf("U", &order, a.data, &stride, &info, 1);
      for (std::int64_t i = 0; i < n && info == 0; ++i)
        if (!(a(i, i) > T(0))) info = static_cast<int>(i + 1);  // NaN is no error to some libraries
      return info;
    }
  }
  const std::int64_t half = half_of(n), rest = n - half;
  if (const std::int32_t state = cholesky(products, a, half, work)) return state;
  solve_behind(products, Strided<const T>(a.transposed()), Diagonal::Stored, rest, half, a.from(half, 0));
  subtract_square(products, rest, half, Strided<const T>(a.from(half, 0)), a.from(half, half));
  const std::int32_t state = cholesky(products, a.from(half, half), rest, work);
  return state == 0 ? 0 : state + static_cast<std::int32_t>(half);
}

}  // namespace

template <class T>
std::size_t Products<T>::scratch_bytes(std::int64_t largest, int threads) {
  return static_cast<std::size_t>(threads) * gemm_scratch_bytes(largest, largest, largest, sizeof(T));
}

template <class T>
Products<T>::Products(void* scratch, std::int64_t largest, int threads)
    : scratch_(static_cast<std::byte*>(scratch)),
      each_(gemm_scratch_bytes(largest, largest, largest, sizeof(T))),
      threads_(threads) {}

template <class T>
Products<T> Products<T>::of_part(int part) const {
  Products out = *this;
  out.scratch_ += static_cast<std::size_t>(part) * each_, out.threads_ = 1;
  return out;
}

namespace {

/// False where the library would not take it, or is no faster.
template <class T>
bool multiplied_by_library(const Gemm<T>& g) {
  constexpr double kSmall = 5e5;  // operations
  const LapackFunctions<T>* const f = fast_lapack<T>();
  if (!f || 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) < kSmall) return false;
  const auto one_is_1 = [](std::int64_t row, std::int64_t column) { return row == 1 || column == 1; };
  if (!one_is_1(g.a_row, g.a_column) || !one_is_1(g.b_row, g.b_column) || (g.subtract && !g.accumulate)) return false;
  // By columns C is its transpose, Bᵀ Aᵀ.
  const bool a_by_rows = g.a_column == 1, b_by_rows = g.b_column == 1;
  const std::int64_t lda = a_by_rows ? g.a_row : g.a_column, ldb = b_by_rows ? g.b_row : g.b_column;
  if (std::max({g.m, g.n, g.k, lda, ldb, g.c_row}) >= kMostLibrary) return false;
  if (lda < (a_by_rows ? g.k : g.m) || ldb < (b_by_rows ? g.n : g.k) || g.c_row < g.n) return false;
  const int m = static_cast<int>(g.n), n = static_cast<int>(g.m), k = static_cast<int>(g.k);
  const int stride_a = static_cast<int>(ldb), stride_b = static_cast<int>(lda), stride_c = static_cast<int>(g.c_row);
  const T factor = g.subtract ? T(-1) : T(1), kept = g.accumulate ? T(1) : T(0);
  f->gemm(b_by_rows ? "N" : "T", a_by_rows ? "N" : "T", &m, &n, &k, &factor, g.b, &stride_a, g.a, &stride_b, &kept, g.c, &stride_c, 1, 1);
  return true;
}

}  // namespace

template <class T>
void Products<T>::run(Gemm<T> g) const {
  const double operations = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  const bool rows = g.m >= g.n;
  const std::int64_t unit = rows ? kGemmRows : kGemmColumns, units = ((rows ? g.m : g.n) + unit - 1) / unit;
  const auto pieces = static_cast<int>(std::min<std::int64_t>(pieces_of(operations), units));
  by_pieces(threads_, pieces, [&](std::int64_t piece, int all, int part) {
    const Range range = share(units, piece, all);
    const std::int64_t first = range.begin * unit, last = std::min(range.end * unit, rows ? g.m : g.n);
    Gemm<T> mine = g;
    if (rows) mine.a += first * g.a_row, mine.c += first * g.c_row, mine.m = last - first;
    else mine.b += first * g.b_column, mine.c += first, mine.n = last - first;
    if (last > first && !multiplied_by_library(mine)) gemm(mine, scratch_ + static_cast<std::size_t>(part) * each_);
  });
}

namespace {

template <class T>
Gemm<T> problem(std::int64_t m, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) {
  return {.m = m,
          .n = n,
          .k = k,
          .a = a.data,
          .a_row = a.row,
          .a_column = a.column,
          .b = b.data,
          .b_row = b.row,
          .b_column = b.column,
          .c = c.data,
          .c_row = c.row};
}

}  // namespace

template <class T>
void Products<T>::assign(std::int64_t m, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) const {
  if (m == 0 || n == 0) return;
  run(problem(m, n, k, a, b, c));
}
template <class T>
void Products<T>::subtract(std::int64_t m, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) const {
  if (m == 0 || n == 0 || k == 0) return;
  Gemm<T> g = problem(m, n, k, a, b, c);
  g.accumulate = g.subtract = true;
  run(g);
}

template <class T>
void solve_lower(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right) {
  by_columns(products, n, x, right,
             [&](const Products<T>& own, Strided<T> part, std::int64_t columns) { lower(own, t, diagonal, n, part, columns); });
}
template <class T>
void solve_upper(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right) {
  by_columns(products, n, x, right,
             [&](const Products<T>& own, Strided<T> part, std::int64_t columns) { upper(own, t, diagonal, n, part, columns); });
}

template <class T>
void solve_behind(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t m, std::int64_t n, Strided<T> x) {
  constexpr std::int64_t kRows = 16;
  const double operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(m);
  const auto pieces = static_cast<int>(std::min<std::int64_t>(pieces_of(operations), m / (2 * kRows)));
  if (pieces <= 1) return behind(products, t, diagonal, m, n, x);
  by_pieces(products.threads(), pieces, [&](std::int64_t piece, int all, int part) {
    const Range range = share(m, piece, all);
    behind(products.of_part(part), t, diagonal, range.end - range.begin, n, x.from(range.begin, 0));
  });
}

template <class T>
std::int64_t lu_work(std::int64_t m) {
  return kPanel * panel_apart<T>(m) + kCompact * m;
}

template <class T>
std::int32_t factor_lu(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, std::int64_t* pivots, std::int64_t* order,
                       T* work) {
  const std::int64_t k = std::min(m, n);
  const Strided<T> rows{a, n, 1};
  LU<T> lu(products, m, work);
  if (k > 0) lu.factor(rows, m, k, pivots);
  if (n > k && k > 0) lu.follow(rows, m, k, pivots, n);
  std::iota(order, order + m, std::int64_t{0});
  std::int32_t exchanges = 0;
  for (std::int64_t i = 0; i < k; ++i) std::swap(order[i], order[pivots[i]]), exchanges += pivots[i] != i;
  return exchanges;
}

template <class T>
std::int32_t factor_cholesky(const Products<T>& products, T* a, std::int64_t n, T* work) {
  return cholesky(products, Strided<T>{a, n, 1}, n, work);
}

#define TEGULA_BLOCKS(T)                                                                                                 \
  template class Products<T>;                                                                                            \
  template void solve_lower(const Products<T>&, Strided<const T>, Diagonal, std::int64_t, Strided<T>, std::int64_t);     \
  template void solve_upper(const Products<T>&, Strided<const T>, Diagonal, std::int64_t, Strided<T>, std::int64_t);     \
  template void solve_behind(const Products<T>&, Strided<const T>, Diagonal, std::int64_t, std::int64_t, Strided<T>);    \
  template std::int64_t lu_work<T>(std::int64_t);                                                                        \
  template std::int32_t factor_lu(const Products<T>&, T*, std::int64_t, std::int64_t, std::int64_t*, std::int64_t*, T*); \
  template std::int32_t factor_cholesky(const Products<T>&, T*, std::int64_t, T*);
TEGULA_BLOCKS(float)
TEGULA_BLOCKS(double)
#undef TEGULA_BLOCKS

}  // namespace tegula::host
