#include "tegula/cuda/blas_e4m3.h"

#include "tegula/core/error.h"
#include "tegula/cuda/blas_problem.h"

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

class MatmulE4m3Call final : public runtime::Call {
 public:
  MatmulE4m3Call(Context& context, const runtime::MatmulE4m3& d)
      : context_(context),
        d_(d),
        product_(product_of(d)),
        problem_(blas_lt(context), form_of(d), product_) {
    const auto bytes = [](std::int64_t rows, std::int64_t stride, std::size_t element) {
      return static_cast<std::size_t>(rows * stride) * element;
    };
    const auto choice = choose_algorithm(
        context, problem_, product_,
        {bytes(d.m, d.a_stride, 1), bytes(d.n, d.b_stride, 1), bytes(d.m, d.c_stride, size_of(d.dtype)), 2 * sizeof(float)},
        [](const auto& block) {
          const float* const factors = static_cast<const float*>(block(3));
          return addresses(block(0), block(1), factors, factors + 1, block(2));
        });
    if (!choice) {
      throw Error({.op = "matmul",
                   .got = "a product of e4m3 codes to " + std::string(name(d.dtype)) + ", " + to_string(product_) +
                          ", for which cuBLASLt has no algorithm",
                   .expected = "a product that it has",
                   .advice = "use Precision::bf16 here"});
    }
    choice_ = *choice;
  }

  std::size_t scratch_bytes() const override { return choice_.workspaceSize; }

  void run(std::span<void* const> buffers, void* scratch, int) const override {
    context_.enter();
    problem_.run(choice_, addresses(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]), scratch, context_.stream);
    context_.queued("matmul");
  }

  std::string describe() const override {
    return "cuBLASLt e4m3 to " + std::string(name(d_.dtype)) + " " + to_string(product_) + ", " + problem_.describe(choice_);
  }

 private:
  static LtAddresses addresses(const void* a, const void* b, const void* a_factor, const void* b_factor, void* c) {
    return {.left = b, .right = a, .result = c, .left_factor = b_factor, .right_factor = a_factor};
  }

  Context& context_;
  runtime::MatmulE4m3 d_;
  BlasProduct product_;
  LtProblem problem_;
  LtProblem::Choice choice_{};
};

}  // namespace

std::unique_ptr<runtime::Call> make_matmul_e4m3(Context& context, const runtime::MatmulE4m3& description) {
  context.enter();
  return std::make_unique<MatmulE4m3Call>(context, description);
}

}  // namespace tegula::gpu
