// Convolution through oneDNN. The activations stay in the caller's layout where oneDNN is fast in it and are reordered into its own
// blocked layouts where not, as are slices of larger tensors (for which oneDNN 2.6.3 has its plain loops alone); weights are reordered, unless they come
// in its blocks. An addend, and without NaN's also relu and limits, are its post-ops.

#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/memory_rows.h"
#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/onednn/onednn_blocks.h"
#include "tegula/cpu/onednn/onednn_primitive.h"

namespace tegula::host {
namespace {

using dnnl::memory;
using runtime::Convolution;
using runtime::ConvolutionPass;
using Format = memory::format_tag;

enum class Activations { ChannelsLast, ChannelsFirst, Blocked };

/// Sizes as oneDNN wants them: two spatial axes at least, groups as an axis of the weight, dilation counted from 0.
struct Description {
  memory::dims input, weight, output, bias, stride, dilation, low, high;
  memory::desc user_input, user_weight, user_output, user_bias;

  explicit Description(const Convolution& d) {
    const Geometry g(d);
    const std::size_t first = d.input.layout.shape.rank() == 5 ? 0 : 1;
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

/// The epilogue in oneDNN's terms, and the buffers of what it reads.
struct PostOps {
  bool bias = false, addend = false;
  runtime::Limits limits;

  explicit PostOps(const Convolution& d) {
    const runtime::Sums sums = runtime::sums_of(d.epilogue);
    bias = sums.channel || d.bias_gradient, addend = sums.tensor;
    if (!runtime::are_limits(sums.rest, d.dtype(), limits))
      throw Error({.op = "convolution", .got = "an epilogue" + runtime::to_string(sums.rest), .expected = "sums, relu, max and min"});
  }
  int addend_buffer() const { return bias ? 3 : 2; }
  int first_number() const { return addend_buffer() + (addend ? 1 : 0); }
  int output_buffer() const { return first_number() + static_cast<int>(limits.words.size()); }
  bool is_followed() const { return addend || !limits.words.empty(); }
};

/// True if oneDNN's kernel computes more than the convolution and its bias.
bool is_within(const Convolution& d) {
  const PostOps epilogue(d);
  return epilogue.is_followed() || (epilogue.limits.relu && !d.keeps_nan);
}

memory::desc number(const Description& d) { return d.plain(memory::dims(d.output.size(), 1)); }

/// The post-ops of the convolution (addend, expression), in the order in which they are computed.
dnnl::post_ops post_ops(const Description& d, const Convolution& convolution, const memory::desc& result) {
  dnnl::post_ops ops;
  const PostOps epilogue(convolution);
  if (epilogue.addend && result != d.user_output) throw dnnl::error(dnnl_unimplemented, "an addend in another order");
  if (epilogue.addend) ops.append_binary(dnnl::algorithm::binary_add, result);
#if DNNL_VERSION_MAJOR >= 3
  if (epilogue.limits.relu) ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  if (epilogue.limits.relu) ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  for (const tile::Word word : epilogue.limits.words)
    ops.append_binary(word == tile::Word::Max ? dnnl::algorithm::binary_max : dnnl::algorithm::binary_min, number(d));
  return ops;
}

/// The primitive descriptor of one pass; throws dnnl::error when there is no implementation.
dnnl::primitive_desc_base describe_pass(const Description& d, const Convolution& convolution, Activations activations) {
  const ConvolutionPass pass = convolution.pass;
  const bool with_bias = PostOps(convolution).bias;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto type = memory::data_type::f32;
  const Format format = activations == Activations::ChannelsLast    ? d.channels_last()
                        : activations == Activations::ChannelsFirst ? d.channels_first()
                                                                    : Format::any;
  const memory::desc x(d.input, type, format), w(d.weight, type, Format::any), y(d.output, type, format);
  const memory::desc b = with_bias ? memory::desc(d.bias, type, Format::x) : memory::desc();
  const auto& engine = onednn_engine();
  auto attr = onednn_attributes();
  if (is_within(convolution)) attr.set_post_ops(post_ops(d, convolution, y));
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = [&](const memory::desc& bias) {
    return dnnl::convolution_forward::primitive_desc(engine, kind, kAlgorithm, x, w, bias, y, d.stride, d.dilation, d.low, d.high, attr);
  };
  if (pass == ConvolutionPass::Forward) return forward(b);
  const auto hint = forward(memory::desc());
  if (pass == ConvolutionPass::BackwardData) {
    return dnnl::convolution_backward_data::primitive_desc(engine, kAlgorithm, x, w, y, d.stride, d.dilation, d.low, d.high, hint, attr);
  }
  return dnnl::convolution_backward_weights::primitive_desc(engine, kAlgorithm, x, w, b, y, d.stride, d.dilation, d.low, d.high, hint,
                                                            attr);
#else
  const auto forward = [&](const memory::desc& bias) {
    const dnnl::convolution_forward::desc desc(kind, kAlgorithm, x, w, bias, y, d.stride, d.dilation, d.low, d.high);
    return dnnl::convolution_forward::primitive_desc(desc, attr, engine);
  };
  if (pass == ConvolutionPass::Forward) return forward(b);
  const auto hint = forward(memory::desc());
  if (pass == ConvolutionPass::BackwardData) {
    const dnnl::convolution_backward_data::desc desc(kAlgorithm, x, w, y, d.stride, d.dilation, d.low, d.high);
    return dnnl::convolution_backward_data::primitive_desc(desc, attr, engine, hint);
  }
  const dnnl::convolution_backward_weights::desc desc(kAlgorithm, x, w, b, y, d.stride, d.dilation, d.low, d.high);
  return dnnl::convolution_backward_weights::primitive_desc(desc, attr, engine, hint);
#endif
}

/// The layout oneDNN works in: channels-last wherever the caller has it on one side.
Activations choose_activations(const Convolution& description) {
  const Geometry g(description);
  if (wants_blocks(g)) return Activations::Blocked;
  const auto input = [&](Order order) { return lies_in_order(order, g.n, g.c, g.in, g.input); };
  const auto output = [&](Order order) { return lies_in_order(order, g.n, g.k, g.out, g.output); };
  const bool input_last = input(Order::ChannelsLast), output_last = output(Order::ChannelsLast);
  const bool input_first = input(Order::ChannelsFirst), output_first = output(Order::ChannelsFirst);
  if ((input_last && !(input_first && output_first)) || output_last) return Activations::ChannelsLast;
  // A 1x1 convolution is a plain product in either layout.
  const bool pointwise = g.taps() == 1 && g.stride == Axes3{1, 1, 1} && g.low == Axes3{} && g.high == Axes3{} && g.groups == 1;
  // The gradient of an image: vectors of input channels would be nearly empty.
  const bool image = description.pass == ConvolutionPass::BackwardData && g.c <= 4 && g.groups == 1;
  return (pointwise && input_first) || (image && output_first) ? Activations::ChannelsFirst : Activations::Blocked;
}

/// describe_pass for a convolution. Remembers the last few: a weight's blocks are asked for before the call is made, and both describe the same pass.
dnnl::primitive_desc_base described(const Convolution& d, Activations activations) {
  struct Known {
    Convolution convolution;
    Activations activations;
    dnnl::primitive_desc_base pass;
  };
  constexpr std::size_t kMost = 8;
  thread_local std::vector<Known> known;
  Convolution key = d;
  key.weight.blocks = {};  // oneDNN chooses the weight's layout
  for (const Known& one : known)
    if (one.activations == activations && one.convolution == key) return one.pass;
  if (known.size() == kMost) known.erase(known.begin());
  const auto pass = describe_pass(Description(d), d, activations);
  known.push_back({std::move(key), activations, pass});
  return pass;
}

/// `weight`: the layout in which it comes.
std::vector<OneDnnTensor> tensors(const Convolution& description, const Description& d, const memory::desc& weight) {
  const PostOps epilogue(description);
  const std::int64_t input = 4 * description.input.layout.strides[0],
                     output = 4 * description.output.layout.strides[0];  // bytes of an image
  const int numbers = static_cast<int>(epilogue.limits.words.size()), ahead = (epilogue.addend ? 1 : 0) + (epilogue.limits.relu ? 1 : 0);
  const auto of_post_op = [](int index) { return DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1; };
  std::vector<OneDnnTensor> list;
  switch (description.pass) {
    case ConvolutionPass::Forward:
      list = {{DNNL_ARG_SRC, 0, false, input, d.user_input},
              {DNNL_ARG_WEIGHTS, 1, false, 0, weight},
              {DNNL_ARG_DST, epilogue.output_buffer(), true, output, d.user_output}};
      if (epilogue.bias) list.push_back({DNNL_ARG_BIAS, 2, false, 0, d.user_bias});
      for (int k = 0; k < numbers; ++k) list.push_back({of_post_op(ahead + k), epilogue.first_number() + k, false, 0, number(d)});
      if (epilogue.addend) list.push_back({of_post_op(0), epilogue.addend_buffer(), false, output, d.user_output});
      break;
    case ConvolutionPass::BackwardData:
      list = {{DNNL_ARG_DIFF_DST, 0, false, output, d.user_output},
              {DNNL_ARG_WEIGHTS, 1, false, 0, weight},
              {DNNL_ARG_DIFF_SRC, 2, true, input, d.user_input}};
      break;
    case ConvolutionPass::BackwardWeight:
      list = {{DNNL_ARG_SRC, 0, false, input, d.user_input},
              {DNNL_ARG_DIFF_DST, 1, false, output, d.user_output},
              {DNNL_ARG_DIFF_WEIGHTS, 2, true, 0, d.user_weight}};
      if (epilogue.bias) list.push_back({DNNL_ARG_DIFF_BIAS, 3, true, 0, d.user_bias});
      break;
  }
  return list;
}

/// The same convolution of so many images.
Convolution of_images(Convolution d, std::int64_t count) {
  d.input.layout.shape[0] = d.output.layout.shape[0] = count;
  return d;
}

/// The weight's layout in a primitive for all images.
memory::desc wanted_weight(const Convolution& d) { return described(d, choose_activations(d)).query_md(dnnl::query::weights_md, 0); }

/// The layout of a weight that comes in blocks.
memory::desc packed_weight(const Convolution& d) {
  if (auto layout = layout_of(d.weight.blocks)) return *layout;
  const memory::desc wanted = wanted_weight(d);
  if (blocked_of(wanted) == d.weight.blocks) return wanted;
  throw Error({.op = "convolution", .got = "a weight in other blocks", .expected = "those that were asked for"});
}

class OneDnnConvolution : public runtime::Call {
 public:
  explicit OneDnnConvolution(const Convolution& d) : OneDnnConvolution(d, choose_activations(d)) {}

  std::size_t scratch_bytes() const override { return primitive_.scratch_bytes(); }
  std::string describe() const override { return "oneDNN " + primitive_.implementation() + " " + to_string(description_); }
  bool is_fast() const { return !primitive_.has("ref"); }
  memory::desc wanted_weight() const { return primitive_.layout_for_all(DNNL_ARG_WEIGHTS); }
  bool is_product() const { return primitive_.has("gemm") || primitive_.has("x64:gemm"); }  // as the processor is

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (!relu_ || !description_.keeps_nan) return primitive_.run(buffers, options.scratch, options.threads);
    // Not as oneDNN's post-op: that one turns NaN into 0 and so hides a network that has diverged.
    auto* y = static_cast<float*>(buffers.back());
    const auto relu = [this, y](std::int64_t begin, std::int64_t end) {
      apply_epilogue(Epilogue<float>{.relu = true}, y + begin * image_.count * image_.distance, (end - begin) * image_.count, image_.length,
                     image_.distance);
    };
    if (description_.output.layout.shape[0] == units_) return primitive_.run(buffers, options.scratch, options.threads, relu);
    primitive_.run(buffers, options.scratch, options.threads);
    relu(0, units_);
  }

 private:
  OneDnnConvolution(const Convolution& d, Activations activations)
      : description_(d),
        primitive_(d.input.layout.shape[0], [&](std::int64_t images) {
          const Convolution part = of_images(d, images);
          const Description sizes(part);
          return OneDnnPiece{tensors(part, sizes, d.weight.blocks ? packed_weight(d) : sizes.user_weight), described(part, activations)};
        }) {
    const Layout& y = d.output.layout;
    image_ = memory_rows(y).value_or(MemoryRows{});
    const std::int64_t images = y.shape[0], size = numel(y.shape) / images;
    if (image_.count == 1 && (images == 1 || y.strides[0] == size)) image_ = {images, size, size};
    const bool apart = image_.count % images == 0 && (images == 1 || y.strides[0] == image_.count / images * image_.distance);
    units_ = apart ? images : 1;
    image_.count /= units_;
  }

  Convolution description_;
  bool relu_ = has_relu(description_);
  OneDnnPrimitive primitive_;
  MemoryRows image_;  // the output's rows: of one image, or of all if images are not apart
  std::int64_t units_ = 1;  // number of such images
};

/// Null where oneDNN has no fast kernel.
std::unique_ptr<OneDnnConvolution> make_fast(const Convolution& d) {
  if (!memory_rows(d.output.layout)) return nullptr;
  try {
    auto call = std::make_unique<OneDnnConvolution>(d);
    if (is_within(d) && call->is_product()) return nullptr;  // 2.6.3: limits behind several groups come out wrong
    return call->is_fast() ? std::move(call) : nullptr;
  } catch (const dnnl::error&) {
    return nullptr;  // nothing implemented for this shape
  }
}

}  // namespace

runtime::Blocked onednn_weight_blocks(const Convolution& d) {
  auto call = make_fast(d);
  if (!call) {  // it is followed
    Convolution runs = d;
    runs.epilogue = runtime::expression_of({.channel = has_bias(d)});
    call = make_fast(runs);
  }
  if (!call) return {};
  const memory::desc wanted = call->wanted_weight();
  return wanted == Description(d).user_weight ? runtime::Blocked() : blocked_of(wanted).value_or(runtime::Blocked());
}

std::unique_ptr<runtime::Call> make_onednn_convolution(const Convolution& d) {
  if (auto call = make_fast(d)) return call;
  if (PostOps(d).is_followed()) return make_followed_convolution(d);
  if (is_within(d)) {
    Convolution kept = d;
    kept.keeps_nan = true;
    return make_onednn_convolution(kept);
  }
  if (d.weight.blocks)
    throw Error({.op = "convolution", .got = "a weight in blocks", .expected = "one as it lies, for a shape without a fast kernel"});
  return make_patch_convolution(d);
}

}  // namespace tegula::host
