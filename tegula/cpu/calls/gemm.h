#pragma once
// Our own matrix product for one thread: f64 at any size, f32 where a library call costs more than the product.

#include <cstddef>
#include <cstdint>

#include "tegula/cpu/calls/epilogue.h"

namespace tegula::host {

/// C (M, N) = epilogue(A (M, K) · B (K, N)), or C + that product, or C - that product. A and B have any two strides; rows of C are contiguous.
/// Each element of C is summed in an order that depends on the shape alone.
template <class T>
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  std::int64_t b_row = 0, b_column = 1;
  std::int64_t b_panel = 0;  // B as panels of gemm_panel_columns(n) columns: elements from one row of C to the next; 0: B has strides
  T* c = nullptr;
  std::int64_t c_row = 0;
  Epilogue<T> epilogue;
  bool accumulate = false;  // onto what C holds
  bool subtract = false;  // from what C holds; with accumulate
};

/// Scratch of one gemm call of at most this size, a multiple of 64 bytes.
std::size_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t element);

/// The number of columns of B that lie together where a product of one row reads them one after the other.
std::int64_t gemm_panel_columns(std::int64_t n);

/// `scratch` is 64-byte aligned.
void gemm(const Gemm<float>& problem, void* scratch);
void gemm(const Gemm<double>& problem, void* scratch);

/// Rows and columns of C that are computed together; a good cut of C between threads lies on their multiples.
inline constexpr std::int64_t kGemmRows = 12, kGemmColumns = 32;

}  // namespace tegula::host
