#include "tegula/cuda/blas/blas_e4m3.h"

#include "tegula/cuda/blas/blas_call.h"

namespace tegula::gpu {
namespace {

/// Column-major, as the library counts: Cᵀ (N, M) = B (N, K) · Aᵀ (K, M), both operands with K innermost.
BlasProduct product_of(const runtime::MatmulE4m3& d) {
  return {.m = d.n,
          .n = d.m,
          .k = d.k,
          .left = {.rows = d.k, .columns = d.n, .leading = d.b_stride, .transposed = true},
          .right = {.rows = d.k, .columns = d.m, .leading = d.a_stride},
          .result = {.rows = d.n, .columns = d.m, .leading = d.c_stride},
          .swapped = true,
          .offsets = {{}}};
}

LtForm form_of(const runtime::MatmulE4m3& d) { return {.operand = CUDA_R_8F_E4M3, .result = blas_type(d.dtype), .factors = true}; }

}  // namespace

std::unique_ptr<runtime::Call> make_matmul_e4m3(Context& context, const runtime::MatmulE4m3& description) {
  context.enter();
  const runtime::MatmulE4m3& d = description;
  const auto bytes = [](std::int64_t rows, std::int64_t stride, std::size_t element) {
    return static_cast<std::size_t>(rows * stride) * element;
  };
  const BlasProduct product = product_of(d);
  return make_library_call(context, {.form = form_of(d),
                                     .product = product,
                                     .bytes = {bytes(d.m, d.a_stride, 1), bytes(d.n, d.b_stride, 1), sizeof(float), sizeof(float),
                                               bytes(d.m, d.c_stride, size_of(d.dtype))},
                                     .addresses =
                                         [](std::span<void* const> x) {
                                           return LtAddresses{
                                               .left = x[1], .right = x[0], .result = x[4], .left_factor = x[3], .right_factor = x[2]};
                                         },
                                     .text = "e4m3 to " + std::string(name(d.dtype)) + " " + to_string(product),
                                     .advice = "use Precision::bf16 here"});
}

}  // namespace tegula::gpu
