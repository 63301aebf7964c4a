// Products on the GPU: cuBLASLt, with the epilogues it has; a plain kernel for what remains.

#include "tegula/cuda/blas.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/blas_layout.h"
#include "tegula/cuda/library.h"
#include "tegula/cuda/library_kernels.h"
#include "tegula/cuda/measure.h"
#include "tegula/cuda/plain_split_product.h"
#include "tegula/cuda/tuning.h"

namespace tegula::gpu {

BlasLt::BlasLt(Context& context) {
  const Library library("matmul", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                        "install cuBLAS (it is part of the CUDA toolkit) or add its folder to LD_LIBRARY_PATH");
  const auto get = [&](auto& function, const char* symbol) {
    function = library.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
  };
  get(matmul, "cublasLtMatmul");
  get(desc_create, "cublasLtMatmulDescCreate");
  get(desc_destroy, "cublasLtMatmulDescDestroy");
  get(desc_set, "cublasLtMatmulDescSetAttribute");
  get(layout_create, "cublasLtMatrixLayoutCreate");
  get(layout_destroy, "cublasLtMatrixLayoutDestroy");
  get(layout_set, "cublasLtMatrixLayoutSetAttribute");
  get(preference_create, "cublasLtMatmulPreferenceCreate");
  get(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  get(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  get(heuristic, "cublasLtMatmulAlgoGetHeuristic");
  get(algo_check, "cublasLtMatmulAlgoCheck");
  get(algo_get, "cublasLtMatmulAlgoConfigGetAttribute");
  get(status_string, "cublasLtGetStatusString");
  context.enter();
  check(library.function<decltype(cublasLtCreate)>("cublasLtCreate")(&handle), "a handle");
  section = context.name + ", cuBLASLt " + std::to_string(library.function<decltype(cublasLtGetVersion)>("cublasLtGetVersion")());
}

void BlasLt::check(cublasStatus_t status, const std::string& what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error({.op = "matmul", .got = "cuBLASLt: " + std::string(status_string(status)) + ", for " + what});
}

const BlasLt& blas_lt(Context& context) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, std::unique_ptr<BlasLt>>;
  const std::scoped_lock lock(*mutex);
  auto& one = (*all)[context.index];
  if (!one) one = std::make_unique<BlasLt>(context);
  context.enter();
  return *one;
}

namespace {

using runtime::Activation;
using runtime::Arithmetic;

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::size_t kAlignment = 16;         // bytes; what the fastest kernels ask of all addresses
constexpr double kWorthMeasuring = 1e5;        // operations
constexpr int kCandidates = 8;
constexpr const char* kNone = "none";          // in the tuning file: no algorithm does this

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const runtime::Matmul& d) {
  if (d.dtype == f64) return CUBLAS_COMPUTE_64F;
  return d.dtype == f32 && d.arithmetic == Arithmetic::TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// cuBLASLt's GELU is the tanh form, in f32 at best. Nothing where it has no such epilogue, or a bias runs along the wrong axis.
std::optional<cublasLtEpilogue_t> epilogue_of(const runtime::Matmul& d, const BlasProduct& p) {
  if (d.bias && !p.swapped) return std::nullopt;
  switch (d.activation) {
    case Activation::None: return d.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::Relu: return d.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::GeluTanh:
      if (d.dtype == f64) return std::nullopt;
      return d.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default: return std::nullopt;
  }
}

using Algorithm = cublasLtMatmulAlgo_t;
static_assert(sizeof(Algorithm) % sizeof(std::uint64_t) == 0);

/// An algorithm may be stored and used again with the same version of the library (its documentation says so).
std::string to_text(const Algorithm& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) {
    std::array<char, 20> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(word));
    text += digits.data();
  }
  return text;
}

std::optional<Algorithm> from_text(const std::string& text) {
  Algorithm algorithm{};
  if (text.size() != 16 * std::size(algorithm.data) || text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  for (std::size_t i = 0; i < std::size(algorithm.data); ++i) algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

bool is_measured(const BlasProduct& p) { return tuning_enabled() && p.operations() >= kWorthMeasuring; }

/// Everything that the choice of an algorithm may depend on.
std::string key_of(const runtime::Matmul& d, const BlasProduct& p, cublasLtEpilogue_t epilogue) {
  const bool relu = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  std::string key = (relu ? "matmul, NaN kept, " : "matmul ") + std::string(name(d.dtype)) +
                    (d.arithmetic == Arithmetic::TF32 ? " tf32" : "") + " epilogue " + std::to_string(static_cast<int>(epilogue)) + " " +
                    std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " batch " + std::to_string(p.batch);
  for (const BlasMatrix* m : {&p.left, &p.right, &p.result})
    key += std::string(m->transposed ? " t" : " n") + std::to_string(m->leading) + "/" + std::to_string(m->batch_stride);
  return key;
}

/// Descriptors of one product with one epilogue.
class LtProblem {
 public:
  LtProblem(const BlasLt& lt, const runtime::Matmul& d, const BlasProduct& p, cublasLtEpilogue_t epilogue) : lt_(lt), what_(to_string(p)) {
    lt.check(lt.desc_create(&desc_, compute_type(d), d.dtype == f64 ? CUDA_R_64F : CUDA_R_32F), what_);
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (d.bias && epilogue != CUBLASLT_EPILOGUE_DEFAULT) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(d.dtype));
    const std::array<const BlasMatrix*, 3> matrices{&p.left, &p.right, &p.result};
    for (std::size_t i = 0; i < 3; ++i) {
      const BlasMatrix& m = *matrices[i];
      lt.check(lt.layout_create(&layouts_[i], data_type(d.dtype), static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.columns),
                                m.leading),
               what_);
      const auto batch = static_cast<std::int32_t>(p.batch);
      lt.check(lt.layout_set(layouts_[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), what_);
      lt.check(lt.layout_set(layouts_[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.batch_stride, sizeof m.batch_stride), what_);
    }
  }
  LtProblem(const LtProblem&) = delete;
  LtProblem& operator=(const LtProblem&) = delete;
  ~LtProblem() {
    for (auto layout : layouts_) {
      if (layout) lt_.layout_destroy(layout);
    }
    if (desc_) lt_.desc_destroy(desc_);
  }

  /// The library's guesses for addresses with this alignment, the best first. Sums of split products stay in the wide type.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates(std::uint32_t alignment, std::size_t workspace) const {
    cublasLtMatmulPreference_t preference = nullptr;
    lt_.check(lt_.preference_create(&preference), what_);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      lt_.preference_set(preference, attribute, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(attribute, alignment);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
    int count = 0;
    const cublasStatus_t status = lt_.heuristic(lt_.handle, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], preference,
                                                kCandidates, results.data(), &count);
    lt_.preference_destroy(preference);
    results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
    std::erase_if(results, [&](const auto& r) { return r.state != CUBLAS_STATUS_SUCCESS || r.workspaceSize > workspace; });
    return results;
  }

  /// A remembered algorithm with the workspace it needs, or nothing when it does not run here.
  std::optional<cublasLtMatmulHeuristicResult_t> checked(const Algorithm& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        lt_.algo_check(lt_.handle, desc_, layouts_[0], layouts_[1], layouts_[2], layouts_[2], &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspace) return std::nullopt;
    result.algo = algorithm;
    return result;
  }

  void run(const cublasLtMatmulHeuristicResult_t& choice, const void* left, const void* right, const void* bias, void* result,
           void* workspace, CUstream stream) const {
    static constexpr double kOne64 = 1, kZero64 = 0;
    static constexpr float kOne32 = 1, kZero32 = 0;
    const bool wide = is_f64_;
    const std::scoped_lock lock(mutex_);  // the bias' address is part of the descriptor
    if (bias) lt_.check(lt_.desc_set(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias), what_);
    lt_.check(lt_.matmul(lt_.handle, desc_, wide ? static_cast<const void*>(&kOne64) : &kOne32, left, layouts_[0], right, layouts_[1],
                         wide ? static_cast<const void*>(&kZero64) : &kZero32, result, layouts_[2], result, layouts_[2], &choice.algo,
                         workspace, choice.workspaceSize, stream),
              what_);
  }
  void is_f64(bool yes) { is_f64_ = yes; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    lt_.check(lt_.desc_set(desc_, attribute, &value, sizeof value), what_);
  }

  const BlasLt& lt_;
  std::string what_;
  bool is_f64_ = false;
  cublasLtMatmulDesc_t desc_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts_{};
  mutable std::mutex mutex_;
};

class MatmulCall : public runtime::Call {
 public:
  MatmulCall(Context& context, const runtime::Matmul& d) : context_(context), d_(d), product_(blas_product(d)) {
    if (product_.empty()) return;
    if (product_.k > 0) prepare();
    if (!aligned_ && !split_) direct_.emplace(context, direct_matmul_kernel(d));
  }

  std::size_t scratch_bytes() const override { return aligned_ ? aligned_->workspaceSize : 0; }

  void run(std::span<void* const> buffers, void* scratch, int) const override {
    if (product_.empty()) return;
    context_.enter();
    queue(buffers, scratch);
    context_.queued("matmul");
  }

  std::string describe() const override {
    std::string text =
        std::string(name(d_.dtype)) + (d_.arithmetic == Arithmetic::TF32 && d_.dtype == f32 ? " (tf32) " : " ") + to_string(product_);
    if (product_.empty()) return "nothing " + text;
    if (direct_) return "plain kernel " + text;
    if (split_) return split_->text + " " + text;
    text = "cuBLASLt " + text + ", algorithm " + algorithm_number();
    if (product_.offsets.size() > 1) text += ", " + std::to_string(product_.offsets.size()) + " calls";
    return after_ ? text + ", epilogue as a kernel" : text;
  }

 private:
  using Choice = cublasLtMatmulHeuristicResult_t;

  void queue(std::span<void* const> buffers, void* scratch) const {
    void* const bias = d_.bias ? buffers[2] : nullptr;
    void* const c = buffers.back();
    if (split_ && is_aligned({buffers[0], buffers[1], c})) return run_split(*split_, buffers, bias, c);
    if (direct_) return d_.bias ? direct_->launch({buffers[0], buffers[1], bias, c}) : direct_->launch({buffers[0], buffers[1], c});
    const auto element = static_cast<std::int64_t>(size_of(d_.dtype));
    for (const auto& offset : product_.offsets) {
      char* const a = static_cast<char*>(buffers[0]) + offset.a * element;
      char* const b = static_cast<char*>(buffers[1]) + offset.b * element;
      multiply(a, b, bias, static_cast<char*>(c) + offset.c * element, scratch);
    }
    if (after_) d_.bias ? after_->launch({bias, c}) : after_->launch({c});
  }

  void prepare() {
    const BlasLt& lt = blas_lt(context_);
    if (const auto epilogue = epilogue_of(d_, product_)) choose(lt, *epilogue);
    if (!aligned_ && !split_ && (d_.bias || d_.activation != Activation::None)) {
      choose(lt, CUBLASLT_EPILOGUE_DEFAULT);
      if (aligned_) after_.emplace(context_, epilogue_kernel({d_.dtype, d_.c, d_.bias ? d_.c.shape.rank() - 1 : -1, false, d_.activation}));
    }
  }

  void choose(const BlasLt& lt, cublasLtEpilogue_t epilogue) {
    problem_ = std::make_unique<LtProblem>(lt, d_, product_, epilogue);
    problem_->is_f64(d_.dtype == f64);
    fused_bias_ = d_.bias && epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    relu_ = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    const bool measured = is_measured(product_), measures = measured && !is_recording(context_);
    const std::string key = key_of(d_, product_, epilogue);
    if (measured) {
      if (const auto text = tuning_file().find(lt.section, key)) {
        if (*text == kNone) return;
        if (const auto own = SplitChoice::from(*text)) split_ = split(*own);
        if (const auto algorithm = from_text(*text)) aligned_ = problem_->checked(*algorithm);
        if (split_ || aligned_) return;
      }
    }
    auto candidates = problem_->candidates(kAlignment, kWorkspace);
    if (measures && relu_) std::erase_if(candidates, [&](const Choice& choice) { return !keeps_nan(choice); });
    aligned_ = first_usable(candidates, measures);
    if (!aligned_) {
      if (measures && relu_) tuning_file().store(lt.section, key, kNone, 0);
      return;
    }
    if (!measures) return;
    const auto best = try_all(candidates);
    const auto own = try_split();
    if (own && (!best || own->second < best->microseconds)) {
      aligned_.reset();
      split_ = split(own->first);
      tuning_file().store(lt.section, key, own->first.text(), own->second);
    } else if (best) {
      aligned_ = candidates[best->index];
      tuning_file().store(lt.section, key, to_text(aligned_->algo), best->microseconds);
    }
  }

  std::optional<Choice> first_usable(const std::vector<Choice>& candidates, bool all_usable) const {
    for (const Choice& choice : candidates) {
      if (all_usable || !relu_ || keeps_nan(choice)) return choice;
    }
    return std::nullopt;
  }

  /// For operands at any address; found when the first of them comes, within the scratch that there is.
  const std::optional<Choice>& unaligned() const {
    if (!unaligned_) unaligned_ = first_usable(problem_->candidates(static_cast<std::uint32_t>(size_of(d_.dtype)), scratch_bytes()), false);
    return unaligned_;
  }

  /// Some of cuBLASLt's kernels turn NaN into 0 in their ReLU and so hide a network that has diverged. Found out by trying.
  bool keeps_nan(const Choice& choice) const {
    if (is_recording(context_)) return false;
    try {
      const std::size_t element = size_of(d_.dtype), a_bytes = extent_bytes(d_.dtype, d_.a), b_bytes = extent_bytes(d_.dtype, d_.b),
                        c_bytes = extent_bytes(d_.dtype, d_.c), bias_bytes = element * static_cast<std::size_t>(d_.c.shape.back());
      const auto a = allocate(context_, a_bytes), b = allocate(context_, b_bytes), c = allocate(context_, c_bytes),
                 bias = allocate(context_, bias_bytes), workspace = allocate(context_, kWorkspace);
      const auto fill = [&](const Ref<Buffer>& buffer, unsigned char byte, std::size_t bytes) {
        check(cuMemsetD8Async(std::bit_cast<CUdeviceptr>(buffer->data()), byte, bytes, context_.stream), "matmul");
      };
      constexpr unsigned char kNan = 0xff;  // in every byte: NaN in every float type
      fill(a, kNan, a_bytes), fill(b, kNan, b_bytes), fill(c, 0, c_bytes), fill(bias, 0, bias_bytes);
      const bool swapped = product_.swapped;
      problem_->run(choice, swapped ? b->data() : a->data(), swapped ? a->data() : b->data(), fused_bias_ ? bias->data() : nullptr,
                    c->data(), workspace->data(), context_.stream);
      std::array<unsigned char, 8> first{};
      check(cuMemcpyDtoHAsync(first.data(), std::bit_cast<CUdeviceptr>(c->data()), element, context_.stream), "matmul");
      check(cuStreamSynchronize(context_.stream), "matmul");
      return first != std::array<unsigned char, 8>{};
    } catch (const Error&) { return false; }
  }

  std::optional<Fastest> try_all(const std::vector<Choice>& candidates) const {
    try {
      const RotatingBuffers buffers(context_, buffer_sizes());
      const auto workspace = allocate(context_, kWorkspace);
      return fastest(context_, candidates.size(), [&](std::size_t i, int repetition) {
        const bool swapped = product_.swapped;
        problem_->run(candidates[i], buffers(repetition, swapped ? 1 : 0), buffers(repetition, swapped ? 0 : 1),
                      fused_bias_ ? buffers(repetition, 3) : nullptr, buffers(repetition, 2), workspace->data(), context_.stream);
      });
    } catch (const Error&) {
      return std::nullopt;  // no memory to try them with
    }
  }

  // ---- A kernel of our own for small products.
  struct Split {
    std::string text;
    LoadedKernel kernel;
  };
  Split split(const SplitChoice& choice) const { return {choice.text(), {context_, split_product_kernel(d_, product_, choice)}}; }

  void run_split(const Split& split, std::span<void* const> buffers, void* bias, void* c) const {
    void* const left = buffers[product_.swapped ? 1 : 0];
    void* const right = buffers[product_.swapped ? 0 : 1];
    bias ? split.kernel.launch({left, right, bias, c}) : split.kernel.launch({left, right, c});
  }

  std::optional<std::pair<SplitChoice, double>> try_split() const {
    const auto choices = split_choices(d_, product_, context_.architecture);
    if (choices.empty()) return std::nullopt;
    try {
      const RotatingBuffers buffers(context_, buffer_sizes());
      std::vector<Split> kernels;
      for (const SplitChoice& choice : choices) kernels.push_back(split(choice));
      const auto best = fastest(context_, choices.size(), [&](std::size_t i, int repetition) {
        const std::array<void*, 2> operands{buffers(repetition, 0), buffers(repetition, 1)};
        run_split(kernels[i], operands, d_.bias ? buffers(repetition, 3) : nullptr, buffers(repetition, 2));
      });
      if (best) return std::pair{choices[best->index], best->microseconds};
    } catch (const Error&) {
      return std::nullopt;  // too little memory to measure in
    }
    return std::nullopt;
  }

  std::vector<std::size_t> buffer_sizes() const {
    return {extent_bytes(d_.dtype, d_.a), extent_bytes(d_.dtype, d_.b), extent_bytes(d_.dtype, d_.c),
            size_of(d_.dtype) * static_cast<std::size_t>(d_.c.shape.back())};
  }

  static bool is_aligned(std::initializer_list<const void*> addresses) {
    return std::ranges::all_of(addresses, [](const void* a) { return std::bit_cast<std::uintptr_t>(a) % kAlignment == 0; });
  }

  void multiply(const void* a, const void* b, const void* bias, void* c, void* scratch) const {
    const bool aligned = is_aligned({a, b, c, fused_bias_ ? bias : nullptr});
    if (!aligned && !unaligned()) {
      throw Error({.op = "matmul",
                   .got = "an operand that does not begin at a multiple of 16 bytes",
                   .expected = "one that does, for " + describe(),
                   .advice = "copy the slice first"});
    }
    problem_->run(aligned ? *aligned_ : *unaligned_, product_.swapped ? b : a, product_.swapped ? a : b, fused_bias_ ? bias : nullptr, c,
                  scratch, context_.stream);
  }

  std::string algorithm_number() const {
    const BlasLt& lt = blas_lt(context_);
    std::int32_t id = -1;
    std::uint32_t tile = 0, stages = 0;
    std::int32_t split = 1;
    std::size_t written = 0;
    const Algorithm algorithm = aligned_->algo;
    lt.algo_get(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
    lt.algo_get(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, &written);
    lt.algo_get(&algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID, &stages, sizeof stages, &written);
    lt.algo_get(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, sizeof split, &written);
    std::string text = std::to_string(id) + " tile " + std::to_string(tile) + " stages " + std::to_string(stages);
    return split > 1 ? text + " split " + std::to_string(split) : text;
  }

  Context& context_;
  runtime::Matmul d_;
  BlasProduct product_;
  std::unique_ptr<LtProblem> problem_;
  std::optional<Choice> aligned_;  // for operands at multiples of kAlignment
  mutable std::optional<Choice> unaligned_;  // for any; calls of a card run one after another
  bool fused_bias_ = false, relu_ = false;
  std::optional<LoadedKernel> direct_, after_;
  std::optional<Split> split_;  // for aligned operands, instead of the library
};

}  // namespace

bool fuses_activation(DType dtype, Activation activation) {
  return dtype != f64 && (activation == Activation::Relu || activation == Activation::GeluTanh);
}

void request_matmul(Context& context, const runtime::Matmul& description) {
  const BlasProduct product = blas_product(description);
  if (product.empty() || product.k == 0 || !is_measured(product)) return;
  const auto epilogue = epilogue_of(description, product);
  if (!epilogue || tuning_file().find(blas_lt(context).section, key_of(description, product, *epilogue))) return;
  for (const SplitChoice& choice : split_choices(description, product, context.architecture))
    const LoadedKernel requested(context, split_product_kernel(description, product, choice));
}

std::unique_ptr<runtime::Call> make_matmul(Context& context, const runtime::Matmul& description) {
  context.enter();
  return std::make_unique<MatmulCall>(context, description);
}

}  // namespace tegula::gpu
