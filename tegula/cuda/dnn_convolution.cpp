// Convolutions on the GPU: cuDNN, with copies around it where the memory lies in an order that it does not take; a plain kernel for what
// remains (sums over nothing, dtypes without an engine).

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/dnn_plan.h"
#include "tegula/cuda/library.h"
#include "tegula/cuda/library_kernels.h"
#include "tegula/cuda/measure.h"
#include "tegula/cuda/tuning.h"

namespace tegula::gpu {
namespace {

using runtime::Activation;
using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::size_t kCandidates = 8;
constexpr std::uintptr_t kAlignment = 16;
constexpr const char* kNoEngine = "none";

/// Up to eight times the tensors themselves, within 32 MiB and 1 GiB.
std::size_t workspace_bound(const Convolution& d) {
  const std::size_t tensors = extent_bytes(d.dtype, d.input) + extent_bytes(d.dtype, d.weight) + extent_bytes(d.dtype, d.output);
  return std::clamp(8 * tensors, std::size_t{32} << 20, std::size_t{1} << 30);
}

double operations(const Convolution& d) {
  return 2.0 * static_cast<double>(numel(d.output.shape)) * static_cast<double>(numel(d.weight.shape)) /
         static_cast<double>(std::max<std::int64_t>(d.weight.shape[0], 1));
}
constexpr double kWorthMeasuring = 1e6;

/// A tensor of the call: as it was described, and as cuDNN sees it.
struct Operand {
  Layout described, seen;
  Dims shift;                  // of `seen` against `described`
  std::optional<LoadedKernel> copy;
  std::size_t scratch_offset = 0;

  bool staged() const { return copy.has_value(); }
};

bool same_elements(const Layout& a, const Layout& b) {
  if (a.shape != b.shape) return false;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

class ConvolutionCall : public runtime::Call {
 public:
  ConvolutionCall(Context& context, const Convolution& d) : context_(context), d_(d) {
    result_ = d.pass == ConvolutionPass::Forward ? 2 : d.pass == ConvolutionPass::BackwardData ? 0 : 1;
    const Layout* layouts[] = {&d.input, &d.weight, &d.output};
    bool empty = false;
    for (const Layout* layout : layouts) empty = empty || numel(layout->shape) == 0;
    if (!empty) choose();
    if (!plan_) direct_.emplace(context, direct_convolution_kernel(d));
    if (d.bias && d.pass == ConvolutionPass::BackwardWeight) bias_gradient_.emplace(context, bias_gradient_kernel(d));
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<void* const> buffers, void* scratch, int) const override {
    context_.enter();
    // (input, weight, output) in this order, whatever the pass.
    std::array<void*, 3> pointers{};
    void* bias = nullptr;
    switch (d_.pass) {
      case ConvolutionPass::Forward:
        pointers = {buffers[0], buffers[1], buffers.back()};
        bias = d_.bias ? buffers[2] : nullptr;
        break;
      case ConvolutionPass::BackwardData: pointers = {buffers[2], buffers[1], buffers[0]}; break;
      default: pointers = {buffers[0], buffers[2], buffers[1]}; break;
    }
    if (direct_) run_direct(pointers, bias);
    else run_plan(pointers, bias, static_cast<char*>(scratch));
    if (bias_gradient_) bias_gradient_->launch({pointers[2], buffers[3]});
    context_.queued("convolution");
  }

  std::string describe() const override {
    std::string text;
    if (plan_) {
      text = "cuDNN engine " + plan_->engine();
      if (plan_->workspace() > 0) text += ", workspace " + std::to_string(plan_->workspace() >> 10) + " KiB";
      constexpr const char* names[] = {"input", "weight", "output"};
      for (std::size_t i = 0; i < 3; ++i) {
        if (operands_[i].staged()) text += std::string(", copies the ") + names[i];
      }
      if (after_) text += ", epilogue as a kernel";
    } else {
      text = "plain kernel";
    }
    if (bias_gradient_) text += ", bias gradient as a kernel";
    return text + ": " + key_of(d_, attempt_);
  }

 private:
  void choose() {
    const Dnn& dnn = gpu::dnn(context_);
    for (const DnnAttempt& attempt : dnn_attempts(d_)) {
      const DnnProblem problem = dnn_problem(d_, attempt);
      if (!find_plan(dnn, problem, attempt)) continue;
      attempt_ = attempt;
      stage(problem);
      const bool epilogue = d_.pass == ConvolutionPass::Forward && (d_.bias || d_.activation != Activation::None);
      if (epilogue && !attempt.fused) after_.emplace(context_, epilogue_kernel({d_.dtype, d_.output, d_.bias ? 1 : -1, d_.activation}));
      return;
    }
  }

  bool find_plan(const Dnn& dnn, const DnnProblem& problem, const DnnAttempt& attempt) {
    const std::string key = key_of(d_, attempt);
    const bool tuning = tuning_enabled();
    const auto remembered = tuning ? tuning_file().find(dnn.section, key) : std::nullopt;
    if (remembered == kNoEngine) return false;
    const std::size_t bound = workspace_bound(d_);
    try {
      graph_.emplace(dnn, d_, problem, attempt.fused);
    } catch (const Error&) {
      return false;  // not a graph that cuDNN knows
    }
    if (remembered) plan_ = graph_->plan(*remembered, bound);
    if (plan_) return true;
    const bool measures = tuning && operations(d_) >= kWorthMeasuring && !is_recording(context_);
    auto plans = graph_->plans(bound, measures ? kCandidates : 1);
    if (plans.empty()) {
      if (tuning) tuning_file().store(dnn.section, key, kNoEngine, 0);
      return false;
    }
    const auto best = measures ? try_all(plans, problem, attempt) : std::nullopt;
    plan_ = std::move(plans[best ? best->index : 0]);
    if (best) tuning_file().store(dnn.section, key, plan_->engine(), best->microseconds);
    return true;
  }

  std::optional<Fastest> try_all(const std::vector<DnnPlan>& plans, const DnnProblem& problem, const DnnAttempt& attempt) const {
    try {
      const auto bytes = [&](const Layout& layout) { return extent_bytes(d_.dtype, layout); };
      const RotatingBuffers buffers(context_, {bytes(problem.input), bytes(problem.weight), bytes(problem.output),
                                               size_of(d_.dtype) * static_cast<std::size_t>(d_.weight.shape[0])});
      std::size_t workspace = 0;
      for (const DnnPlan& plan : plans) workspace = std::max(workspace, plan.workspace());
      const auto scratch = allocate(context_, std::max<std::size_t>(workspace, 256));
      const bool bias = attempt.fused && d_.bias;
      return fastest(context_, plans.size(), [&](std::size_t i, int repetition) {
        plans[i].run({.input = buffers(repetition, 0),
                      .weight = buffers(repetition, 1),
                      .output = buffers(repetition, 2),
                      .bias = bias ? buffers(repetition, 3) : nullptr},
                     scratch->data());
      });
    } catch (const Error&) {
      return std::nullopt;  // no memory to try them with
    }
  }

  /// Where cuDNN's order is another one, a copy goes through scratch: before the plan for operands, after it for the result.
  void stage(const DnnProblem& p) {
    const Dims none = Dims::filled(p.input.shape.rank(), 0);
    operands_ = {Operand{p.described_input, p.input, p.shift, {}, 0}, Operand{p.described_weight, p.weight, none, {}, 0},
                 Operand{p.described_output, p.output, none, {}, 0}};
    scratch_bytes_ = align_scratch(plan_->workspace());
    for (std::size_t i = 0; i < 3; ++i) {
      Operand& o = operands_[i];
      if (same_elements(o.described, o.seen)) continue;
      PlainCopy copy{d_.dtype, o.described, o.seen, o.shift};
      if (i == result_) {
        std::swap(copy.from, copy.to);
        for (auto& shift : copy.shift) shift = -shift;
      }
      o.copy.emplace(context_, copy_kernel(copy));
      o.scratch_offset = scratch_bytes_;
      scratch_bytes_ += align_scratch(extent_bytes(d_.dtype, o.seen));
    }
  }

  void run_direct(const std::array<void*, 3>& pointers, void* bias) const {
    const auto [input, weight, output] = pointers;
    switch (d_.pass) {
      case ConvolutionPass::Forward:
        return bias ? direct_->launch({input, weight, bias, output}) : direct_->launch({input, weight, output});
      case ConvolutionPass::BackwardData: return direct_->launch({output, weight, input});
      default: return direct_->launch({input, output, weight});
    }
  }

  void run_plan(const std::array<void*, 3>& pointers, void* bias, char* scratch) const {
    std::array<void*, 3> seen = pointers;
    for (std::size_t i = 0; i < 3; ++i) {
      if (operands_[i].staged()) seen[i] = scratch + operands_[i].scratch_offset;
      else seen[i] = aligned(i, pointers[i]);
      if (i == result_) continue;
      if (operands_[i].staged()) operands_[i].copy->launch({pointers[i], seen[i]});
      else if (seen[i] != pointers[i]) transfer(seen[i], pointers[i], i);
    }
    plan_->run({.input = seen[0], .weight = seen[1], .output = seen[2], .bias = bias && attempt_.fused ? aligned_bias(bias) : nullptr},
               scratch);
    if (operands_[result_].staged()) operands_[result_].copy->launch({seen[result_], pointers[result_]});
    else if (seen[result_] != pointers[result_]) transfer(pointers[result_], seen[result_], result_);
    if (after_) bias ? after_->launch({bias, pointers[2]}) : after_->launch({pointers[2]});
  }

  /// Engines may take addresses for multiples of 16. A tensor that begins elsewhere (a slice) goes through a block of our own.
  void* aligned(std::size_t operand, void* pointer) const {
    return aligned(operand, pointer, extent_bytes(d_.dtype, operands_[operand].seen));
  }
  void* aligned_bias(void* bias) const {
    const std::size_t bytes = size_of(d_.dtype) * static_cast<std::size_t>(d_.weight.shape[0]);
    void* const place = aligned(3, bias, bytes);
    if (place != bias) transfer_bytes(place, bias, bytes);
    return place;
  }
  void* aligned(std::size_t slot, void* pointer, std::size_t bytes) const {
    if (std::bit_cast<std::uintptr_t>(pointer) % kAlignment == 0) return pointer;
    const std::scoped_lock lock(blocks_mutex_);
    if (!blocks_[slot]) blocks_[slot] = allocate(context_, bytes);
    return blocks_[slot]->data();
  }
  void transfer(void* to, const void* from, std::size_t operand) const {
    transfer_bytes(to, from, extent_bytes(d_.dtype, operands_[operand].seen));
  }
  void transfer_bytes(void* to, const void* from, std::size_t bytes) const {
    check(cuMemcpyDtoDAsync(std::bit_cast<CUdeviceptr>(to), std::bit_cast<CUdeviceptr>(from), bytes, context_.stream), "convolution");
  }

  Context& context_;
  Convolution d_;
  DnnAttempt attempt_;
  std::size_t result_ = 2;  // which of (input, weight, output)
  std::optional<DnnGraph> graph_;
  std::optional<DnnPlan> plan_;
  std::array<Operand, 3> operands_;
  std::size_t scratch_bytes_ = 0;
  std::optional<LoadedKernel> direct_, after_, bias_gradient_;
  mutable std::mutex blocks_mutex_;
  mutable std::array<Ref<Buffer>, 4> blocks_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_convolution(Context& context, const Convolution& description) {
  check_convolution(description);
  context.enter();
  return std::make_unique<ConvolutionCall>(context, description);
}

bool convolution_prefers_channels_last(const Context&, const Convolution& description) { return uses_tensor_cores(description); }

}  // namespace tegula::gpu
