#include "tegula/cuda/blas_e4m3.h"

#include <array>
#include <mutex>

#include "tegula/core/error.h"
#include "tegula/cuda/blas.h"

namespace tegula::gpu {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

cudaDataType_t result_type(DType dtype) { return dtype == f32 ? CUDA_R_32F : dtype == f16 ? CUDA_R_16F : CUDA_R_16BF; }

/// Column-major, as the library counts: Cᵀ (N, M) = B (N, K) · Aᵀ (K, M), both operands with K innermost.
class MatmulE4m3Call final : public runtime::Call {
 public:
  MatmulE4m3Call(Context& context, const runtime::MatmulE4m3& d) : context_(context), d_(d), lt_(blas_lt(context)) {
    lt_.check(lt_.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), describe());
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    const void* somewhere = this;  // the factors come with each call; that there are some is what an algorithm must know
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, somewhere);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, somewhere);
    layout(0, CUDA_R_8F_E4M3, d.k, d.n, d.b_stride);
    layout(1, CUDA_R_8F_E4M3, d.k, d.m, d.a_stride);
    layout(2, result_type(d.dtype), d.n, d.m, d.c_stride);
    choose();
  }
  MatmulE4m3Call(const MatmulE4m3Call&) = delete;
  MatmulE4m3Call& operator=(const MatmulE4m3Call&) = delete;
  ~MatmulE4m3Call() override {
    for (auto one : layouts_) {
      if (one) lt_.layout_destroy(one);
    }
    if (desc_) lt_.desc_destroy(desc_);
  }

  std::size_t scratch_bytes() const override { return choice_.workspaceSize; }

  void run(std::span<void* const> buffers, void* scratch, int) const override {
    static constexpr float kOne = 1, kZero = 0;
    context_.enter();
    const std::scoped_lock lock(mutex_);  // the factors' addresses are part of the descriptor
    const void *a = buffers[0], *b = buffers[1], *a_factor = buffers[2], *b_factor = buffers[3];
    void* const c = buffers[4];
    lt_.check(lt_.desc_set(desc_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(&b_factor), sizeof b_factor), describe());
    lt_.check(lt_.desc_set(desc_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(&a_factor), sizeof a_factor), describe());
    lt_.check(lt_.matmul(lt_.handle, desc_, &kOne, b, layouts_[0], a, layouts_[1], &kZero, c, layouts_[2], c, layouts_[2], &choice_.algo,
                         scratch, choice_.workspaceSize, context_.stream),
              describe());
    context_.queued("matmul");
  }

  std::string describe() const override {
    return "cuBLASLt e4m3 to " + std::string(name(d_.dtype)) + " " + std::to_string(d_.m) + "x" + std::to_string(d_.n) + "x" +
           std::to_string(d_.k);
  }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    lt_.check(lt_.desc_set(desc_, attribute, &value, sizeof value), describe());
  }
  void layout(std::size_t i, cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
    lt_.check(lt_.layout_create(&layouts_[i], type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), leading),
              describe());
  }
  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    lt_.check(lt_.preference_create(&preference), describe());
    lt_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace);
    int count = 0;
    const cublasStatus_t status =
        lt_.heuristic(lt_.handle, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference, 1, &choice_, &count);
    lt_.preference_destroy(preference);
    if (status == CUBLAS_STATUS_SUCCESS && count > 0) return;
    throw Error({.op = "matmul",
                 .got = describe() + ", for which cuBLASLt has no algorithm",
                 .expected = "a product that it has",
                 .advice = "use Precision::bf16 here"});
  }

  Context& context_;
  runtime::MatmulE4m3 d_;
  const BlasLt& lt_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts_{};
  cublasLtMatmulHeuristicResult_t choice_{};
  mutable std::mutex mutex_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_matmul_e4m3(Context& context, const runtime::MatmulE4m3& description) {
  context.enter();
  return std::make_unique<MatmulE4m3Call>(context, description);
}

}  // namespace tegula::gpu
