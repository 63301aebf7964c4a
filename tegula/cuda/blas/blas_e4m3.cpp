#include "tegula/cuda/blas/blas_e4m3.h"

#include "tegula/cuda/blas/blas_call.h"

namespace tegula::gpu {
namespace {

/// Column-major, as the library counts: Cᵀ (N, M) = B (N, K) · Aᵀ (K, M), both operands with K innermost.
BlasProduct product_of(const runtime::Matmul& d) {
  const std::int64_t m = d.c.layout.shape[0], n = d.c.layout.shape[1], k = d.a.layout.shape[1];
  return {.m = n,
          .n = m,
          .k = k,
          .left = {.rows = k, .columns = n, .leading = d.b.layout.strides[1], .transposed = true},
          .right = {.rows = k, .columns = m, .leading = d.a.layout.strides[0]},
          .result = {.rows = n, .columns = m, .leading = d.c.layout.strides[0]},
          .swapped = true,
          .offsets = {{}}};
}

LtForm form_of(const runtime::Matmul& d) { return {.operand = CUDA_R_8F_E4M3, .result = blas_type(d.dtype()), .factors = true}; }

}  // namespace

std::unique_ptr<runtime::Call> make_matmul_e4m3(Context& context, const runtime::Matmul& d) {
  context.enter();
  const BlasProduct product = product_of(d);
  const auto bytes = [](const BlasMatrix& matrix, std::size_t element) {
    return static_cast<std::size_t>(matrix.columns * matrix.leading) * element;
  };
  return make_library_call(
      context,
      {.form = form_of(d),
       .product = product,
       .bytes = {bytes(product.right, 1), bytes(product.left, 1), sizeof(float), sizeof(float), bytes(product.result, size_of(d.dtype()))},
       .addresses =
           [](std::span<void* const> x) {
             return LtAddresses{.left = x[1], .right = x[0], .result = x[4], .left_factor = x[3], .right_factor = x[2]};
           },
       .text = "e4m3 to " + std::string(name(d.dtype())) + " " + to_string(product),
       .advice = "use Precision::bf16 here"});
}

}  // namespace tegula::gpu
