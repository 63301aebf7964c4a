#pragma once
// LAPACK and BLAS by Fortran's interface, opened at run time where a library of theirs is installed.

#include <cstddef>
#include <string>

namespace tegula::host {

template <class T>
struct LapackFunctions {
  void (*geev)(const char* left, const char* right, const int* n, T* a, const int* lda, T* re, T* im, T* vl, const int* ldvl, T* vr,
               const int* ldvr, T* work, const int* size, int* info, std::size_t, std::size_t) = nullptr;
  void (*bdsdc)(const char* triangle, const char* vectors, const int* n, T* diagonal, T* beside, T* u, const int* ldu, T* vt,
                const int* ldvt, T* compact, int* compact_integers, T* work, int* integers, int* info, std::size_t, std::size_t) = nullptr;
  void (*stedc)(const char* vectors, const int* n, T* diagonal, T* beside, T* z, const int* ldz, T* work, const int* size, int* integers,
                const int* integer_size, int* info, std::size_t) = nullptr;
  void (*laed4)(const int* n, const int* i, const T* diagonal, const T* z, T* apart, const T* rho, T* root, int* info) = nullptr;
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info) = nullptr;
  void (*potrf)(const char* triangle, const int* n, T* a, const int* lda, int* info, std::size_t) = nullptr;
  void (*gemm)(const char* a_turned, const char* b_turned, const int* m, const int* n, const int* k, const T* factor, const T* a,
               const int* lda, const T* b, const int* ldb, const T* c_factor, T* c, const int* ldc, std::size_t, std::size_t) = nullptr;
  void (*trsm)(const char* side, const char* triangle, const char* transposed, const char* diagonal, const int* m, const int* n,
               const T* factor, const T* a, const int* lda, T* b, const int* ldb, std::size_t, std::size_t, std::size_t,
               std::size_t) = nullptr;
};

struct Lapack {
  std::string name;  // "liblapack.so.3"
  bool fast = false;  // has kernels for this processor (OpenBLAS, MKL); reference LAPACK is slower than products of our own
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

/// The functions of a fast library; null where there is none.
template <class T>
const LapackFunctions<T>* fast_lapack() {
  const Lapack* const library = lapack();
  return library && library->fast ? &library->functions<T>() : nullptr;
}

}  // namespace tegula::host
