#include "tegula/cpu/linalg/library_routines.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "tegula/cpu/linalg/spectra.h"

namespace tegula::host {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;

struct Sizes {
  std::size_t work = 0;  // elements, as the library tells
  std::size_t packed = 0;  // and those of Eigen's results in its form
  std::size_t integers = 0;
};

template <class T>
Sizes sizes_of(const MatrixRoutine& d) {
  const LapackFunctions<T>& f = lapack()->functions<T>();
  const int m = static_cast<int>(d.rows), n = static_cast<int>(d.columns), asked = -1, one = 1;
  int info = 0, integers = 1;
  T best = 1;
  const auto whole = [&] {
    return static_cast<std::size_t>(best) + static_cast<std::size_t>(best) / (std::size_t{1} << 22) + 64;
  };  // f32 has 24 bits
  if (d.routine == Routine::Eigen) {
    f.geev("N", d.vectors ? "V" : "N", &n, nullptr, &n, nullptr, nullptr, nullptr, &one, nullptr, &n, &best, &asked, &info, 1, 1);
    return {whole(), static_cast<std::size_t>(n) * static_cast<std::size_t>(n + 2), 0};
  }
  if (d.routine == Routine::SymmetricEigen) {
    f.syevd(d.vectors ? "V" : "N", "U", &n, nullptr, &n, nullptr, &best, &asked, &integers, &asked, &info, 1, 1);
    return {whole(), 0, static_cast<std::size_t>(integers)};
  }
  const char* const job = !d.vectors ? "N" : d.full ? "A" : "S";
  f.gesdd(job, &m, &n, nullptr, &m, nullptr, nullptr, &m, nullptr, &n, &best, &asked, &integers, &info, 1);
  return {whole(), 0, 8 * static_cast<std::size_t>(n)};
}

}  // namespace

bool by_library(const MatrixRoutine& d) {
  constexpr std::int64_t kSymmetric = 100;  // rows below which our own loops are faster
  const bool symmetric = d.routine == Routine::SymmetricEigen && d.columns >= kSymmetric && lapack() && lapack()->fast;
  if (d.routine != Routine::Eigen && d.routine != Routine::SVD && !symmetric) return false;
  return lapack() && d.least() > 0 && std::max(d.rows, d.columns) < std::numeric_limits<int>::max();
}

template <class T>
std::size_t library_work(const MatrixRoutine& d) {
  const Sizes sizes = sizes_of<T>(d);
  return sizes.work + sizes.packed + sizes.integers * sizeof(int) / sizeof(T) + 1;
}

template <class T>
void run_library(const MatrixRoutine& d, T* a, std::span<void* const> buffers, T* work) {
  const LapackFunctions<T>& f = lapack()->functions<T>();
  const Sizes sizes = sizes_of<T>(d);
  const int m = static_cast<int>(d.rows), n = static_cast<int>(d.columns), size = static_cast<int>(sizes.work), one = 1;
  T* const packed = work + sizes.work;
  const auto values = [&](std::size_t index) { return static_cast<T*>(buffers[index]); };
  int info = 0;
  if (d.routine == Routine::Eigen) {
    T *const re = packed + d.columns * d.columns, *const im = re + d.columns;
    f.geev("N", d.vectors ? "V" : "N", &n, a, &n, re, im, nullptr, &one, packed, &n, work, &size, &info, 1, 1);
    pairs_of(re, im, packed, d.columns, values(1), d.vectors ? values(2) : nullptr);
  } else if (d.routine == Routine::SymmetricEigen) {
    const int integers = static_cast<int>(sizes.integers);
    f.syevd(d.vectors ? "V" : "N", "U", &n, a, &n, values(1), work, &size, reinterpret_cast<int*>(packed), &integers, &info, 1, 1);
    if (d.vectors) std::copy_n(a, d.columns * d.columns, values(2));
  } else {
    const char* const job = !d.vectors ? "N" : d.full ? "A" : "S";
    f.gesdd(job, &m, &n, a, &m, values(2), values(1), &m, values(3), &n, work, &size, reinterpret_cast<int*>(packed), &info, 1);
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
