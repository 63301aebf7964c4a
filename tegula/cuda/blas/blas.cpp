// Products on the GPU: cuBLASLt, with the epilogues it has; a plain kernel for the rest.

#include "tegula/cuda/blas/blas.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/blas/blas_e4m3.h"
#include "tegula/cuda/blas/blas_gradient.h"
#include "tegula/cuda/blas/blas_layout.h"
#include "tegula/cuda/blas/blas_problem.h"
#include "tegula/cuda/compiler/brought_code.h"
#include "tegula/cuda/compiler/shared_library.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/driver/measure.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_split_product.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/simt/costs.h"

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
  version = std::to_string(library.function<decltype(cublasLtGetVersion)>("cublasLtGetVersion")());
  section = context.name + ", " + kBlasLt + " " + version;
}

void BlasLt::check(cublasStatus_t status, const std::string& what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error({.op = "matmul", .got = "cuBLASLt: " + std::string(status_string(status)) + ", for " + what});
}

const BlasLt* blas_lt_if_there(Context& context) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, std::unique_ptr<BlasLt>>;
  const std::scoped_lock lock(*mutex);
  const auto [found, is_new] = all->try_emplace(context.index);
  std::unique_ptr<BlasLt>& one = found->second;
  if (is_new)
    one = made_or_told([&] { return std::make_unique<BlasLt>(context); }, "kernels of our own multiply, large matrices many times slower");
  context.enter();
  if (one) note_version(kBlasLt, one->version);
  return one.get();
}

const BlasLt& blas_lt(Context& context) {
  if (const BlasLt* const one = blas_lt_if_there(context)) return *one;
  throw Error({.op = "matmul", .got = "no cuBLASLt that can be used", .expected = "that of the CUDA toolkit"});
}

namespace {

using runtime::Arithmetic;

/// Nothing where cuBLASLt has no such epilogue, or a bias runs along the wrong axis.
std::optional<cublasLtEpilogue_t> epilogue_of(const runtime::Matmul& d, const BlasProduct& p) {
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  if (sums.tensor || (sums.channel && !p.swapped)) return std::nullopt;
  if (sums.rest.is_empty()) return sums.channel ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (sums.rest == runtime::relu(d.dtype())) return sums.channel ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (fuses_activation(sums.rest, d.dtype())) return sums.channel ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  return std::nullopt;
}

class MatmulCall : public runtime::Call {
 public:
  MatmulCall(Context& context, const runtime::Matmul& d)
      : context_(context),
        d_(d),
        bias_(runtime::sums_of(d.epilogue).channel),
        product_(blas_product(d)) {
    if (product_.empty()) return;
    if (product_.k > 0) prepare();
    if (!aligned_ && (!split_ || without_library_)) direct_.emplace(context, direct_matmul_kernel(d));
  }

  std::size_t scratch_bytes() const override { return aligned_ ? aligned_->workspaceSize : 0; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (product_.empty()) return;
    context_.enter();
    queue(buffers, options.scratch);
    context_.queued("matmul");
  }

  std::string describe() const override {
    std::string text =
        std::string(name(d_.dtype())) + (d_.arithmetic == Arithmetic::TF32 && d_.dtype() == f32 ? " (tf32) " : " ") + to_string(product_);
    if (product_.empty()) return "nothing " + text;
    if (split_) return split_->text + " " + text;
    if (direct_) return "plain kernel " + text;
    text = "cuBLASLt " + text + ", " + problem().describe(*aligned_);
    if (product_.offsets.size() > 1) text += ", " + std::to_string(product_.offsets.size()) + " calls";
    return text;
  }

  /// The kernel that runs after the product, if it has one; the product then has neither bias nor activation, and no buffer for a bias.
  const std::optional<PlainKernel>& epilogue() const { return after_; }

 private:
  using Choice = cublasLtMatmulHeuristicResult_t;

  void queue(std::span<void* const> buffers, void* scratch) const {
    void* const bias = bias_ && !after_ ? buffers[2] : nullptr;
    void* const c = buffers.back();
    if (split_ && is_aligned({buffers[0], buffers[1], c})) return run_split(*split_, buffers, bias, c);
    if (direct_) return bias_ ? direct_->launch({buffers[0], buffers[1], bias, c}) : direct_->launch({buffers[0], buffers[1], c});
    const auto element = static_cast<std::int64_t>(size_of(d_.dtype()));
    for (const auto& offset : product_.offsets) {
      char* const a = static_cast<char*>(buffers[0]) + offset.a * element;
      char* const b = static_cast<char*>(buffers[1]) + offset.b * element;
      multiply(a, b, bias, static_cast<char*>(c) + offset.c * element, scratch);
    }
  }

  void prepare() {
    if (const auto epilogue = epilogue_of(d_, product_)) choose(*epilogue);
    if (!aligned_ && !split_ && !d_.epilogue.is_empty()) {
      choose(CUBLASLT_EPILOGUE_DEFAULT);
      if (aligned_) after_ = epilogue_kernel({d_.dtype(), d_.c.layout, d_.c.layout.shape.rank() - 1, runtime::sums_of(d_.epilogue)});
    }
  }

  /// Opening the library takes a tenth of a second: that is left to those that need it.
  LtProblem& problem() const {
    if (!problem_) problem_ = std::make_unique<LtProblem>(blas_lt(context_), form_, product_);
    return *problem_;
  }

  void choose(cublasLtEpilogue_t epilogue) {
    form_ = form_of(d_, epilogue);
    problem_ = nullptr;
    relu_ = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    const bool measured = is_measured(product_), measures = measured && !is_recording(context_);
    const std::string key = tuning_key(form_, product_);
    if (const auto text = measured ? tuning_file().find(context_.own_section(), key) : std::nullopt) {
      if (const auto own = SplitChoice::from(*text)) {
        split_ = split(*own);
        return;
      }
    }
    const BlasLt* const library = blas_lt_if_there(context_);
    without_library_ = !library;
    if (!library) {
      if (const auto own = split_choices(d_, product_, context_.card); !own.empty()) split_ = split(own.front());
      return;
    }
    const std::string& section = library->section;
    if (const auto text = measured ? tuning_file().find(section, key) : std::nullopt) {
      if (*text == kNoAlgorithm) return;
      aligned_ = problem().remembered(*text);
      if (aligned_) return;
    }
    auto candidates = problem().candidates(kBlasAlignment, kBlasWorkspace);
    if (measures && relu_) std::erase_if(candidates, [&](const Choice& choice) { return !keeps_nan(choice); });
    aligned_ = first_usable(candidates, measures);
    if (!aligned_) {
      if (measures && relu_) tuning_file().store(section, key, kNoAlgorithm, 0);
      return;
    }
    if (!measures) return;
    measure_choices(section, key, candidates);
  }

  std::optional<Choice> first_usable(const std::vector<Choice>& candidates, bool all_usable) const {
    for (const Choice& choice : candidates) {
      if (all_usable || !relu_ || keeps_nan(choice)) return choice;
    }
    return std::nullopt;
  }

  /// The algorithm for operands at any address; found when the first of them comes, within the scratch that there is.
  const std::optional<Choice>& unaligned() const {
    if (!unaligned_) unaligned_ = first_usable(problem().candidates(size_of(d_.dtype()), scratch_bytes()), false);
    return unaligned_;
  }

  /// Some of cuBLASLt's kernels turn NaN into 0 in their ReLU and so hide a network that has diverged. Found out by trying.
  bool keeps_nan(const Choice& choice) const {
    if (is_recording(context_)) return false;
    try {
      const std::size_t element = size_of(d_.dtype()), a_bytes = extent_bytes(d_.dtype(), d_.a.layout),
                        b_bytes = extent_bytes(d_.dtype(), d_.b.layout), c_bytes = extent_bytes(d_.dtype(), d_.c.layout),
                        bias_bytes = element * static_cast<std::size_t>(d_.c.layout.shape.back());
      const auto a = allocate(context_, a_bytes), b = allocate(context_, b_bytes), c = allocate(context_, c_bytes),
                 bias = allocate(context_, bias_bytes), workspace = allocate(context_, kBlasWorkspace);
      const auto fill = [&](const Ref<Buffer>& buffer, unsigned char byte, std::size_t bytes) {
        check(cuMemsetD8Async(std::bit_cast<CUdeviceptr>(buffer->data()), byte, bytes, context_.stream()), "matmul");
      };
      constexpr unsigned char kNan = 0xff;  // in every byte: NaN in every float type
      fill(a, kNan, a_bytes), fill(b, kNan, b_bytes), fill(c, 0, c_bytes), fill(bias, 0, bias_bytes);
      problem().run(choice, addresses(a->data(), b->data(), bias->data(), c->data()), workspace->data(), context_.stream());
      std::array<unsigned char, 8> first{};
      check(cuMemcpyDtoHAsync(first.data(), std::bit_cast<CUdeviceptr>(c->data()), element, context_.stream()), "matmul");
      check(cuStreamSynchronize(context_.stream()), "matmul");
      return first != std::array<unsigned char, 8>{};
    } catch (const Error&) { return false; }
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

  /// Measures the library's candidates against our own kernels. If memory for measuring is short, the library's guess stays.
  void measure_choices(const std::string& section, const std::string& key, const std::vector<Choice>& candidates) {
    const auto choices = split_choices(d_, product_, context_.card);
    try {
      const RotatingBuffers buffers(context_, buffer_sizes());
      const auto workspace = allocate(context_, kBlasWorkspace);
      std::vector<Split> kernels;
      for (const SplitChoice& choice : choices) kernels.push_back(split(choice));
      const auto try_all = [&](std::size_t count, const auto& run) {
        return fastest(context_, count, [&](std::size_t i, int repetition) {
          run(i, std::array<void*, 2>{buffers(repetition, 0), buffers(repetition, 1)}, bias_ ? buffers(repetition, 3) : nullptr,
              buffers(repetition, 2));
        });
      };
      const auto library = try_all(candidates.size(), [&](std::size_t i, const auto& operands, void* bias, void* c) {
        problem().run(candidates[i], addresses(operands[0], operands[1], bias, c), workspace->data(), context_.stream());
      });
      const auto own = try_all(kernels.size(),
                               [&](std::size_t i, const auto& operands, void* bias, void* c) { run_split(kernels[i], operands, bias, c); });
      if (own && (!library || own->microseconds <= library->microseconds + 1e6 * costs().opening_seconds)) {
        aligned_.reset();
        split_ = std::move(kernels[own->index]);
        tuning_file().store(context_.own_section(), key, split_->text, own->microseconds);
      } else if (library) {
        aligned_ = candidates[library->index];
        tuning_file().store(section, key, LtProblem::text_of(*aligned_), library->microseconds);
      }
    } catch (const Error&) { return; }
  }

  LtAddresses addresses(const void* a, const void* b, const void* bias, void* c) const {
    const bool swapped = product_.swapped;
    return {.left = swapped ? b : a, .right = swapped ? a : b, .result = c, .bias = bias};
  }

  std::vector<std::size_t> buffer_sizes() const {
    return {extent_bytes(d_.dtype(), d_.a.layout), extent_bytes(d_.dtype(), d_.b.layout), extent_bytes(d_.dtype(), d_.c.layout),
            size_of(d_.dtype()) * static_cast<std::size_t>(d_.c.layout.shape.back())};
  }

  static bool is_aligned(std::initializer_list<const void*> addresses) {
    return std::ranges::all_of(addresses, [](const void* a) { return std::bit_cast<std::uintptr_t>(a) % kBlasAlignment == 0; });
  }

  void multiply(const void* a, const void* b, const void* bias, void* c, void* scratch) const {
    const bool aligned = is_aligned({a, b, c, form_.reads_bias() ? bias : nullptr});
    if (!aligned && !unaligned()) {
      throw Error({.op = "matmul",
                   .got = "an operand that does not begin at a multiple of 16 bytes",
                   .expected = "one that does, for " + describe(),
                   .advice = "copy the slice first"});
    }
    problem().run(aligned ? *aligned_ : *unaligned_, addresses(a, b, bias, c), scratch, context_.stream());
  }

  Context& context_;
  runtime::Matmul d_;
  bool bias_;
  BlasProduct product_;
  LtForm form_;
  mutable std::unique_ptr<LtProblem> problem_;  // when it is first needed
  std::optional<Choice> aligned_;  // for operands at multiples of kBlasAlignment
  mutable std::optional<Choice> unaligned_;  // for any; calls of a card run one after another
  bool relu_ = false, without_library_ = false;
  std::optional<LoadedKernel> direct_;  // where there is nothing else, and for what is not aligned where there is no library
  std::optional<PlainKernel> after_;
  std::optional<Split> split_;  // for aligned operands, instead of the library
};

}  // namespace

bool fuses_activation(const runtime::Expression& rest, DType dtype) {
  return dtype != f64 && (rest == runtime::relu(dtype) || rest == runtime::gelu_tanh(dtype));
}

void request_matmul(Context& context, const runtime::Matmul& description) {
  if (description.epilogue == runtime::gelu_tanh_gradient(description.dtype())) return;
  const BlasProduct product = blas_product(description);
  if (product.empty() || product.k == 0 || !is_measured(product)) return;
  const auto epilogue = epilogue_of(description, product);
  if (!epilogue || tuning_file().knows(tuning_key(form_of(description, *epilogue), product))) return;
  for (const SplitChoice& choice : split_choices(description, product, context.card))
    const LoadedKernel requested(context, split_product_kernel(description, product, choice));
}

std::unique_ptr<runtime::Call> make_matmul(Context& context, const runtime::Matmul& description) {
  context.enter();
  if (description.multiplies_codes()) return make_matmul_e4m3(context, description);
  if (description.epilogue == runtime::gelu_tanh_gradient(description.dtype())) return make_gradient_matmul(context, description);
  auto product = std::make_unique<MatmulCall>(context, description);
  const std::optional<PlainKernel> epilogue = product->epilogue();
  if (!epilogue) return product;
  using runtime::StepOperand;
  const bool bias = runtime::sums_of(description.epilogue).channel;
  const int c = bias ? 3 : 2;
  std::vector<StepOperand> behind;
  if (bias) behind.push_back(StepOperand::reads(2));
  behind.push_back(StepOperand::updates(c));
  runtime::CallSteps steps;
  steps.steps.push_back({"", std::move(product), {StepOperand::reads(0), StepOperand::reads(1), StepOperand::writes(c)}});
  steps.steps.push_back({"epilogue", kernel_call(context, *epilogue, "matmul"), std::move(behind)});
  return runtime::call_of(std::move(steps), static_cast<std::size_t>(c) + 1);
}

}  // namespace tegula::gpu
