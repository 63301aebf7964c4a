#pragma once
// The functions of generated kernels (prelude*.cuh) as functions of this program: what a kernel's text calls and what the machine calls are one
// text. Threads and memory are the machine's own, so that what reaches other threads is declared here and never called.
#pragma GCC system_header

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tegula/core/special.h"

#define TEGULA_EMULATED 1
#define __device__

namespace tegula::simt::prelude {

namespace emulated {
inline void copy(void*, const void*, int, int) {}
inline void close_copies() {}
inline void wait_for_copies(int) {}
}  // namespace emulated
struct Index {
  unsigned int x;
};
inline Index threadIdx{0}, blockDim{0};
inline void __syncthreads() {}
template <class T>
T __shfl_xor_sync(unsigned, T value, int) {
  return value;
}
inline int cluster_rank() { return 0; }
inline void cluster_barrier() {}
inline void expect_exchange(void*, int) {}
inline void await_exchange(void*) {}
template <class T>
void cluster_write(T*, int, T) {}
template <int kCount, class T>
void exchange_write(T*, int, const T*, void*) {}
inline unsigned long long atomicCAS(unsigned long long* place, unsigned long long, unsigned long long) { return *place; }

inline float __int_as_float(int x) {
  float y;
  std::memcpy(&y, &x, 4);
  return y;
}
inline int __float_as_int(float x) {
  int y;
  std::memcpy(&y, &x, 4);
  return y;
}
inline double __longlong_as_double(long long x) {
  double y;
  std::memcpy(&y, &x, 8);
  return y;
}
inline long long __double_as_longlong(double x) {
  long long y;
  std::memcpy(&y, &x, 8);
  return y;
}
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}

inline int __popc(unsigned int x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }

#include "tegula/simt/prelude.cuh"
#include "tegula/simt/prelude_words.cuh"

#include "tegula/simt/prelude_across.cuh"

}  // namespace tegula::simt::prelude

#undef __device__
#undef TEGULA_EMULATED
