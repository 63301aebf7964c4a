#include "tegula/cuda/blas/blas_call.h"

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/driver/measure.h"

namespace tegula::gpu {
namespace {

/// The algorithm that the tuning file remembers, else the fastest of the library's candidates, else its first guess. Nothing when it has none.
std::optional<LtProblem::Choice> choose_algorithm(Context& context, const LtProblem& problem, const LtCall& call) {
  const std::string &section = blas_lt(context).section, key = tuning_key(call.form, call.product);
  const bool measured = is_measured(call.product);
  if (const auto text = measured ? tuning_file().find(section, key) : std::nullopt) {
    if (*text == kNoAlgorithm) return std::nullopt;
    if (const auto known = problem.remembered(*text)) return known;
  }
  const auto candidates = problem.candidates(kBlasAlignment, kBlasWorkspace);
  const bool measures = measured && !is_recording(context);
  if (candidates.empty()) {
    if (measures) tuning_file().store(section, key, kNoAlgorithm, 0);
    return std::nullopt;
  }
  if (!measures) return candidates[0];
  try {
    const RotatingBuffers buffers(context, call.bytes);
    const auto workspace = allocate(context, kBlasWorkspace);
    std::vector<void*> blocks(call.bytes.size());
    const auto best = fastest(context, candidates.size(), [&](std::size_t i, int repetition) {
      for (std::size_t block = 0; block < blocks.size(); ++block) blocks[block] = buffers(repetition, block);
      problem.run(candidates[i], call.addresses(blocks), workspace->data(), context.stream());
    });
    if (!best) return candidates[0];
    tuning_file().store(section, key, LtProblem::text_of(candidates[best->index]), best->microseconds);
    return candidates[best->index];
  } catch (const Error&) {
    return candidates[0];  // no memory to try them with
  }
}

class LibraryCall final : public runtime::Call {
 public:
  LibraryCall(Context& context, LtCall call)
      : context_(context),
        call_(std::move(call)),
        problem_(blas_lt(context), call_.form, call_.product) {
    const auto choice = choose_algorithm(context, problem_, call_);
    if (!choice) {
      throw Error({.op = "matmul",
                   .got = call_.text + ", for which cuBLASLt has no algorithm",
                   .expected = "a product that it has",
                   .advice = call_.advice});
    }
    choice_ = *choice;
  }

  std::size_t scratch_bytes() const override { return choice_.workspaceSize; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    problem_.run(choice_, call_.addresses(buffers), options.scratch, context_.stream());
    context_.queued("matmul");
  }

  std::string describe() const override { return "cuBLASLt " + call_.text + ", " + problem_.describe(choice_); }

 private:
  Context& context_;
  LtCall call_;
  LtProblem problem_;
  LtProblem::Choice choice_{};
};

}  // namespace

std::unique_ptr<runtime::Call> make_library_call(Context& context, LtCall call) {
  return std::make_unique<LibraryCall>(context, std::move(call));
}

}  // namespace tegula::gpu
