// Convolutions on the GPU: cuDNN, with copies around it for layouts that it does not take; a plain kernel for the
// rest (sums over nothing, dtypes without an engine). Copies, folds, the engine and an epilogue after it are steps of their own (runtime/call_steps.h).

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/dnn/dnn_blocks.h"
#include "tegula/cuda/dnn/dnn_convolution_steps.h"
#include "tegula/cuda/driver/measure.h"
#include "tegula/cuda/handwritten/few_channels/few_channels.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_fold.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

using runtime::Access;
using runtime::CallSteps;
using runtime::Convolution;
using runtime::ConvolutionPass;
using runtime::StepOperand;

constexpr std::size_t kCandidates = 8;
constexpr const char* kName = "convolution";
constexpr const char* kNoEngine = "none";

/// TEGULA_WORKSPACE MiB, or up to eight times the tensors themselves, within 32 MiB and 1 GiB.
std::size_t workspace_bound(const Convolution& d) {
  static const std::optional<std::size_t> given = [] {
    const char* const text = std::getenv("TEGULA_WORKSPACE");
    return text && *text ? std::optional(static_cast<std::size_t>(std::max(std::atoll(text), 0LL)) << 20) : std::nullopt;
  }();
  if (given) return *given;
  const std::size_t tensors =
      extent_bytes(d.dtype(), d.input.layout) + extent_bytes(d.dtype(), d.weight.layout) + extent_bytes(d.dtype(), d.output.layout);
  return std::clamp(8 * tensors, std::size_t{32} << 20, std::size_t{1} << 30);
}

bool is_measured(const Convolution& d) { return tuning_enabled() && runtime::work_of(d).operations >= costs().measured_convolution; }

/// The key of the choice between our own kernels.
std::string own_key(const Convolution& d) { return key_of(d, {ChannelOrder::Last, false, true}); }

/// The key of the choice between the arrangements of dnn_variants.
std::string variant_key(const Convolution& d) { return key_of(d, {ChannelOrder::Last, false, true}) + ", arrangement"; }

/// A tensor of the call: its described layout, and the one that cuDNN sees. If they differ, a copy is made: before the engine for operands, after it for the result.
struct Operand {
  Layout described, seen;
  Dims shift;  // offset of `seen` inside `described`
};

bool same_elements(const Layout& a, const Layout& b) {
  if (a.shape != b.shape) return false;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

/// Finds the fastest way, and says its steps.
class ConvolutionChoice {
 public:
  ConvolutionChoice(Context& context, const Convolution& d, const std::optional<FewChannels>& own) : context_(context), d_(d) {
    result_ = d.pass == ConvolutionPass::Forward ? 2 : d.pass == ConvolutionPass::BackwardData ? 0 : 1;
    const Layout* layouts[] = {&d.input.layout, &d.weight.layout, &d.output.layout};
    bool empty = false;
    for (const Layout* layout : layouts) empty = empty || numel(layout->shape) == 0;
    if (!empty) choose_fastest(own);
  }

  CallSteps steps() const {
    CallSteps out;
    if (few_) add_few(out);
    else if (plan_) add_engine(out);
    else add_direct(out);
    if (d_.bias_gradient) add_kernel(out, "bias gradient", bias_gradient_kernel(d_), {StepOperand::reads(1), StepOperand::writes(3)});
    return out;
  }

  /// How many buffers the call has.
  std::size_t buffers() const { return 3 + (d_.bias_gradient ? 1u : 0u) + d_.epilogue.reads().size(); }

 private:
  void use_few(const FewChannels& few) {
    attempt_ = {ChannelOrder::Last, false, true};
    operands_ = {Operand{d_.input.layout, d_.input.layout, {}}, Operand{d_.weight.layout, d_.weight.layout, {}},
                 Operand{d_.output.layout, d_.output.layout, {}}};
    few_ = few;
  }

  /// Our kernel for few channels against cuDNN, whose library is not even opened where ours is known to be faster.
  void choose_fastest(const std::optional<FewChannels>& own) {
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
      std::vector<std::size_t> sizes(buffers());
      const std::array tensors{&d_.input.layout, &d_.weight.layout, &d_.output.layout};
      for (std::size_t i = 0; i < 3; ++i) sizes[static_cast<std::size_t>(buffer_of(i))] = bytes(*tensors[i]);
      const std::size_t bias = size_of(d_.dtype()) * static_cast<std::size_t>(d_.weight.layout.shape[0]);
      if (sums_.channel || d_.bias_gradient) sizes[sums_.channel ? 2 : 3] = bias;
      if (sums_.tensor) sizes[sizes.size() - 2] = bytes(d_.output.layout);
      const RotatingBuffers memory(context_, sizes);
      const auto call = runtime::call_of(steps(), sizes.size());
      const auto scratch = allocate(context_, std::max<std::size_t>(call->scratch_bytes(), 256));
      const auto run = [&](int i) {
        std::vector<void*> own;
        for (std::size_t b = 0; b < sizes.size(); ++b) own.push_back(memory(i, b));
        call->run(own, {.scratch = scratch->data()});
      };
      return measure(context_, run, bound);
    } catch (const Error&) {
      return std::nullopt;  // no memory to try it with
    }
  }

  /// The engine chosen for a key, shared by equal calls; stores `made` if that is given.
  static std::shared_ptr<const ChosenEngine> shared(const std::string& key, const std::shared_ptr<const ChosenEngine>& made) {
    static auto* mutex = new std::mutex;
    static auto* all = new std::map<std::string, std::weak_ptr<const ChosenEngine>>;
    const std::scoped_lock lock(*mutex);
    auto& one = (*all)[key];
    if (made) one = made;
    return one.lock();
  }

  void choose() {
    const auto attempts = dnn_attempts(d_);
    if (attempts.empty() || !dnn_if_there(context_)) return;
    if (const auto variants = dnn_variants(d_); variants.empty() || !choose_variant(attempts, variants)) set_up_first(attempts);
  }

  /// True if a variant is faster than the call as described; that variant is then set up.
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
  }

  bool set_up_first(const std::vector<DnnAttempt>& attempts) {
    return std::any_of(attempts.begin(), attempts.end(), [&](const DnnAttempt& attempt) { return set_up(attempt); });
  }

  bool set_up(const DnnAttempt& attempt) {
    const DnnProblem problem = dnn_problem(d_, attempt);
    if (!find_plan(gpu::dnn(context_), problem, attempt)) return false;
    attempt_ = attempt;
    const Dims none = Dims::filled(problem.input.shape.rank(), 0);
    operands_ = {Operand{problem.described_input, problem.input, problem.shift}, Operand{problem.described_weight, problem.weight, none},
                 Operand{problem.described_output, problem.output, none}};
    return true;
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
      plan_ = shared(place, std::shared_ptr<const ChosenEngine>(new ChosenEngine{std::move(*graph), std::move(plan)}));
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
      const double moved = static_cast<double>(extent_bytes(d_.dtype(), d_.output.layout)) * (sums_.tensor ? 3 : 2);
      return best ? best->microseconds + 1e6 * (costs().epilogue_seconds + moved / costs().call_bytes_per_second) : 1e30;
    } catch (const Error&) { return 1e30; }
  }

  std::optional<Fastest> try_all(const std::vector<DnnPlan>& plans, const DnnProblem& problem, const DnnAttempt& attempt) const {
    try {
      const auto bytes = [&](const Layout& layout) { return extent_bytes(d_.dtype(), layout); };
      const RotatingBuffers buffers(
          context_, {bytes(problem.input), bytes(problem.weight), bytes(problem.output),
                     size_of(d_.dtype()) * static_cast<std::size_t>(problem.output.shape[1]), sums_.tensor ? bytes(problem.output) : 1});
      std::size_t workspace = 0;
      for (const DnnPlan& plan : plans) workspace = std::max(workspace, plan.workspace());
      const auto scratch = allocate(context_, std::max<std::size_t>(workspace, 256));
      const bool bias = attempt.fused && sums_.channel, addend = attempt.fused && sums_.tensor;
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

  // ---- The steps.
  /// The call's buffer that input, weight or output is.
  int buffer_of(std::size_t operand) const {
    constexpr int kBuffers[][3] = {{0, 1, -1}, {2, 1, 0}, {0, 2, 1}};
    const int buffer = kBuffers[static_cast<int>(d_.pass)][operand];
    return buffer < 0 ? static_cast<int>(buffers()) - 1 : buffer;
  }
  StepOperand described(std::size_t operand) const {
    return {StepOperand::Kind::Buffer, buffer_of(operand), operand == result_ ? Access::Writes : Access::Reads};
  }
  StepOperand bias() const { return StepOperand::reads(2); }
  StepOperand addend() const { return StepOperand::reads(static_cast<int>(buffers()) - 2); }

  void add_kernel(CallSteps& to, std::string name, const PlainKernel& kernel, std::vector<StepOperand> operands) const {
    to.steps.push_back({std::move(name), kernel_call(context_, kernel, kName), std::move(operands)});
  }
  static StepOperand temporary(CallSteps& to, std::size_t bytes) {
    to.temporaries.push_back(bytes);
    return StepOperand::temporary(static_cast<int>(to.temporaries.size()) - 1, Access::Writes);
  }
  static StepOperand read(StepOperand operand) {
    operand.access = Access::Reads;
    return operand;
  }

  AlignedTensor tensor(std::size_t operand) const {
    const Layout& seen = operands_[operand].seen;
    const std::size_t bytes = extent_bytes(d_.dtype(), seen);
    return {bytes, operand == result_, bytes > size_of(d_.dtype()) * static_cast<std::size_t>(numel(seen.shape))};
  }

  /// In the order of the call's buffers.
  void add_few(CallSteps& to) const {
    const bool forward = d_.pass == ConvolutionPass::Forward, sums = few_->sum.has_value();
    std::vector<StepOperand> operands{StepOperand::reads(0), StepOperand::reads(1)};
    std::vector<AlignedTensor> tensors{tensor(forward || result_ == 1 ? 0 : 2), tensor(result_ == 1 ? 2 : 1)};
    if (sums_.channel) operands.push_back(bias()), tensors.push_back({});
    const StepOperand parts = sums ? temporary(to, few_->scratch) : described(result_);
    operands.push_back(parts), tensors.push_back(sums ? AlignedTensor{} : tensor(result_));
    const std::string text = "kernel for few channels, " + few_->name + ": " + key_of(d_, attempt_);
    to.steps.push_back(
        {"", aligned_call(context_, kName, kernel_call(context_, few_->kernel, kName, text), std::move(tensors)), std::move(operands)});
    if (!sums) return;
    auto sum = aligned_call(context_, kName, kernel_call(context_, *few_->sum, kName), {AlignedTensor{}, tensor(result_)});
    to.steps.push_back({"sum of the parts", std::move(sum), {read(parts), described(result_)}});
  }

  void add_engine(CallSteps& to) const {
    constexpr const char* kNames[] = {"input", "weight", "output"};
    std::vector<StepOperand> operands;
    std::vector<AlignedTensor> tensors;
    for (std::size_t i = 0; i < 3; ++i) {
      if (same_elements(operands_[i].described, operands_[i].seen)) {
        operands.push_back(described(i)), tensors.push_back(tensor(i));
        continue;
      }
      const StepOperand staged = temporary(to, extent_bytes(d_.dtype(), operands_[i].seen));
      operands.push_back(i == result_ ? staged : read(staged)), tensors.push_back({});
      if (i != result_)
        add_kernel(to, std::string(folds(i) ? "fold" : "copy") + " of the " + kNames[i], staging(i), {described(i), staged});
    }
    const bool with_bias = attempt_.fused && sums_.channel, with_addend = attempt_.fused && sums_.tensor;
    if (with_bias) add_bias(to, operands, tensors);
    if (with_addend) operands.push_back(addend()), tensors.push_back({extent_bytes(d_.dtype(), d_.output.layout)});
    const StepOperand result = operands[result_];
    auto engine =
        aligned_call(context_, kName, engine_call(context_, plan_, key_of(d_, attempt_), with_bias, with_addend), std::move(tensors));
    to.steps.push_back({"", std::move(engine), std::move(operands)});
    if (result.kind == StepOperand::Kind::Temporary)
      add_kernel(to, std::string(folds(result_) ? "unfolding" : "copy") + " of the " + kNames[result_], staging(result_),
                 {read(result), described(result_)});
    if (has_epilogue(d_) && !attempt_.fused) add_epilogue(to, sums_);
  }
  // For each of the outputs that became one.
  void add_bias(CallSteps& to, std::vector<StepOperand>& operands, std::vector<AlignedTensor>& tensors) const {
    const std::size_t bytes = size_of(d_.dtype()) * static_cast<std::size_t>(d_.weight.layout.shape[0]);
    const std::size_t whole = size_of(d_.dtype()) * static_cast<std::size_t>(operands_[2].seen.shape[1]);
    if (whole == bytes) {
      operands.push_back(bias()), tensors.push_back({bytes});
      return;
    }
    const StepOperand repeated = temporary(to, whole);
    to.steps.push_back({"copies of the bias", repeating_call(context_, bytes, whole / bytes), {bias(), repeated}});
    operands.push_back(read(repeated)), tensors.push_back({});
  }

  /// Adds the direct convolution. Its kernel adds the bias and, unless an addend comes before it, applies the activation.
  void add_direct(CallSteps& to) const {
    Convolution d = d_;
    if (sums_.tensor) d.epilogue = runtime::expression_of({.channel = sums_.channel});
    std::vector<StepOperand> operands{StepOperand::reads(0), StepOperand::reads(1)};
    if (sums_.channel) operands.push_back(bias());
    operands.push_back(described(result_));
    auto kernel = kernel_call(context_, direct_convolution_kernel(d), kName, "plain kernel: " + key_of(d_, attempt_));
    to.steps.push_back({"", std::move(kernel), std::move(operands)});
    if (sums_.tensor) add_epilogue(to, {.tensor = true, .rest = sums_.rest});
  }

  void add_epilogue(CallSteps& to, const runtime::Sums& sums) const {
    std::vector<StepOperand> operands;
    if (sums.channel) operands.push_back(bias());
    if (sums.tensor) operands.push_back(addend());
    operands.push_back(StepOperand::updates(buffer_of(2)));
    add_kernel(to, "epilogue", epilogue_kernel({d_.dtype(), d_.output.layout, 1, sums}), std::move(operands));
  }

  bool folds(std::size_t operand) const { return operand != 2 && !attempt_.fold.empty(); }
  PlainKernel staging(std::size_t operand) const {
    const Operand& o = operands_[operand];
    const bool back = operand == result_;
    if (folds(operand)) {
      const PlainFold fold{d_.dtype(), o.described, o.seen, attempt_.fold, {o.shift[2], o.shift[3]}, d_.stride[d_.stride.rank() - 1]};
      return back ? unfold_kernel(fold) : fold_kernel(fold);
    }
    PlainCopy copy{d_.dtype(), o.described, o.seen, o.shift};
    if (back) {
      std::swap(copy.from, copy.to);
      for (auto& shift : copy.shift) shift = -shift;
    }
    return copy_kernel(copy);
  }

  Context& context_;
  Convolution d_;
  runtime::Sums sums_ = runtime::sums_of(d_.epilogue);
  DnnAttempt attempt_;
  std::size_t result_ = 2;  // which of (input, weight, output)
  std::shared_ptr<const ChosenEngine> plan_;
  std::optional<FewChannels> few_;
  std::array<Operand, 3> operands_;
};

}  // namespace

std::optional<FewChannels> request_convolution(Context& context, const Convolution& description) {
  check_convolution(description);
  if (numel(description.output.layout.shape) == 0) return {};
  std::optional<FewChannels> own = first_few_channels_kernel(description, context.card, context.shared_bytes);
  if (own) {
    const LoadedKernel requested(context, own->kernel);
    if (own->sum) const LoadedKernel sum(context, *own->sum);
  }
  return own;
}

std::unique_ptr<runtime::Call> make_convolution(Context& context, const Convolution& description, const std::optional<FewChannels>& own) {
  context.enter();
  const ConvolutionChoice choice(context, description, own);
  return runtime::call_of(choice.steps(), choice.buffers());
}

}  // namespace tegula::gpu
