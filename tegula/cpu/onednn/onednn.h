#pragma once
// oneDNN behind plain functions and classes: the only place that knows its interface, 2.x and 3.x.
//
// Its f32 products for AVX and AVX-512 (jit_avx*_gemm_f32, of 2.6.3 and later versions) point the stack pointer into a work space on the heap. A signal handler that
// runs meanwhile puts its frame, 11 kB with AMX, over the data below it. Convolutions of some shapes are such products, too ("gemm:jit"). Threads that call
// oneDNN therefore hold signals (core/signals.h): those of the pool for good, others for the call.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tegula::host {

/// C (M, N) = A · B, or C + A · B, in f32, all row-major with row strides; `transposed` means that the matrix lies transposed in memory.
/// On the calling thread.
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
  bool accumulate = false;  // onto what C holds
};
void sgemm(const Sgemm& product);

/// "oneDNN 2.6.3".
std::string onednn_version();

/// A matrix in memory: element (i, j) at i*row + j*column, one of the two being 1.
struct OneDnnMatrix {
  std::int64_t row = 0, column = 1;
};

/// C (M, N), dense f32, = A · B in bf16, for processors with bf16 arithmetic.
class Bf16Product {
 public:
  /// Nothing where oneDNN has no fast implementation.
  static std::unique_ptr<Bf16Product> make(std::int64_t m, std::int64_t n, std::int64_t k, const OneDnnMatrix& a, const OneDnnMatrix& b);
  ~Bf16Product();

  std::size_t scratch_bytes() const;
  std::string implementation() const;
  /// May be called from several threads at once, each with its own scratch.
  void run(const void* a, const void* b, float* c, void* scratch, int threads) const;

 private:
  struct Primitive;
  explicit Bf16Product(std::unique_ptr<Primitive> primitive);
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace tegula::host
