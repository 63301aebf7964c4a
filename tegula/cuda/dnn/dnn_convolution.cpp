// Convolutions on the GPU: cuDNN, with copies around it where the memory lies in an order that it does not take; a plain kernel for what
// remains (sums over nothing, dtypes without an engine).

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/dnn/dnn_blocks.h"
#include "tegula/cuda/dnn/dnn_convolution_graph.h"
#include "tegula/cuda/driver/measure.h"
#include "tegula/cuda/handwritten/few_channels/few_channels.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_fold.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

using runtime::Activation;
using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::size_t kCandidates = 8;
constexpr const char* kName = "convolution";
constexpr const char* kNoEngine = "none";

/// Up to eight times the tensors themselves, within 32 MiB and 1 GiB.
std::size_t workspace_bound(const Convolution& d) {
  const std::size_t tensors = extent_bytes(d.dtype(), d.input.layout) + extent_bytes(d.dtype(), d.weight.layout) + extent_bytes(d.dtype(), d.output.layout);
  return std::clamp(8 * tensors, std::size_t{32} << 20, std::size_t{1} << 30);
}

bool is_measured(const Convolution& d) { return tuning_enabled() && runtime::work_of(d).operations >= costs().measured_convolution; }

/// Of the choice between our own kernels.
std::string own_key(const Convolution& d) { return key_of(d, {ChannelOrder::Last, false, true}); }

/// Of the choice between the arrangements of dnn_variants.
std::string variant_key(const Convolution& d) { return key_of(d, {ChannelOrder::Last, false, true}) + ", arrangement"; }

/// Our kernel for few channels that suits the sizes best and fits into this card's shared memory.
std::optional<FewChannels> own_kernel(const Context& context, const Convolution& d) {
  for (FewChannels& few : few_channels_kernels(d, context.card)) {
    if (few.kernel.shared <= context.shared_bytes) return std::move(few);
  }
  return std::nullopt;
}

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
  ConvolutionCall(Context& context, const Convolution& d) : context_(context), d_(d), blocks_(context, 5) {
    result_ = d.pass == ConvolutionPass::Forward ? 2 : d.pass == ConvolutionPass::BackwardData ? 0 : 1;
    const Layout* layouts[] = {&d.input.layout, &d.weight.layout, &d.output.layout};
    bool empty = false;
    for (const Layout* layout : layouts) empty = empty || numel(layout->shape) == 0;
    if (!empty) choose_fastest();
    if (!plan_ && !few_) use_direct_kernel();
    if (d.bias && d.pass == ConvolutionPass::BackwardWeight) bias_gradient_.emplace(context, bias_gradient_kernel(d));
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    // (input, weight, output) in this order, whatever the pass.
    std::array<void*, 3> pointers{};
    void *bias = nullptr, *addend = nullptr;
    switch (d_.pass) {
      case ConvolutionPass::Forward:
        pointers = {buffers[0], buffers[1], buffers.back()};
        bias = d_.bias ? buffers[2] : nullptr;
        addend = d_.addend ? buffers[buffers.size() - 2] : nullptr;
        break;
      case ConvolutionPass::BackwardData: pointers = {buffers[2], buffers[1], buffers[0]}; break;
      default: pointers = {buffers[0], buffers[2], buffers[1]}; break;
    }
    execute(pointers, bias, addend, static_cast<char*>(options.scratch));
    if (bias_gradient_) bias_gradient_->launch({pointers[2], buffers[3]});
    context_.queued(kName);
  }

  std::string describe() const override {
    std::string text;
    if (plan_) {
      text = "cuDNN engine " + plan_->plan.engine();
      if (plan_->plan.workspace() > 0) text += ", workspace " + std::to_string(plan_->plan.workspace() >> 10) + " KiB";
      constexpr const char* names[] = {"input", "weight", "output"};
      for (std::size_t i = 0; i < 3; ++i) {
        if (operands_[i].staged()) text += (folds(i) ? ", folds the " : ", copies the ") + std::string(names[i]);
      }
      if (after_) text += ", epilogue as a kernel";
    } else {
      text = few_ ? "kernel for few channels, " + few_->name : "plain kernel";
    }
    if (bias_gradient_) text += ", bias gradient as a kernel";
    return text + ": " + key_of(d_, attempt_);
  }

 private:
  /// Our own kernel for few channels, loaded.
  struct Few {
    std::string name;
    LoadedKernel kernel;
    std::optional<LoadedKernel> sum;
    Few(Context& context, const FewChannels& few) : name(few.name), kernel(context, few.kernel) {
      if (few.sum) sum.emplace(context, *few.sum);
    }
  };

  void use_few(const FewChannels& few) {
    attempt_ = {ChannelOrder::Last, false, true};
    operands_ = {Operand{d_.input.layout, d_.input.layout, {}, {}, 0}, Operand{d_.weight.layout, d_.weight.layout, {}, {}, 0},
                 Operand{d_.output.layout, d_.output.layout, {}, {}, 0}};
    few_.emplace(context_, few);
    scratch_bytes_ = few.scratch;
  }

  /// Our kernel for few channels against cuDNN, whose library is not even opened where ours is known to be faster.
  void choose_fastest() {
    const auto own = own_kernel(context_, d_);
    if (!own) return choose();
    if (few_channels_are_fastest(d_) || !is_measured(d_)) return use_few(*own);
    const std::string section = context_.own_section(), key = own_key(d_);
    if (const auto remembered = tuning_file().find(section, key)) return remembered == kNoEngine ? choose() : use_few(*own);
    if (is_recording(context_)) return use_few(*own);
    use_few(*own);
    const auto time = timed(1e30);
    reset();
    choose();
    const auto library = plan_ ? timed(1e30) : std::nullopt;
    if (time && (!library || *time < *library)) {
      reset();
      use_few(*own);
    }
    tuning_file().store(section, key, few_ ? few_->name : kNoEngine, (few_ ? time : library).value_or(0));
  }

  /// Microseconds of the call as it is set up now.
  std::optional<double> timed(double bound) const {
    try {
      const auto bytes = [&](const Layout& layout) { return extent_bytes(d_.dtype(), layout); };
      const RotatingBuffers buffers(context_, {bytes(d_.input.layout), bytes(d_.weight.layout), bytes(d_.output.layout),
                                               size_of(d_.dtype()) * static_cast<std::size_t>(d_.weight.layout.shape[0]), bytes(d_.output.layout)});
      const auto scratch = allocate(context_, std::max<std::size_t>(scratch_bytes_, 256));
      const auto run = [&](int i) {
        execute({buffers(i, 0), buffers(i, 1), buffers(i, 2)}, d_.bias ? buffers(i, 3) : nullptr, d_.addend ? buffers(i, 4) : nullptr,
                static_cast<char*>(scratch->data()));
      };
      return measure(context_, run, bound);
    } catch (const Error&) {
      return std::nullopt;  // no memory to try it with
    }
  }

  void execute(const std::array<void*, 3>& pointers, void* bias, void* addend, char* scratch) const {
    if (few_) run_few(pointers, bias, scratch);
    else if (direct_) run_direct(pointers, bias);
    else run_plan(pointers, bias, addend, scratch);
    if (after_) run_epilogue(direct_ ? nullptr : bias, addend, pointers[2]);
  }

  void run_few(const std::array<void*, 3>& pointers, void* bias, char* scratch) const {
    std::array<void*, 3> at = pointers;
    for (std::size_t i = 0; i < 3; ++i) {
      at[i] = aligned(i, pointers[i]);
      if (i != result_ && at[i] != pointers[i]) transfer(at[i], pointers[i], i);
    }
    switch (d_.pass) {
      case ConvolutionPass::Forward:
        if (bias) few_->kernel.launch({at[0], at[1], bias, at[2]});
        else few_->kernel.launch({at[0], at[1], at[2]});
        break;
      case ConvolutionPass::BackwardData: few_->kernel.launch({at[2], at[1], at[0]}); break;
      default: few_->kernel.launch({at[0], at[2], scratch}); few_->sum->launch({scratch, at[1]});
    }
    if (at[result_] != pointers[result_]) transfer(pointers[result_], at[result_], result_);
  }

  /// What was chosen for one key: equal calls of a program share it.
  struct Chosen {
    DnnGraph graph;
    DnnPlan plan;
  };
  static std::shared_ptr<const Chosen> shared(const std::string& key, const std::shared_ptr<const Chosen>& made) {
    static auto* mutex = new std::mutex;
    static auto* all = new std::map<std::string, std::weak_ptr<const Chosen>>;
    const std::scoped_lock lock(*mutex);
    auto& one = (*all)[key];
    if (made) one = made;
    return one.lock();
  }

  void choose() {
    const auto attempts = dnn_attempts(d_);
    if (attempts.empty()) return;
    if (const auto variants = dnn_variants(d_); variants.empty() || !choose_variant(attempts, variants)) set_up_first(attempts);
  }

  /// Whether one of them is faster than the call as it is described. It is set up then.
  bool choose_variant(const std::vector<DnnAttempt>& attempts, const std::vector<DnnVariant>& variants) {
    const std::string section = context_.own_section(), key = variant_key(d_);
    if (const auto remembered = tuning_enabled() ? tuning_file().find(section, key) : std::nullopt) {
      return std::any_of(variants.begin(), variants.end(),
                         [&](const DnnVariant& variant) { return *remembered == variant.name && set_up_first(variant.attempts); });
    }
    if (!is_measured(d_) || is_recording(context_)) return false;
    constexpr double kNever = 1e30;
    double least = (set_up_first(attempts) ? timed(kNever) : std::nullopt).value_or(kNever);
    const DnnVariant* best = nullptr;
    for (const DnnVariant& variant : variants) {
      reset();
      const auto time = set_up_first(variant.attempts) ? timed(least) : std::nullopt;
      if (time && *time < least) best = &variant, least = *time;
    }
    reset();
    tuning_file().store(section, key, best ? best->name : kNoEngine, least);
    return best && set_up_first(best->attempts);
  }

  void reset() {
    plan_ = nullptr;
    few_.reset();
    after_.reset();
    scratch_bytes_ = 0;
  }

  bool set_up_first(const std::vector<DnnAttempt>& attempts) {
    return std::any_of(attempts.begin(), attempts.end(), [&](const DnnAttempt& attempt) { return set_up(attempt); });
  }

  bool set_up(const DnnAttempt& attempt) {
    const DnnProblem problem = dnn_problem(d_, attempt);
    if (!find_plan(gpu::dnn(context_), problem, attempt)) return false;
    attempt_ = attempt;
    stage(problem);
    if (has_epilogue(d_) && !attempt.fused)
      after_.emplace(context_, epilogue_kernel({d_.dtype(), d_.output.layout, d_.bias ? 1 : -1, d_.addend, d_.activation}));
    return true;
  }

  /// Which adds the bias and, unless something else is added before it, applies the activation.
  void use_direct_kernel() {
    Convolution d = d_;
    if (d_.addend) {
      d.activation = Activation::None;
      after_.emplace(context_, epilogue_kernel({d_.dtype(), d_.output.layout, -1, true, d_.activation}));
    }
    direct_.emplace(context_, direct_convolution_kernel(d));
  }

  void run_epilogue(void* bias, void* addend, void* output) const {
    if (bias && addend) after_->launch({bias, addend, output});
    else if (bias || addend) after_->launch({bias ? bias : addend, output});
    else after_->launch({output});
  }

  bool find_plan(const Dnn& dnn, const DnnProblem& problem, const DnnAttempt& attempt) {
    const std::string key = key_of(d_, attempt);
    const std::string place = std::to_string(context_.index) + ": " + key;
    const bool tuning = tuning_enabled();
    const auto remembered = tuning ? tuning_file().find(dnn.section, key) : std::nullopt;
    plan_ = shared(place, nullptr);
    if (plan_) return true;
    if (remembered == kNoEngine) return false;
    const std::size_t bound = workspace_bound(d_);
    std::optional<DnnGraph> graph;
    try {
      graph.emplace(convolution_graph(dnn, d_, problem, attempt.fused));
    } catch (const Error&) {
      return false;  // not a graph that cuDNN knows
    }
    const auto take = [&](DnnPlan plan) {
      plan_ = shared(place, std::shared_ptr<const Chosen>(new Chosen{std::move(*graph), std::move(plan)}));
      return true;
    };
    if (remembered) {
      if (auto plan = graph->plan(*remembered, bound)) return take(std::move(*plan));
    }
    const bool measures = is_measured(d_) && !is_recording(context_);
    auto plans = graph->plans(bound, measures ? kCandidates : 1);
    if (plans.empty()) {
      if (tuning) tuning_file().store(dnn.section, key, kNoEngine, 0);
      return false;
    }
    const auto best = measures ? try_all(plans, problem, attempt) : std::nullopt;
    if (best && attempt.fused && apart(dnn, problem, attempt) < best->microseconds) {
      tuning_file().store(dnn.section, key, kNoEngine, best->microseconds);
      return false;
    }
    DnnPlan& plan = plans[best ? best->index : 0];
    if (best) tuning_file().store(dnn.section, key, plan.engine(), best->microseconds);
    return take(std::move(plan));
  }

  /// Microseconds of the convolution and a kernel for its epilogue, roughly.
  double apart(const Dnn& dnn, const DnnProblem& problem, DnnAttempt attempt) const {
    attempt.fused = false;
    try {
      const DnnGraph graph = convolution_graph(dnn, d_, problem, false);
      const auto plans = graph.plans(workspace_bound(d_), kCandidates);
      const auto best = try_all(plans, problem, attempt);
      const double moved = static_cast<double>(extent_bytes(d_.dtype(), d_.output.layout)) * (d_.addend ? 3 : 2);
      return best ? best->microseconds + 1e6 * (costs().epilogue_seconds + moved / costs().call_bytes_per_second) : 1e30;
    } catch (const Error&) { return 1e30; }
  }

  std::optional<Fastest> try_all(const std::vector<DnnPlan>& plans, const DnnProblem& problem, const DnnAttempt& attempt) const {
    try {
      const auto bytes = [&](const Layout& layout) { return extent_bytes(d_.dtype(), layout); };
      const RotatingBuffers buffers(
          context_, {bytes(problem.input), bytes(problem.weight), bytes(problem.output),
                     size_of(d_.dtype()) * static_cast<std::size_t>(problem.output.shape[1]), d_.addend ? bytes(problem.output) : 1});
      std::size_t workspace = 0;
      for (const DnnPlan& plan : plans) workspace = std::max(workspace, plan.workspace());
      const auto scratch = allocate(context_, std::max<std::size_t>(workspace, 256));
      const bool bias = attempt.fused && d_.bias, addend = attempt.fused && d_.addend;
      return fastest(context_, plans.size(), [&](std::size_t i, int repetition) {
        gpu::run(plans[i],
                 {.input = buffers(repetition, 0),
                  .weight = buffers(repetition, 1),
                  .output = buffers(repetition, 2),
                  .bias = bias ? buffers(repetition, 3) : nullptr,
                  .addend = addend ? buffers(repetition, 4) : nullptr},
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
    scratch_bytes_ = align_scratch(plan_->plan.workspace());
    for (std::size_t i = 0; i < 3; ++i) {
      Operand& o = operands_[i];
      if (same_elements(o.described, o.seen)) continue;
      o.copy.emplace(context_, folds(i) ? staging_fold(o, i == result_) : staging_copy(o, i == result_));
      o.scratch_offset = scratch_bytes_;
      scratch_bytes_ += align_scratch(extent_bytes(d_.dtype(), o.seen));
    }
  }

  bool folds(std::size_t operand) const { return operand != 2 && !attempt_.fold.empty(); }
  PlainKernel staging_copy(const Operand& o, bool back) const {
    PlainCopy copy{d_.dtype(), o.described, o.seen, o.shift};
    if (back) {
      std::swap(copy.from, copy.to);
      for (auto& shift : copy.shift) shift = -shift;
    }
    return copy_kernel(copy);
  }
  PlainKernel staging_fold(const Operand& o, bool back) const {
    const PlainFold fold{d_.dtype(), o.described, o.seen, attempt_.fold, {o.shift[2], o.shift[3]}, d_.stride[d_.stride.rank() - 1]};
    return back ? unfold_kernel(fold) : fold_kernel(fold);
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

  void run_plan(const std::array<void*, 3>& pointers, void* bias, void* addend, char* scratch) const {
    std::array<void*, 3> seen = pointers;
    for (std::size_t i = 0; i < 3; ++i) {
      if (operands_[i].staged()) seen[i] = scratch + operands_[i].scratch_offset;
      else seen[i] = aligned(i, pointers[i]);
      if (i == result_) continue;
      if (operands_[i].staged()) operands_[i].copy->launch({pointers[i], seen[i]});
      else if (seen[i] != pointers[i]) transfer(seen[i], pointers[i], i);
    }
    const bool fused = attempt_.fused;
    gpu::run(plan_->plan,
             {.input = seen[0],
              .weight = seen[1],
              .output = seen[2],
              .bias = bias && fused ? aligned_bias(bias) : nullptr,
              .addend = addend && fused ? aligned_addend(addend) : nullptr},
             scratch);
    if (operands_[result_].staged()) operands_[result_].copy->launch({seen[result_], pointers[result_]});
    else if (seen[result_] != pointers[result_]) transfer(pointers[result_], seen[result_], result_);
  }

  /// See DnnBlocks::aligned.
  void* aligned(std::size_t operand, void* pointer) const {
    const bool in_a_larger_tensor =
        operand == result_ && extent_bytes(d_.dtype(), operands_[operand].seen) >
                                  size_of(d_.dtype()) * static_cast<std::size_t>(numel(operands_[operand].seen.shape));
    if (in_a_larger_tensor && std::bit_cast<std::uintptr_t>(pointer) % 16 != 0) {
      throw Error({.op = kName, .got = "a part of a tensor that begins elsewhere", .expected = "a multiple of 16 bytes for a result"});
    }
    return blocks_.aligned(operand, pointer, extent_bytes(d_.dtype(), operands_[operand].seen));
  }
  /// For each of the outputs that became one.
  void* aligned_bias(void* bias) const {
    const std::size_t bytes = size_of(d_.dtype()) * static_cast<std::size_t>(d_.weight.layout.shape[0]);
    const std::size_t whole = size_of(d_.dtype()) * static_cast<std::size_t>(operands_[2].seen.shape[1]);
    void* const place = whole > bytes ? blocks_.block(3, whole) : blocks_.aligned(3, bias, bytes);
    if (place == bias) return place;
    for (std::size_t at = 0; at < whole; at += bytes) blocks_.copy(static_cast<char*>(place) + at, bias, bytes, kName);
    return place;
  }
  void* aligned_addend(void* addend) const {
    const std::size_t bytes = extent_bytes(d_.dtype(), d_.output.layout);
    void* const place = blocks_.aligned(4, addend, bytes);
    if (place != addend) blocks_.copy(place, addend, bytes, kName);
    return place;
  }
  void transfer(void* to, const void* from, std::size_t operand) const {
    blocks_.copy(to, from, extent_bytes(d_.dtype(), operands_[operand].seen), kName);
  }

  Context& context_;
  Convolution d_;
  DnnAttempt attempt_;
  std::size_t result_ = 2;  // which of (input, weight, output)
  std::shared_ptr<const Chosen> plan_;
  std::optional<Few> few_;
  std::array<Operand, 3> operands_;
  std::size_t scratch_bytes_ = 0;
  std::optional<LoadedKernel> direct_, after_, bias_gradient_;
  DnnBlocks blocks_;
};

}  // namespace

void request_convolution(Context& context, const Convolution& description) {
  check_convolution(description);
  if (numel(description.output.layout.shape) == 0) return;
  if (const auto own = own_kernel(context, description)) {
    const LoadedKernel requested(context, own->kernel);
    if (own->sum) const LoadedKernel sum(context, *own->sum);
  }
}

std::unique_ptr<runtime::Call> make_convolution(Context& context, const Convolution& description) {
  context.enter();
  return std::make_unique<ConvolutionCall>(context, description);
}


}  // namespace tegula::gpu
