#include "tegula/cuda/blas/blas_problem.h"

#include <cstdio>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

constexpr int kCandidates = 8;

using Algorithm = cublasLtMatmulAlgo_t;
static_assert(sizeof(Algorithm) % sizeof(std::uint64_t) == 0);

std::optional<Algorithm> from_text(const std::string& text) {
  Algorithm algorithm{};
  if (text.size() != 16 * std::size(algorithm.data) || text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  for (std::size_t i = 0; i < std::size(algorithm.data); ++i) algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

std::string type_name(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F: return "f64";
    case CUDA_R_16F: return "f16";
    case CUDA_R_16BF: return "bf16";
    case CUDA_R_8F_E4M3: return "e4m3";
    default: return "f32";
  }
}

}  // namespace

cudaDataType_t blas_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

LtForm form_of(const runtime::Matmul& d, cublasLtEpilogue_t epilogue) {
  LtForm form{.operand = blas_type(d.dtype()), .result = blas_type(d.dtype()), .epilogue = epilogue};
  if (d.dtype() == f64) form.compute = CUBLAS_COMPUTE_64F;
  if (d.dtype() == f32 && d.arithmetic == runtime::Arithmetic::TF32) form.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  return form;
}

bool is_measured(const BlasProduct& product) { return tuning_enabled() && product.operations() >= costs().measured_product; }

std::string tuning_key(const LtForm& form, const BlasProduct& p) {
  const bool relu = form.epilogue == CUBLASLT_EPILOGUE_RELU || form.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  std::string key = (relu ? "matmul, NaN kept, " : "matmul ") + type_name(form.operand);
  if (form.result != form.operand) key += " to " + type_name(form.result);
  if (form.compute == CUBLAS_COMPUTE_32F_FAST_TF32) key += " tf32";
  key += " epilogue " + std::to_string(static_cast<int>(form.epilogue)) + " " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
         std::to_string(p.k) + " batch " + std::to_string(p.batch);
  for (const BlasMatrix* m : {&p.left, &p.right, &p.result})
    key += std::string(m->transposed ? " t" : " n") + std::to_string(m->leading) + "/" + std::to_string(m->batch_stride);
  return key;
}

LtProblem::LtProblem(const BlasLt& lt, const LtForm& form, const BlasProduct& p) : lt_(lt), form_(form), what_(to_string(p)) {
  lt.check(lt.desc_create(&desc_, form.compute, form.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F), what_);
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, form.epilogue);
  if (form.reads_bias()) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, form.result);
  if (form.aux_leading > 0) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, form.aux_leading);
  if (form.factors) {
    const void* const somewhere = this;  // addresses come with each call; an algorithm only needs to know that there are some
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, somewhere);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, somewhere);
  }
  const std::array<const BlasMatrix*, 3> matrices{&p.left, &p.right, &p.result};
  for (std::size_t i = 0; i < 3; ++i) {
    const BlasMatrix& m = *matrices[i];
    lt.check(lt.layout_create(&layouts_[i], i < 2 ? form.operand : form.result, static_cast<std::uint64_t>(m.rows),
                              static_cast<std::uint64_t>(m.columns), m.leading),
             what_);
    const auto batch = static_cast<std::int32_t>(p.batch);
    lt.check(lt.layout_set(layouts_[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), what_);
    lt.check(lt.layout_set(layouts_[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.batch_stride, sizeof m.batch_stride), what_);
  }
}

LtProblem::~LtProblem() {
  for (auto layout : layouts_) {
    if (layout) lt_.layout_destroy(layout);
  }
  if (desc_) lt_.desc_destroy(desc_);
}

std::vector<LtProblem::Choice> LtProblem::candidates(std::size_t alignment, std::size_t workspace) const {
  cublasLtMatmulPreference_t preference = nullptr;
  lt_.check(lt_.preference_create(&preference), what_);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    lt_.preference_set(preference, attribute, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(attribute, static_cast<std::uint32_t>(alignment));
  }
  std::vector<Choice> results(kCandidates);
  int count = 0;
  const cublasStatus_t status =
      lt_.heuristic(lt_.handle, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference, kCandidates, results.data(), &count);
  lt_.preference_destroy(preference);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
  std::erase_if(results, [&](const Choice& r) { return r.state != CUBLAS_STATUS_SUCCESS || r.workspaceSize > workspace; });
  return results;
}

std::optional<LtProblem::Choice> LtProblem::remembered(const std::string& text) const {
  const std::optional<Algorithm> algorithm = from_text(text);
  if (!algorithm) return std::nullopt;
  Choice result{};
  const cublasStatus_t status = lt_.algo_check(lt_.handle, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], &*algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kBlasWorkspace) return std::nullopt;
  result.algo = *algorithm;
  return result;
}

/// An algorithm may be stored and used again with the same version of the library (its documentation says so).
std::string LtProblem::text_of(const Choice& choice) {
  std::string text;
  for (const std::uint64_t word : choice.algo.data) {
    std::array<char, 20> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(word));
    text += digits.data();
  }
  return text;
}

std::string LtProblem::describe(const Choice& choice) const {
  std::int32_t id = -1;
  std::uint32_t tile = 0, stages = 0;
  std::int32_t split = 1;
  std::size_t written = 0;
  lt_.algo_get(&choice.algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
  lt_.algo_get(&choice.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, &written);
  lt_.algo_get(&choice.algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, &stages, sizeof stages, &written);
  lt_.algo_get(&choice.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, sizeof split, &written);
  std::string text = "algorithm " + std::to_string(id) + " tile " + std::to_string(tile) + " stages " + std::to_string(stages);
  return split > 1 ? text + " split " + std::to_string(split) : text;
}

void LtProblem::run(const Choice& choice, const LtAddresses& x, void* workspace, CUstream stream) const {
  static constexpr double kOne64 = 1, kZero64 = 0;
  static constexpr float kOne32 = 1, kZero32 = 0;
  const bool wide = form_.compute == CUBLAS_COMPUTE_64F;
  const std::scoped_lock lock(mutex_);  // these addresses are part of the descriptor
  if (form_.reads_bias()) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, x.bias);
  if (form_.aux_leading > 0) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, x.aux);
  if (form_.factors) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.left_factor);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x.right_factor);
  }
  lt_.check(lt_.matmul(lt_.handle, desc_, wide ? static_cast<const void*>(&kOne64) : &kOne32, x.left, layouts_[0], x.right, layouts_[1],
                       wide ? static_cast<const void*>(&kZero64) : &kZero32, x.result, layouts_[2], x.result, layouts_[2], &choice.algo,
                       workspace, choice.workspaceSize, stream),
            what_);
}

}  // namespace tegula::gpu
