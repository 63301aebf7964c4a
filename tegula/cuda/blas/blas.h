#pragma once
// cuBLASLt: opened at the first product, one handle per card.

#include <cublasLt.h>

#include <string>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/expression.h"

namespace tegula::gpu {

constexpr const char* kBlasLt = "cuBLASLt";

struct BlasLt {
  cublasLtHandle_t handle = nullptr;
  std::string version;  // "130100"
  std::string section;  // of the tuning file: "NVIDIA H200, cuBLASLt 130100"

  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulAlgoCheck) algo_check;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get;
  decltype(&cublasLtGetStatusString) status_string;

  explicit BlasLt(Context& context);
  /// Throws Error("matmul: got cuBLASLt …") unless the call succeeded.
  void check(cublasStatus_t status, const std::string& what) const;
};

/// The one of this card; null where there is none, which is told once. Makes the context current, and notes the version (brought_code.h).
const BlasLt* blas_lt_if_there(Context& context);
/// The same. Throws Error where there is none.
const BlasLt& blas_lt(Context& context);

/// True if cuBLASLt has the activation of a sum (runtime::Sums::rest): relu, and gelu's tanh form, which it computes in f32 at best.
bool fuses_activation(const runtime::Expression& rest, DType dtype);

}  // namespace tegula::gpu
