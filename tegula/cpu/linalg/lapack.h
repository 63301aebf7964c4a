#pragma once
// LAPACK and BLAS by Fortran's interface, opened at run time where a library of theirs is installed.

#include <cstddef>
#include <string>

namespace tegula::host {

template <class T>
struct LapackFunctions {
  void (*geev)(const char* left, const char* right, const int* n, T* a, const int* lda, T* re, T* im, T* vl, const int* ldvl, T* vr,
               const int* ldvr, T* work, const int* size, int* info, std::size_t, std::size_t) = nullptr;
  void (*gesdd)(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, const int* ldvt,
                T* work, const int* size, int* integers, int* info, std::size_t) = nullptr;
};

struct Lapack {
  std::string name;  // "liblapack.so.3"
  bool fast =
      false;  // has kernels for this processor and threads of its own (OpenBLAS); reference LAPACK is slower than products of our own
  void (*set_threads)(int) = nullptr;
  LapackFunctions<float> single;
  LapackFunctions<double> twice;
  template <class T>
  const LapackFunctions<T>& functions() const {
    if constexpr (sizeof(T) == 4) return single;
    else return twice;
  }
};

/// The library that TEGULA_LAPACK names (none: no library), else OpenBLAS or the system's LAPACK; null where there is none. Opened at the first call.
const Lapack* lapack();

}  // namespace tegula::host
