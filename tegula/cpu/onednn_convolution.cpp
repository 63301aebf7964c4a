// Convolution through oneDNN. The activations stay in the caller's layout where oneDNN is fast in it and are reordered into its own
// blocked layouts where not; weights are always reordered.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "tegula/cpu/convolution.h"
#include "tegula/cpu/epilogue.h"
#include "tegula/cpu/onednn.h"
#include "tegula/cpu/parallel.h"

namespace tegula::cpu {
namespace {

using dnnl::memory;
using runtime::Convolution;
using runtime::ConvolutionPass;
using Format = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}
dnnl::stream& stream() {  // CPU streams are in order and keep no state between calls of one thread
  thread_local dnnl::stream instance(engine());
  return instance;
}

enum class Activations { ChannelsLast, ChannelsFirst, Blocked };

/// Sizes as oneDNN wants them: two spatial axes at least, groups as an axis of the weight, dilation counted from 0.
struct Description {
  memory::dims input, weight, output, bias, stride, dilation, low, high;
  memory::desc user_input, user_weight, user_output, user_bias;

  explicit Description(const Convolution& d) {
    const Geometry g(d);
    const std::size_t first = d.input.shape.rank() == 5 ? 0 : 1;
    input = {g.n, g.c}, output = {g.n, g.k}, bias = {g.k};
    weight = g.groups > 1 ? memory::dims{g.groups, g.outputs_per_group(), g.channels_per_group()} : memory::dims{g.k, g.c};
    memory::dims input_strides{g.input.n, g.input.c}, output_strides{g.output.n, g.output.c};
    for (std::size_t axis = first; axis < 3; ++axis) {
      input.push_back(g.in[axis]), output.push_back(g.out[axis]), weight.push_back(g.kernel[axis]);
      input_strides.push_back(g.input.spatial[axis]), output_strides.push_back(g.output.spatial[axis]);
      stride.push_back(g.stride[axis]), dilation.push_back(g.dilation[axis] - 1), low.push_back(g.low[axis]), high.push_back(g.high[axis]);
    }
    user_input = memory::desc(input, memory::data_type::f32, strides_of(input, input_strides));
    user_output = memory::desc(output, memory::data_type::f32, strides_of(output, output_strides));
    user_weight = plain(weight);
    user_bias = plain(bias);
  }

  Format channels_last() const { return stride.size() == 3 ? Format::ndhwc : Format::nhwc; }
  Format channels_first() const { return stride.size() == 3 ? Format::ncdhw : Format::nchw; }
  memory::desc plain(const memory::dims& dims) const {
    memory::dims strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    return memory::desc(dims, memory::data_type::f32, strides);
  }

 private:
  /// Strides of axes of size 1 mean nothing; oneDNN compares them, so they get those of a plain layout when the rest agrees.
  memory::dims strides_of(const memory::dims& dims, const memory::dims& strides) const {
    for (const bool last : {false, true}) {
      memory::dims order;  // axes from the innermost
      if (last) order.push_back(1);
      for (std::size_t axis = dims.size() - 1; axis > 1; --axis) order.push_back(static_cast<memory::dim>(axis));
      if (!last) order.push_back(1);
      order.push_back(0);
      memory::dims dense(dims.size());
      memory::dim step = 1;
      bool same = true;
      for (const memory::dim axis : order) {
        const auto a = static_cast<std::size_t>(axis);
        same = same && (dims[a] == 1 || strides[a] == step);
        dense[a] = step;
        step *= dims[a];
      }
      if (same) return dense;
    }
    return strides;
  }
};

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// The primitive descriptor of one pass; throws dnnl::error when there is no implementation.
dnnl::primitive_desc_base describe_pass(const Description& d, ConvolutionPass pass, bool with_bias, Activations activations) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto type = memory::data_type::f32;
  const Format format = activations == Activations::ChannelsLast    ? d.channels_last()
                        : activations == Activations::ChannelsFirst ? d.channels_first()
                                                                    : Format::any;
  const memory::desc x(d.input, type, format), w(d.weight, type, Format::any), y(d.output, type, format);
  const memory::desc b = with_bias ? memory::desc(d.bias, type, Format::x) : memory::desc();
  const auto attr = attributes();
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = [&](const memory::desc& bias) {
    return dnnl::convolution_forward::primitive_desc(engine(), kind, kAlgorithm, x, w, bias, y, d.stride, d.dilation, d.low, d.high, attr);
  };
  if (pass == ConvolutionPass::Forward) return forward(b);
  const auto hint = forward(memory::desc());
  if (pass == ConvolutionPass::BackwardData) {
    return dnnl::convolution_backward_data::primitive_desc(engine(), kAlgorithm, x, w, y, d.stride, d.dilation, d.low, d.high, hint, attr);
  }
  return dnnl::convolution_backward_weights::primitive_desc(engine(), kAlgorithm, x, w, b, y, d.stride, d.dilation, d.low, d.high, hint, attr);
#else
  const auto forward = [&](const memory::desc& bias) {
    const dnnl::convolution_forward::desc desc(kind, kAlgorithm, x, w, bias, y, d.stride, d.dilation, d.low, d.high);
    return dnnl::convolution_forward::primitive_desc(desc, attr, engine());
  };
  if (pass == ConvolutionPass::Forward) return forward(b);
  const auto hint = forward(memory::desc());
  if (pass == ConvolutionPass::BackwardData) {
    const dnnl::convolution_backward_data::desc desc(kAlgorithm, x, w, y, d.stride, d.dilation, d.low, d.high);
    return dnnl::convolution_backward_data::primitive_desc(desc, attr, engine(), hint);
  }
  const dnnl::convolution_backward_weights::desc desc(kAlgorithm, x, w, b, y, d.stride, d.dilation, d.low, d.high);
  return dnnl::convolution_backward_weights::primitive_desc(desc, attr, engine(), hint);
#endif
}

/// One tensor of the convolution: the caller's layout and the primitive's, with a place in the scratch when they differ.
struct Operand {
  int argument;
  int buffer;
  bool written;
  memory::desc user, inner{};
  std::size_t offset = 0;
  std::size_t reorder_scratch = 0;  // offset
  dnnl::reorder::primitive_desc reorder_description{};
  dnnl::reorder reorder{};

  bool moved() const { return user != inner; }
};

/// What one thread count runs: oneDNN decides how to split the work when the primitive is made.
struct Variant {
  int threads = 1;
  dnnl::primitive_desc_base description;
  std::vector<Operand> operands;
  std::size_t scratchpad = 0;  // offset
  std::size_t bytes = 0;
  std::once_flag once;
  dnnl::primitive primitive;
};

/// Memory handles of one run. oneDNN allocates them, so they are kept and used again.
struct Handles {
  const Variant* variant = nullptr;
  std::vector<memory> user, inner, reorder_scratch;
  memory scratchpad;
};

class OneDnnConvolution : public runtime::Call {
 public:
  explicit OneDnnConvolution(const Convolution& d) : description_(d), sizes_(d) {
    const Activations activations = choose();
    for (int threads = 1;; threads = std::min(2 * threads, library_threads())) {
      variants_.push_back(plan(threads, activations));
      bytes_ = std::max(bytes_, variants_.back()->bytes);
      if (threads == library_threads()) break;
    }
  }

  std::size_t scratch_bytes() const override { return bytes_; }
  std::string describe() const override { return std::string("oneDNN ") + implementation() + " " + to_string(description_); }
  /// "ref…" is oneDNN's plain loop.
  bool is_fast() const { return std::string(implementation()).compare(0, 3, "ref") != 0; }

  void run(std::span<void* const> buffers, void* scratch, int threads) const override {
    Variant& variant = variant_for(threads);
    const ThreadLimit limit(variant.threads);
    std::call_once(variant.once, [&] { create(variant); });
    std::unique_ptr<Handles> handles = take(variant);
    execute(variant, *handles, buffers, static_cast<char*>(scratch));
    give_back(std::move(handles));
    if (description_.activation == runtime::Activation::Relu) relu(static_cast<float*>(buffers.back()), variant.threads);
  }

 private:
  const char* implementation() const { return variants_.back()->description.impl_info_str(); }

  /// Channels-last wherever the caller has it on one side; a 1x1 convolution is a plain product in either layout.
  Activations choose() const {
    const auto lies = [&](const memory::desc& user, const memory::dims& dims, Format format) { return user == memory::desc(dims, memory::data_type::f32, format); };
    if (lies(sizes_.user_input, sizes_.input, sizes_.channels_last()) || lies(sizes_.user_output, sizes_.output, sizes_.channels_last())) {
      if (!(sizes_.input[1] == 1 && lies(sizes_.user_output, sizes_.output, sizes_.channels_first()))) return Activations::ChannelsLast;
    }
    const Geometry g(description_);
    const bool pointwise = g.taps() == 1 && g.stride == Axes3{1, 1, 1} && g.low == Axes3{} && g.high == Axes3{} && g.groups == 1;
    if (pointwise && lies(sizes_.user_input, sizes_.input, sizes_.channels_first())) return Activations::ChannelsFirst;
    // The gradient of an image: vectors of input channels would be nearly empty.
    const bool image = description_.pass == ConvolutionPass::BackwardData && g.c <= 4 && g.groups == 1;
    if (image && lies(sizes_.user_output, sizes_.output, sizes_.channels_first())) return Activations::ChannelsFirst;
    return Activations::Blocked;
  }

  std::unique_ptr<Variant> plan(int threads, Activations activations) const {
    const ThreadLimit limit(threads);
    auto variant = std::make_unique<Variant>();
    variant->threads = threads;
    variant->description = describe_pass(sizes_, description_.pass, description_.bias, activations);
    const bool bias = description_.bias;
    switch (description_.pass) {
      case ConvolutionPass::Forward:
        variant->operands = {{DNNL_ARG_SRC, 0, false, sizes_.user_input}, {DNNL_ARG_WEIGHTS, 1, false, sizes_.user_weight}, {DNNL_ARG_DST, bias ? 3 : 2, true, sizes_.user_output}};
        if (bias) variant->operands.push_back({DNNL_ARG_BIAS, 2, false, sizes_.user_bias});
        break;
      case ConvolutionPass::BackwardData:
        variant->operands = {{DNNL_ARG_DIFF_DST, 0, false, sizes_.user_output}, {DNNL_ARG_WEIGHTS, 1, false, sizes_.user_weight}, {DNNL_ARG_DIFF_SRC, 2, true, sizes_.user_input}};
        break;
      case ConvolutionPass::BackwardWeight:
        variant->operands = {{DNNL_ARG_SRC, 0, false, sizes_.user_input}, {DNNL_ARG_DIFF_DST, 1, false, sizes_.user_output}, {DNNL_ARG_DIFF_WEIGHTS, 2, true, sizes_.user_weight}};
        if (bias) variant->operands.push_back({DNNL_ARG_DIFF_BIAS, 3, true, sizes_.user_bias});
        break;
    }
    const auto reserve = [&](std::size_t bytes) {
      const std::size_t offset = variant->bytes;
      variant->bytes += (bytes + 63) / 64 * 64;
      return offset;
    };
    for (Operand& operand : variant->operands) {
      operand.inner = variant->description.query_md(dnnl::query::exec_arg_md, operand.argument);
      if (!operand.moved()) continue;
      operand.offset = reserve(operand.inner.get_size());
      const memory::desc &from = operand.written ? operand.inner : operand.user, &to = operand.written ? operand.user : operand.inner;
      operand.reorder_description = dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes());
      operand.reorder_scratch = reserve(operand.reorder_description.scratchpad_desc().get_size());
    }
    variant->scratchpad = reserve(variant->description.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD).get_size());
    return variant;
  }

  /// The largest variant that uses no more threads than asked for.
  Variant& variant_for(int threads) const {
    std::size_t i = variants_.size() - 1;
    while (i > 0 && variants_[i]->threads > threads) --i;
    return *variants_[i];
  }

  static void create(Variant& variant) {
    variant.primitive = dnnl::primitive(variant.description.get());
    for (Operand& operand : variant.operands) {
      if (operand.moved()) operand.reorder = dnnl::reorder(operand.reorder_description);
    }
  }

  std::unique_ptr<Handles> take(const Variant& variant) const {
    {
      const std::scoped_lock lock(mutex_);
      for (auto& kept : free_) {
        if (kept->variant != &variant) continue;
        std::swap(kept, free_.back());
        auto handles = std::move(free_.back());
        free_.pop_back();
        return handles;
      }
    }
    auto handles = std::make_unique<Handles>();
    handles->variant = &variant;
    for (const Operand& operand : variant.operands) {
      handles->user.emplace_back(operand.user, engine(), nullptr);
      handles->inner.emplace_back(operand.inner, engine(), nullptr);
      handles->reorder_scratch.emplace_back(operand.moved() ? operand.reorder_description.scratchpad_desc() : memory::desc(), engine(), nullptr);
    }
    handles->scratchpad = memory(variant.description.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD), engine(), nullptr);
    return handles;
  }
  void give_back(std::unique_ptr<Handles> handles) const {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(handles));
  }

  static void execute(const Variant& variant, Handles& handles, std::span<void* const> buffers, char* scratch) {
    std::array<dnnl_exec_arg_t, 5> arguments;
    int count = 0;
    const auto move = [&](const Operand& operand, std::size_t i) {
      const dnnl_exec_arg_t pair[] = {{DNNL_ARG_FROM, (operand.written ? handles.inner : handles.user)[i].get()},
                                      {DNNL_ARG_TO, (operand.written ? handles.user : handles.inner)[i].get()},
                                      {DNNL_ARG_SCRATCHPAD, handles.reorder_scratch[i].get()}};
      dnnl::error::wrap_c_api(dnnl_primitive_execute(operand.reorder.get(), stream().get(), 3, pair), "reorder");
    };
    for (std::size_t i = 0; i < variant.operands.size(); ++i) {
      const Operand& operand = variant.operands[i];
      handles.user[i].set_data_handle(buffers[static_cast<std::size_t>(operand.buffer)]);
      if (operand.moved()) {
        handles.inner[i].set_data_handle(scratch + operand.offset);
        handles.reorder_scratch[i].set_data_handle(scratch + operand.reorder_scratch);
        if (!operand.written) move(operand, i);
      }
      arguments[static_cast<std::size_t>(count++)] = {operand.argument, (operand.moved() ? handles.inner : handles.user)[i].get()};
    }
    handles.scratchpad.set_data_handle(scratch + variant.scratchpad);
    arguments[static_cast<std::size_t>(count++)] = {DNNL_ARG_SCRATCHPAD, handles.scratchpad.get()};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(variant.primitive.get(), stream().get(), count, arguments.data()), "convolution");
    for (std::size_t i = 0; i < variant.operands.size(); ++i) {
      if (variant.operands[i].moved() && variant.operands[i].written) move(variant.operands[i], i);
    }
  }

  /// Not as oneDNN's post-op: that one turns NaN into 0 and so hides a network that has diverged.
  void relu(float* y, int threads) const {
    const std::int64_t count = numel(description_.output.shape);
    parallel(threads, [&](int thread, int parts) {
      const Range mine = share(count, thread, parts);
      apply_epilogue(Epilogue<float>{.activation = runtime::Activation::Relu}, y + mine.begin, 1, mine.end - mine.begin, 0);
    });
  }

  Convolution description_;
  Description sizes_;
  std::vector<std::unique_ptr<Variant>> variants_;  // by rising thread count
  std::size_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Handles>> free_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_onednn_convolution(const Convolution& d) {
  try {
    auto call = std::make_unique<OneDnnConvolution>(d);
    if (call->is_fast()) return call;
  } catch (const dnnl::error&) {  // nothing implemented for this shape
  }
  return make_patch_convolution(d);
}

}  // namespace tegula::cpu
