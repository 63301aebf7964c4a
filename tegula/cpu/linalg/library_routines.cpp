#include "tegula/cpu/linalg/library_routines.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "tegula/cpu/linalg/spectra.h"

namespace tegula::host {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;

/// Whole numbers that begin in `work`, behind `elements` of it.
template <class T>
int* integers_behind(T* work, std::size_t elements) {
  return reinterpret_cast<int*>(work + elements);
}
template <class T>
std::size_t room_for(std::size_t integers) {
  return integers * sizeof(int) / sizeof(T) + 1;
}

struct Sizes {
  std::size_t work = 0, integers = 0;
};

template <class T>
Sizes sizes_of(const MatrixRoutine& d) {
  const LapackFunctions<T>& f = lapack()->functions<T>();
  const int m = static_cast<int>(d.rows), n = static_cast<int>(d.columns), k = static_cast<int>(d.least()), asked = -1;
  const int lda = std::max(m, 1), ldn = std::max(n, 1);
  int info = 0, integers = 1;
  T best = 1;
  switch (d.routine) {
    case Routine::LU: return {0, static_cast<std::size_t>(k)};
    case Routine::Cholesky:
    case Routine::TriangularSolve: return {};
    case Routine::QR: {
      f.geqrf(&m, &n, nullptr, &lda, nullptr, &best, &asked, &info);
      const T first = best;
      const int count = d.full ? m : k;
      f.orgqr(&m, &count, &k, nullptr, &lda, nullptr, &best, &asked, &info);
      return {static_cast<std::size_t>(std::max(first, best)) + static_cast<std::size_t>(k), 0};
    }
    case Routine::SymmetricEigen:
      f.syevd(d.vectors ? "V" : "N", "U", &n, nullptr, &ldn, nullptr, &best, &asked, &integers, &asked, &info, 1, 1);
      return {static_cast<std::size_t>(best), static_cast<std::size_t>(integers)};
    case Routine::Eigen:
      f.geev("N", d.vectors ? "V" : "N", &n, nullptr, &ldn, nullptr, nullptr, nullptr, &ldn, nullptr, &ldn, &best, &asked, &info, 1, 1);
      return {static_cast<std::size_t>(best) + static_cast<std::size_t>(n) * static_cast<std::size_t>(n + 2), 0};
    case Routine::SVD: {
      const char* const job = !d.vectors ? "N" : d.full ? "A" : "S";
      f.gesdd(job, &m, &n, nullptr, &lda, nullptr, nullptr, &lda, nullptr, &ldn, &best, &asked, &integers, &info, 1);
      return {static_cast<std::size_t>(best), 8 * static_cast<std::size_t>(n)};
    }
  }
  return {};
}

/// f32 tells sizes with 24 bits.
template <class T>
std::size_t whole(std::size_t told) {
  return told + told / (std::size_t{1} << 22) + 64;
}

}  // namespace

bool by_library(const MatrixRoutine& d) {
  const Lapack* const library = lapack();
  if (!library || d.least() == 0 || std::max({d.rows, d.columns, d.right}) >= std::numeric_limits<int>::max()) return false;
  switch (d.routine) {
    // Reference LAPACK's are slower than ours: f64, one thread of two that 16 programs shared, 512 rows: LU 3 ms (30 GFLOP/s), symmetric eigen 390 ms by
    // the library and 281 by our own (Zen 5, 2026-11-27).
    case Routine::LU:
    case Routine::Cholesky:
    case Routine::QR:
    case Routine::TriangularSolve:
    case Routine::SymmetricEigen: return library->fast && d.least() >= 32;
    default: return true;
  }
}

template <class T>
std::size_t library_work(const MatrixRoutine& d) {
  const Sizes sizes = sizes_of<T>(d);
  return whole<T>(sizes.work) + room_for<T>(sizes.integers);
}

template <class T>
void run_library(const MatrixRoutine& d, T* a, std::span<void* const> buffers, T* work) {
  const LapackFunctions<T>& f = lapack()->functions<T>();
  const Sizes sizes = sizes_of<T>(d);
  const int m = static_cast<int>(d.rows), n = static_cast<int>(d.columns), k = static_cast<int>(d.least());
  const int lda = std::max(m, 1), ldn = std::max(n, 1), size = static_cast<int>(sizes.work),
            whole_numbers = static_cast<int>(sizes.integers);
  int* const integers = integers_behind(work, whole<T>(sizes.work));
  const auto values = [&](std::size_t index) { return static_cast<T*>(buffers[index]); };
  int info = 0;
  switch (d.routine) {
    case Routine::LU: {
      f.getrf(&m, &n, a, &lda, integers, &info);
      auto* const order = static_cast<std::int64_t*>(buffers[2]);
      std::iota(order, order + m, std::int64_t{0});
      std::int32_t exchanges = 0;
      for (int i = 0; i < k; ++i) {
        std::swap(order[i], order[integers[i] - 1]);
        if (integers[i] - 1 != i) ++exchanges;
      }
      *static_cast<std::int32_t*>(buffers[3]) = exchanges;
      std::copy_n(a, d.rows * d.columns, values(1));
      return;
    }
    case Routine::Cholesky:
      f.potrf("U", &n, a, &ldn, &info, 1);  // by rows it is the lower triangle
      std::copy_n(a, d.columns * d.columns, values(1));
      *static_cast<std::int32_t*>(buffers[2]) = info;
      return;
    case Routine::TriangularSolve: {
      const int right = static_cast<int>(d.right), ldb = std::max(right, 1);
      const T one = 1;
      std::copy_n(values(1), d.columns * d.right, values(2));
      // By columns X and B are transposed, and so is the triangle.
      f.trsm("R", d.upper ? "L" : "U", d.transposed ? "T" : "N", d.unit ? "U" : "N", &right, &n, &one, values(0), &ldn, values(2), &ldb, 1,
             1, 1, 1);
      return;
    }
    case Routine::QR: {
      const int count = d.full ? m : k, rest = size - k;
      T* const tau = work + rest;
      f.geqrf(&m, &n, a, &lda, tau, work, &rest, &info);
      for (std::int64_t j = 0; j < n; ++j) std::copy_n(a + j * m, count, values(2) + j * count);
      std::copy_n(a, static_cast<std::int64_t>(m) * k, values(1));
      f.orgqr(&m, &count, &k, values(1), &lda, tau, work, &rest, &info);
      return;
    }
    case Routine::SymmetricEigen:
      f.syevd(d.vectors ? "V" : "N", "U", &n, a, &ldn, values(1), work, &size, integers, &whole_numbers, &info, 1, 1);
      if (d.vectors) std::copy_n(a, d.columns * d.columns, values(2));
      break;
    case Routine::Eigen: {
      T *const packed = work + size - static_cast<std::int64_t>(n) * (n + 2), *const re = packed + static_cast<std::int64_t>(n) * n,
               *const im = re + n;
      const int left = size - n * (n + 2), one = 1;
      f.geev("N", d.vectors ? "V" : "N", &n, a, &ldn, re, im, nullptr, &one, packed, &ldn, work, &left, &info, 1, 1);
      pairs_of(re, im, packed, d.columns, values(1), d.vectors ? values(2) : nullptr);
      break;
    }
    case Routine::SVD: {
      const char* const job = !d.vectors ? "N" : d.full ? "A" : "S";
      f.gesdd(job, &m, &n, a, &lda, values(2), values(1), &lda, values(3), &ldn, work, &size, integers, &info, 1);
      break;
    }
  }
  *static_cast<std::int32_t*>(buffers.back()) = std::abs(info);
}

#define TEGULA_LIBRARY(T)                                     \
  template std::size_t library_work<T>(const MatrixRoutine&); \
  template void run_library<T>(const MatrixRoutine&, T*, std::span<void* const>, T*);
TEGULA_LIBRARY(float)
TEGULA_LIBRARY(double)
#undef TEGULA_LIBRARY

}  // namespace tegula::host
