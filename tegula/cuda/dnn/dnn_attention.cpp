// Attention on the GPU: cuDNN's flash attention, forward and backward. The order in which a backward pass adds up the gradient of q is not fixed.

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/dnn/dnn_attention_graph.h"
#include "tegula/cuda/dnn/dnn_blocks.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

using runtime::Access;
using runtime::Attention;
using runtime::CallSteps;
using runtime::StepOperand;

constexpr const char* kName = "attention";

/// The bound on workspace: a few times the size of the operands.
std::size_t workspace_bound(const Attention& d) {
  const auto bytes =
      static_cast<std::size_t>(numel(d.q.layout.shape) + numel(d.k.layout.shape) + numel(d.v.layout.shape)) * size_of(d.dtype());
  return std::max(16 * bytes, std::size_t{64} << 20);
}

std::string layout_text(const Layout& x) { return to_string(x.shape) + "/" + to_string(x.strides); }

std::string key_of(const Attention& d) {
  std::string key = std::string("attention ") + (d.backward ? "backward " : "forward ") + std::string(name(d.dtype()));
  for (const Layout* x : {&d.q.layout, &d.k.layout, &d.v.layout}) key += " " + layout_text(*x);
  if (d.backward) key += " " + layout_text(d.o.layout) + " " + layout_text(d.o_gradient.layout);
  for (const runtime::Operand& x : d.gradients) key += x.layout.shape.rank() > 0 ? " " + layout_text(x.layout) : "";
  if (d.causal) key += ", causal";
  if (d.window > 0) key += ", window " + std::to_string(d.window);
  if (d.lengths) key += ", lengths";
  return key;
}

/// The plan chosen for one key; equal calls of a program share it.
struct Chosen {
  DnnGraph graph;
  DnnPlan plan;
};

std::shared_ptr<const Chosen> find_plan(Context& context, const Attention& d) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<std::string, std::weak_ptr<const Chosen>>;
  const std::scoped_lock lock(*mutex);
  auto& one = (*all)[std::to_string(context.index) + ": " + key_of(d)];
  try {
    const Dnn& library = dnn(context);
    if (auto known = one.lock()) return known;
    DnnGraph graph = attention_graph(library, d);
    auto plans = graph.plans(workspace_bound(d), 1);
    if (plans.empty()) return nullptr;
    auto made = std::shared_ptr<const Chosen>(new Chosen{std::move(graph), std::move(plans[0])});
    one = made;
    return made;
  } catch (const Error&) {
    return nullptr;  // not a graph that cuDNN knows
  }
}

/// True if cuDNN reads the tensor in this layout: strides are multiples of eight, none is negative or 0.
bool reads(const Layout& x) {
  for (int axis = 0; axis + 1 < x.shape.rank(); ++axis) {
    if (x.shape[axis] > 1 && (x.strides[axis] <= 0 || x.strides[axis] % 8 != 0)) return false;
  }
  return x.shape.back() == 1 || x.strides[x.shape.rank() - 1] == 1;
}

/// The engine: (q, k, v[, queries, keys of each sample], o, sums), backward with the gradient of o and those of q, k and v behind it. The description is as cuDNN sees it.
/// Scratch memory holds the engine's workspace and what lies between its operations.
class EngineCall final : public runtime::Call {
 public:
  EngineCall(Context& context, const Attention& d, std::shared_ptr<const Chosen> chosen)
      : context_(context),
        d_(d),
        chosen_(std::move(chosen)),
        blocks_(context, 4),
        scale_(static_cast<float>(d.scale)),
        left_(static_cast<float>(d.window)),
        right_(static_cast<std::int32_t>(d.window - 1)) {
    take(chosen_->plan.workspace());
    if (d.backward) means_ = take(4 * rows()), sum_ = take(4 * static_cast<std::size_t>(numel(d.q.layout.shape)));
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    std::vector<DnnAddress> at;
    const auto give = [&](AttentionTensor tensor, const void* address) {
      at.push_back({static_cast<std::int64_t>(tensor), const_cast<void*>(address)});
    };
    const auto part = [&](std::size_t offset) { return static_cast<char*>(options.scratch) + offset; };
    const std::size_t rest = d_.lengths ? 5 : 3;
    give(AttentionTensor::Q, buffers[0]);
    give(AttentionTensor::K, buffers[1]);
    give(AttentionTensor::V, buffers[2]);
    give(AttentionTensor::Scale, &scale_);
    give(AttentionTensor::Sums, buffers[rest + 1] ? buffers[rest + 1] : blocks_.block(3, 4 * rows()));
    if (d_.causal || d_.window > 0 || d_.lengths) give(AttentionTensor::Nothing, &nothing_);
    if (d_.window > 0) give(AttentionTensor::Left, &left_);
    if (d_.window > 0 && !d_.causal) give(AttentionTensor::Right, &right_);
    if (d_.lengths) {
      give(AttentionTensor::Queries, buffers[3]);
      give(AttentionTensor::Keys, buffers[4]);
    }
    if (d_.backward) {
      give(AttentionTensor::O, buffers[rest]);
      give(AttentionTensor::OGradient, buffers[rest + 2]);
      give(AttentionTensor::One, &one_);
      give(AttentionTensor::Means, part(means_));
      give(AttentionTensor::QGradientSum, part(sum_));
      constexpr AttentionTensor kGradients[] = {AttentionTensor::QGradient, AttentionTensor::KGradient, AttentionTensor::VGradient};
      for (std::size_t i = 0; i < 3; ++i) {
        void* const wanted = buffers[rest + 3 + i];
        give(kGradients[i], wanted ? wanted : blocks_.block(i, extent_bytes(d_.dtype(), d_.gradient(static_cast<int>(i)))));
      }
    } else {
      const std::size_t bytes = size_of(d_.dtype()) * rows() * static_cast<std::size_t>(d_.v.layout.shape[3]);
      give(AttentionTensor::O, buffers[rest] ? buffers[rest] : blocks_.block(0, bytes));
    }
    chosen_->plan.run(at, part(0));
    context_.queued(kName);
  }

  std::string describe() const override {
    std::string text = "cuDNN engine " + chosen_->plan.engine();
    if (chosen_->plan.workspace() > 0) text += ", workspace " + std::to_string(chosen_->plan.workspace() >> 10) + " KiB";
    return text + ": " + key_of(d_);
  }

 private:
  /// The number of rows of scores: one for each query of each head.
  std::size_t rows() const { return static_cast<std::size_t>(d_.q.layout.shape[0] * d_.q.layout.shape[1] * d_.q.layout.shape[2]); }
  std::size_t take(std::size_t bytes) { return std::exchange(scratch_bytes_, scratch_bytes_ + align_scratch(bytes)); }

  Context& context_;
  Attention d_;
  std::shared_ptr<const Chosen> chosen_;
  DnnBlocks blocks_;  // for results that nobody wants, which are made all the same
  std::size_t scratch_bytes_ = 0, means_ = 0, sum_ = 0;
  float scale_, nothing_ = -std::numeric_limits<float>::infinity(), one_ = 1, left_;
  std::int32_t right_;
};

/// (lengths (B) i64) -> numbers of queries and of keys, (B) i32 each: all queries, and the lower halves of the lengths.
class LengthsCall final : public runtime::Call {
 public:
  LengthsCall(Context& context, const Shape& q)
      : context_(context),
        samples_(static_cast<std::size_t>(q[0])),
        queries_(static_cast<unsigned>(q[2])) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    context_.enter();
    check(cuMemsetD32Async(device_pointer(buffers[1]), queries_, samples_, context_.stream()), kName);
    const CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = device_pointer(buffers[0]),
                             .srcPitch = sizeof(std::int64_t),
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = device_pointer(buffers[2]),
                             .dstPitch = sizeof(std::int32_t),
                             .WidthInBytes = sizeof(std::int32_t),
                             .Height = samples_};
    check(cuMemcpy2DAsync(&copy, context_.stream()), kName);
  }
  std::string describe() const override { return "lower halves of " + std::to_string(samples_) + " numbers"; }

 private:
  Context& context_;
  std::size_t samples_;
  unsigned queries_;
};

/// (from) -> to, unless nobody wants it.
class WantedCopy final : public runtime::Call {
 public:
  explicit WantedCopy(std::unique_ptr<runtime::Call> copy) : copy_(std::move(copy)) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (buffers[1]) copy_->run(buffers, options);
  }
  std::string describe() const override { return copy_->describe(); }

 private:
  std::unique_ptr<runtime::Call> copy_;
};

/// The engine that was chosen, and the steps around it: dense copies of what it does not read or write where it lies.
class AttentionChoice {
 public:
  AttentionChoice(Context& context, const Attention& d) : context_(context), d_(d), seen_(d) {
    const auto where_it_lies = [](const Layout& x) { return reads(x); };
    const auto dense = [](const Layout& x) { return x.is_dense(); };
    if (!set_up(where_it_lies, where_it_lies) && !set_up(where_it_lies, dense) && !set_up(dense, dense)) {
      throw Error({.op = kName, .got = "cuDNN: no engine for " + key_of(d), .expected = "one, as it has for dense tensors"});
    }
  }

  /// How many buffers the call has.
  std::size_t buffers() const { return static_cast<std::size_t>(first_result() + (d_.backward ? 6 : 2)); }

  CallSteps steps() const {
    CallSteps all;
    std::vector<StepOperand> operands;
    std::vector<AlignedTensor> tensors;
    const int rest = first_result();
    for (int i = 0; i < 3; ++i) add_operand(all, operands, tensors, i, i);
    if (d_.lengths) {
      const std::size_t bytes = 4 * static_cast<std::size_t>(d_.q.layout.shape[0]);
      const StepOperand queries = temporary(all, bytes), keys = temporary(all, bytes);
      all.steps.push_back({"lengths", std::make_unique<LengthsCall>(context_, d_.q.layout.shape), {StepOperand::reads(3), queries, keys}});
      operands.push_back(read(queries)), operands.push_back(read(keys));
      tensors.resize(tensors.size() + 2);
    }
    std::vector<runtime::CallStep> behind;
    if (d_.backward) {
      add_operand(all, operands, tensors, 3, rest);
      operands.push_back(StepOperand::reads(rest + 1)), tensors.push_back({});
      add_operand(all, operands, tensors, 4, rest + 2);
      for (int i = 0; i < 3; ++i) operands.push_back(gradient(all, behind, i, rest + 3 + i)), tensors.push_back({});
    } else {
      operands.push_back(StepOperand::writes(rest)), operands.push_back(StepOperand::writes(rest + 1));
      tensors.resize(tensors.size() + 2);
    }
    auto engine = aligned_call(context_, kName, std::make_unique<EngineCall>(context_, seen_, chosen_), std::move(tensors));
    all.steps.push_back({"", std::move(engine), std::move(operands)});
    std::ranges::move(behind, std::back_inserter(all.steps));
    return all;
  }

 private:
  static constexpr std::array<runtime::Operand Attention::*, 5> kOperands{&Attention::q, &Attention::k, &Attention::v, &Attention::o,
                                                                          &Attention::o_gradient};
  static constexpr const char* kNames[] = {"queries", "keys", "values", "result", "result's gradient"};

  int first_result() const { return d_.lengths ? 4 : 3; }

  /// With dense copies of what is not `taken`, and of gradients that are not `written`. False when cuDNN has no engine.
  template <class Taken, class Written>
  bool set_up(Taken taken, Written written) {
    seen_ = d_;
    for (std::size_t i = 0; i < 3; ++i)
      if (const Layout lies = d_.gradient(static_cast<int>(i)); d_.backward && !lies.is_dense() && !written(lies)) seen_.gradients[i] = {};
    for (std::size_t i = 0; i < (d_.backward ? 5 : 3); ++i) {
      const Layout& given = (d_.*kOperands[i]).layout;
      Layout& seen = (seen_.*kOperands[i]).layout;
      seen.offset = 0;
      if (!taken(given)) seen = Layout::dense(given.shape);
    }
    chosen_ = find_plan(context_, seen_);
    return chosen_ != nullptr;
  }

  static StepOperand temporary(CallSteps& to, std::size_t bytes) {
    to.temporaries.push_back(bytes);
    return StepOperand::temporary(static_cast<int>(to.temporaries.size()) - 1, Access::Writes);
  }
  static StepOperand read(StepOperand operand) {
    operand.access = Access::Reads;
    return operand;
  }
  std::unique_ptr<runtime::Call> copy(const Layout& from, const Layout& to) const {
    return kernel_call(context_, copy_kernel({d_.dtype(), from, to, Dims::filled(4, 0)}), kName);
  }

  /// kOperands[i], which is the call's buffer, as the engine takes it.
  void add_operand(CallSteps& all, std::vector<StepOperand>& operands, std::vector<AlignedTensor>& tensors, int i, int buffer) const {
    const auto which = kOperands[static_cast<std::size_t>(i)];
    const Layout &given = (d_.*which).layout, &seen = (seen_.*which).layout;
    const std::size_t bytes = extent_bytes(d_.dtype(), seen);
    if (given.strides == seen.strides) {
      operands.push_back(StepOperand::reads(buffer)), tensors.push_back({bytes});
      return;
    }
    const StepOperand dense = temporary(all, bytes);
    all.steps.push_back({std::string("copy of the ") + kNames[i], copy(given, seen), {StepOperand::reads(buffer), dense}});
    operands.push_back(read(dense)), tensors.push_back({});
  }

  /// The operand to which the engine writes the gradient of kOperands[i].
  StepOperand gradient(CallSteps& all, std::vector<runtime::CallStep>& behind, int i, int buffer) const {
    const Layout lies = d_.gradient(i), seen = seen_.gradient(i);
    if (lies.strides == seen.strides) return StepOperand::writes(buffer);
    const StepOperand dense = temporary(all, extent_bytes(d_.dtype(), seen));
    behind.push_back({std::string("copy of the gradient of the ") + kNames[i],
                      std::make_unique<WantedCopy>(copy(seen, lies)),
                      {read(dense), StepOperand::writes(buffer)}});
    return dense;
  }

  Context& context_;
  Attention d_, seen_;  // as asked for, and as cuDNN sees it
  std::shared_ptr<const Chosen> chosen_;
};

}  // namespace

bool attends(Context& context, const Attention& d) {
  if (!describes_flash_attention(d) || static_cast<double>(d.q.layout.shape[2] * d.k.layout.shape[2]) < costs().attention_scores)
    return false;
  if (d.lengths) return false;  // cuDNN 9.19 writes neither results nor gradients for a sample without keys
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<std::string, bool>;
  const std::scoped_lock lock(*mutex);
  const auto [found, is_new] = known->try_emplace(std::to_string(context.index) + ": " + key_of(d), false);
  if (!is_new) return found->second;
  try {
    found->second = attention_graph(dnn(context), d).has_engine();
  } catch (const Error&) {
    found->second = false;  // no library, or not a graph that it knows
  }
  return found->second;
}

std::unique_ptr<runtime::Call> make_attention(Context& context, const Attention& description) {
  context.enter();
  const AttentionChoice choice(context, description);
  return runtime::call_of(choice.steps(), choice.buffers());
}

}  // namespace tegula::gpu
