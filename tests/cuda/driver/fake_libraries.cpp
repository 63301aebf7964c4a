// cuBLASLt, cuDNN and cuFFT for the pretended GPU of fake_driver.cpp. cuFFT has none of its functions: the host transforms in its place, where
// the real one would ask for a real GPU. The others can be opened and know no algorithm, so that the plain kernels are listed in their place;
// but for products of E4M3 codes, which have no plain kernel, and for convolutions and attention where TEGULA_FAKE_DNN says so. With
// TEGULA_FAKE_ALGORITHMS=N cuBLASLt knows N of them for every product. TEGULA_FAKE_CUBLASLT and TEGULA_FAKE_CUDNN are what they say as their
// version.

#include <cublasLt.h>
#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

[[maybe_unused]] std::size_t number_of(const char* variable, std::size_t usual) {
  const char* const text = std::getenv(variable);
  return text ? static_cast<std::size_t>(std::atoll(text)) : usual;
}

int anything;  // target of handles

template <class Handle>
void give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&anything);
}

#ifndef TEGULA_FAKE_BLAS
/// TEGULA_FAKE_DNN=engine: cuDNN knows one engine, for graphs of one operation; =graphs: for all graphs.
bool knows(const char* what) {
  const char* const word = std::getenv("TEGULA_FAKE_DNN");
  return word && std::strcmp(word, what) == 0;
}
bool knows_engine() { return knows("engine") || knows("graphs"); }
cudnnStatus_t engine_status() { return knows_engine() ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED; }
#endif

#ifdef TEGULA_FAKE_BLAS
int codes;  // target of layouts of E4M3 codes
bool is_codes(cublasLtMatrixLayout_t d) { return reinterpret_cast<int*>(d) == &codes; }
int algorithms() { return static_cast<int>(number_of("TEGULA_FAKE_ALGORITHMS", 0)); }
#endif

}  // namespace

extern "C" {

#ifdef TEGULA_FAKE_BLAS
cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t* handle) { return give(handle), CUBLAS_STATUS_SUCCESS; }
const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t) { return "an error of the paper GPU"; }
std::size_t CUBLASWINAPI cublasLtGetVersion() { return number_of("TEGULA_FAKE_CUBLASLT", CUBLAS_VERSION); }
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t, cudaDataType_t) {
  return give(d), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* d, cudaDataType type, std::uint64_t, std::uint64_t,
                                                       std::int64_t) {
  *d = reinterpret_cast<cublasLtMatrixLayout_t>(type == CUDA_R_8F_E4M3 ? &codes : &anything);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
                                                             std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) { return give(p), CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                                 const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a,
                                                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                           cublasLtMatmulPreference_t, int most, cublasLtMatmulHeuristicResult_t* results,
                                                           int* found) {
  *found = std::min(most, is_codes(a) ? 1 : algorithms());
  for (int i = 0; i < *found; ++i) results[i] = {}, results[i].algo.data[0] = static_cast<std::uint64_t>(i);  // their state is success
  return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t, void*,
                                                                 std::size_t, std::size_t*) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] >= static_cast<std::uint64_t>(algorithms())) return CUBLAS_STATUS_NOT_SUPPORTED;
  return *result = {}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t a,
                                           const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*,
                                           cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t) {
  return is_codes(a) || algorithms() > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
#else
cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t* handle) { return give(handle), CUDNN_STATUS_SUCCESS; }
const char* CUDNNWINAPI cudnnGetErrorString(cudnnStatus_t) { return "an error of the paper GPU"; }
void CUDNNWINAPI cudnnGetLastErrorString(char* message, std::size_t size) {
  if (size > 0) *message = '\0';
}
std::size_t CUDNNWINAPI cudnnGetVersion() { return number_of("TEGULA_FAKE_CUDNN", CUDNN_VERSION); }
cudnnStatus_t CUDNNWINAPI cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t CUDNNWINAPI cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t* d) {
  if (!knows_engine()) return CUDNN_STATUS_NOT_SUPPORTED;
  return give(d), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t CUDNNWINAPI cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t CUDNNWINAPI cudnnBackendFinalize(cudnnBackendDescriptor_t) { return engine_status(); }
cudnnStatus_t CUDNNWINAPI cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) { return engine_status(); }
cudnnStatus_t CUDNNWINAPI cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                                                   std::int64_t count, const void*) {
  return name == CUDNN_ATTR_OPERATIONGRAPH_OPS && count > 1 && !knows("graphs") ? CUDNN_STATUS_NOT_SUPPORTED : engine_status();
}
cudnnStatus_t CUDNNWINAPI cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                                                   std::int64_t most, std::int64_t* count, void* values) {
  const bool has_one = name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE ||
                       name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX || name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE;
  if (count) *count = has_one ? 1 : 0;
  const std::int64_t number = name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX ? 1 : 8192;
  if (most > 0 && (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX || name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE))
    std::memcpy(values, &number, sizeof number);
  return engine_status();
}
#endif

}  // extern "C"
