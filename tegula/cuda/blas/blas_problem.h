#pragma once
// One product as cuBLASLt describes it, and how the algorithm for it is chosen: measured once, remembered in the tuning file.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tegula/cuda/blas/blas.h"
#include "tegula/cuda/blas/blas_layout.h"

namespace tegula::gpu {

/// Memory that an algorithm may ask for, bytes.
constexpr std::size_t kBlasWorkspace = std::size_t{32} << 20;
/// Bytes; the alignment that the fastest kernels need of all addresses.
constexpr std::size_t kBlasAlignment = 16;
/// The tuning file's word for a product that no algorithm does.
constexpr const char* kNoAlgorithm = "none";

/// The dtypes and the arithmetic of a product, and the epilogue applied to its sums.
struct LtForm {
  cudaDataType_t operand = CUDA_R_32F, result = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  bool factors = false;  // each operand is multiplied by an f32 in memory
  std::int64_t aux_leading = 0;  // leading dimension of the epilogue's auxiliary matrix; 0: none

  bool reads_bias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
};

cudaDataType_t blas_type(DType dtype);
/// Operands, result and arithmetic of a described product.
LtForm form_of(const runtime::Matmul& description, cublasLtEpilogue_t epilogue);

/// The addresses of a call's matrices; null for those it does not have.
struct LtAddresses {
  const void *left = nullptr, *right = nullptr;
  void* result = nullptr;
  const void* bias = nullptr;
  const void* aux = nullptr;
  const void *left_factor = nullptr, *right_factor = nullptr;
};

/// True if algorithms are measured for the product; small ones are not worth it.
bool is_measured(const BlasProduct& product);

/// Everything that the choice of an algorithm may depend on, for the tuning file.
std::string tuning_key(const LtForm& form, const BlasProduct& product);

/// Descriptors of one product.
class LtProblem {
 public:
  using Choice = cublasLtMatmulHeuristicResult_t;

  LtProblem(const BlasLt& lt, const LtForm& form, const BlasProduct& product);
  LtProblem(const LtProblem&) = delete;
  LtProblem& operator=(const LtProblem&) = delete;
  ~LtProblem();

  const LtForm& form() const { return form_; }

  /// The library's guesses for addresses with this alignment, the best first. Sums of split products stay in the wide type.
  std::vector<Choice> candidates(std::size_t alignment, std::size_t workspace) const;
  /// The algorithm in a tuning file's entry, or nothing if it does not run here.
  std::optional<Choice> remembered(const std::string& text) const;
  /// The choice as text for the tuning file.
  static std::string text_of(const Choice& choice);
  /// "algorithm 66 tile 20 stages 35 split 3", for people.
  std::string describe(const Choice& choice) const;

  /// Queued on `stream`.
  void run(const Choice& choice, const LtAddresses& addresses, void* workspace, CUstream stream) const;

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    lt_.check(lt_.desc_set(desc_, attribute, &value, sizeof value), what_);
  }

  const BlasLt& lt_;
  LtForm form_;
  std::string what_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts_{};
  mutable std::mutex mutex_;
};

}  // namespace tegula::gpu
