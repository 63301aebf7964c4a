// Attention on the GPU: cuDNN's flash attention, forward and backward. The order in which a backward pass adds up the gradient of q is not fixed.

#include <algorithm>
#include <array>
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
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

using runtime::Attention;

constexpr const char* kName = "attention";

/// What may be kept beside the tensors: a few times as much.
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

/// What was chosen for one key: equal calls of a program share it.
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

/// Whether cuDNN reads it where it lies: rows of eights, no axis backwards or standing still.
bool reads(const Layout& x) {
  for (int axis = 0; axis + 1 < x.shape.rank(); ++axis) {
    if (x.shape[axis] > 1 && (x.strides[axis] <= 0 || x.strides[axis] % 8 != 0)) return false;
  }
  return x.shape.back() == 1 || x.strides[x.shape.rank() - 1] == 1;
}

class AttentionCall final : public runtime::Call {
 public:
  AttentionCall(Context& context, const Attention& d)
      : context_(context),
        d_(d),
        seen_(d),
        blocks_(context, 9),
        scale_(static_cast<float>(d.scale)),
        left_(static_cast<float>(d.window)),
        right_(static_cast<std::int32_t>(d.window - 1)) {
    const auto where_it_lies = [](const Layout& x) { return reads(x); };
    const auto dense = [](const Layout& x) { return x.is_dense(); };
    if (!set_up(where_it_lies, where_it_lies) && !set_up(where_it_lies, dense) && !set_up(dense, dense)) {
      throw Error({.op = kName, .got = "cuDNN: no engine for " + key_of(d), .expected = "one, as it has for dense tensors"});
    }
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    std::vector<DnnAddress> at;
    const auto give = [&](AttentionTensor tensor, const void* address) {
      at.push_back({static_cast<std::int64_t>(tensor), const_cast<void*>(address)});
    };
    const auto part = [&](std::size_t offset) { return static_cast<char*>(options.scratch) + offset; };
    const std::size_t rest = 3 + d_.lengths;
    give(AttentionTensor::Q, operand(0, buffers[0], options.scratch));
    give(AttentionTensor::K, operand(1, buffers[1], options.scratch));
    give(AttentionTensor::V, operand(2, buffers[2], options.scratch));
    give(AttentionTensor::Scale, &scale_);
    give(AttentionTensor::Sums, buffers[rest + 1] ? buffers[rest + 1] : blocks_.block(8, 4 * rows()));
    if (d_.causal || d_.window > 0 || d_.lengths) give(AttentionTensor::Nothing, &nothing_);
    if (d_.window > 0) give(AttentionTensor::Left, &left_);
    if (d_.window > 0 && !d_.causal) give(AttentionTensor::Right, &right_);
    if (d_.lengths) {
      queue_lengths(buffers[3], part(queries_), part(keys_));
      give(AttentionTensor::Queries, part(queries_));
      give(AttentionTensor::Keys, part(keys_));
    }
    std::array<void*, 3> results{};
    const std::size_t first = d_.backward ? rest + 3 : rest;
    for (std::size_t i = 0; i < (d_.backward ? 3 : 1); ++i) results[i] = result(i, buffers[first + i]);
    if (d_.backward) {
      give(AttentionTensor::O, operand(3, buffers[rest], options.scratch));
      give(AttentionTensor::OGradient, operand(4, buffers[rest + 2], options.scratch));
      give(AttentionTensor::One, &one_);
      give(AttentionTensor::Means, part(means_));
      give(AttentionTensor::QGradientSum, part(sum_));
      give(AttentionTensor::QGradient, results[0]);
      give(AttentionTensor::KGradient, results[1]);
      give(AttentionTensor::VGradient, results[2]);
    } else {
      give(AttentionTensor::O, results[0]);
    }
    chosen_->plan.run(at, part(0));
    for (std::size_t i = 0; i < 3; ++i) {
      if (gradients_[i] && buffers[first + i]) gradients_[i]->launch({results[i], buffers[first + i]});
    }
    context_.queued(kName);
  }

  std::string describe() const override {
    std::string text = "cuDNN engine " + chosen_->plan.engine();
    if (chosen_->plan.workspace() > 0) text += ", workspace " + std::to_string(chosen_->plan.workspace() >> 10) + " KiB";
    const auto copies = std::ranges::count_if(operands_, [](const Operand& x) { return x.copy.has_value(); });
    if (copies > 0) text += ", copies " + std::to_string(copies) + " operands";
    return text + ": " + key_of(d_);
  }

 private:
  /// q, k, v, o and the gradient of o: as they lie, and as cuDNN sees them.
  struct Operand {
    runtime::Operand Attention::* which;
    std::optional<LoadedKernel> copy = {};
    std::size_t offset = 0;
  };

  /// With dense copies of what is not `taken`, and of gradients that are not `written`. False when cuDNN has no engine.
  template <class Taken, class Written>
  bool set_up(Taken taken, Written written) {
    operands_.clear();
    seen_ = d_;
    for (std::size_t i = 0; i < 3; ++i) {
      gradients_[i].reset();
      const Layout lies = d_.gradient(static_cast<int>(i));
      if (!d_.backward || lies.is_dense() || written(lies)) continue;
      seen_.gradients[i] = {};
      gradients_[i].emplace(context_, copy_kernel({d_.dtype(), Layout::dense(lies.shape), lies, Dims::filled(4, 0)}));
    }
    for (runtime::Operand Attention::* which : {&Attention::q, &Attention::k, &Attention::v, &Attention::o, &Attention::o_gradient}) {
      Operand& x = operands_.emplace_back(Operand{which});
      if (!d_.backward && operands_.size() > 3) break;
      const Layout& given = (d_.*which).layout;
      Layout& seen = (seen_.*which).layout;
      seen.offset = 0;
      if (!taken(given)) seen = Layout::dense(given.shape);
      if (!taken(given)) x.copy.emplace(context_, copy_kernel({d_.dtype(), given, seen, Dims::filled(4, 0)}));
    }
    chosen_ = find_plan(context_, seen_);
    if (!chosen_) return false;
    scratch_bytes_ = 0;
    take(chosen_->plan.workspace());
    const Shape& q = d_.q.layout.shape;
    if (d_.lengths) queries_ = take(4 * static_cast<std::size_t>(q[0])), keys_ = take(4 * static_cast<std::size_t>(q[0]));
    if (d_.backward) means_ = take(4 * rows()), sum_ = take(4 * static_cast<std::size_t>(numel(q)));
    for (Operand& x : operands_) {
      if (x.copy) x.offset = take(extent_bytes(d_.dtype(), (seen_.*x.which).layout));
    }
    return true;
  }
  /// Of scores: a query of a head.
  std::size_t rows() const { return static_cast<std::size_t>(d_.q.layout.shape[0] * d_.q.layout.shape[1] * d_.q.layout.shape[2]); }
  std::size_t take(std::size_t bytes) { return std::exchange(scratch_bytes_, scratch_bytes_ + align_scratch(bytes)); }

  void* operand(std::size_t i, void* pointer, void* scratch) const {
    const Operand& x = operands_[i];
    if (x.copy) {
      void* const copy = static_cast<char*>(scratch) + x.offset;
      x.copy->launch({pointer, copy});
      return copy;
    }
    const std::size_t bytes = extent_bytes(d_.dtype(), (d_.*x.which).layout);
    void* const place = blocks_.aligned(i, pointer, bytes);
    if (place != pointer) blocks_.copy(place, pointer, bytes, kName);
    return place;
  }

  /// Where the i-th result goes; those that nobody wants are made all the same.
  void* result(std::size_t i, void* pointer) const {
    if (pointer && !gradients_[i]) return pointer;
    const Layout* const like[] = {&d_.q.layout, &d_.k.layout, &d_.v.layout};
    const std::size_t forward = rows() * static_cast<std::size_t>(d_.v.layout.shape[3]);
    return blocks_.block(5 + i, size_of(d_.dtype()) * (d_.backward ? static_cast<std::size_t>(numel(like[i]->shape)) : forward));
  }

  /// (B) i64 as (B) i32: their lower halves.
  void queue_lengths(const void* lengths, void* queries, void* keys) const {
    const auto samples = static_cast<std::size_t>(d_.q.layout.shape[0]);
    check(cuMemsetD32Async(device_pointer(queries), static_cast<unsigned>(d_.q.layout.shape[2]), samples, context_.stream()), kName);
    const CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = device_pointer(lengths),
                             .srcPitch = sizeof(std::int64_t),
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = device_pointer(keys),
                             .dstPitch = sizeof(std::int32_t),
                             .WidthInBytes = sizeof(std::int32_t),
                             .Height = samples};
    check(cuMemcpy2DAsync(&copy, context_.stream()), kName);
  }

  Context& context_;
  Attention d_, seen_;
  std::vector<Operand> operands_;
  std::array<std::optional<LoadedKernel>, 3> gradients_;  // from dense ones to where they lie, if cuDNN does not write them there
  std::shared_ptr<const Chosen> chosen_;
  DnnBlocks blocks_;
  std::size_t scratch_bytes_ = 0, queries_ = 0, keys_ = 0, means_ = 0, sum_ = 0;
  float scale_, nothing_ = -std::numeric_limits<float>::infinity(), one_ = 1, left_;
  std::int32_t right_;
};

}  // namespace

bool attends(Context& context, const Attention& d) {
  if (!describes_flash_attention(d) || static_cast<double>(d.q.layout.shape[2] * d.k.layout.shape[2]) < costs().attention_scores)
    return false;
  if (d.lengths) return false;  // of a sample without keys cuDNN 9.19 writes neither results nor gradients
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
  return std::make_unique<AttentionCall>(context, description);
}

}  // namespace tegula::gpu
