#pragma once
// oneDNN behind plain functions and classes: the only place that knows its interface, 2.x and 3.x.

#include <cstddef>
#include <cstdint>

namespace tegula::cpu {

/// C (M, N) = A · B in f32, all row-major with row strides; `transposed` means that the matrix lies transposed in memory.
/// Uses as many threads as omp_get_max_threads() says, one inside an OpenMP region.
struct Sgemm {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  bool a_transposed = false;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  bool b_transposed = false;
  float* c = nullptr;
  std::int64_t c_stride = 0;
};
void sgemm(const Sgemm& product);

}  // namespace tegula::cpu
