#include "tegula/cuda/handwritten/plain_kernels.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_kernels.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

using runtime::ConvolutionPass;
using runtime::Pooling;
using runtime::PoolingKind;
using Names = std::vector<std::string>;

constexpr int kThreads = 256;

PlainKernel per_element(const PlainSource& source, std::string name, std::int64_t count) {
  return {std::move(name), source.text(), divide_up(count, kThreads), kThreads};
}

/// Three spatial axes, missing ones in front with size 1 (shift 0 where that is what they mean).
Dims three(const Dims& dims, std::int64_t missing) {
  Dims out = Dims::filled(3 - dims.rank(), missing);
  for (const auto value : dims) out.push_back(value);
  return out;
}

/// (N, C, spatial…) as (N, C, d, h, w).
Layout five(const Layout& layout) {
  Layout out{{layout.shape[0], layout.shape[1]}, {layout.strides[0], layout.strides[1]}};
  const int missing = 5 - layout.shape.rank();
  for (int i = 0; i < missing; ++i) out.shape.push_back(1), out.strides.push_back(0);
  for (int i = 2; i < layout.shape.rank(); ++i) out.shape.push_back(layout.shape[i]), out.strides.push_back(layout.strides[i]);
  return out;
}

void define_axes(PlainSource& source, const Dims& in, const Dims& out, const Dims& window, const Dims& stride, const Dims& dilation,
                 const Dims& low) {
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    source.define("IN" + n, in[i]);
    source.define("OUT" + n, out[i]);
    source.define("WINDOW" + n, window[i]);
    source.define("STRIDE" + n, stride[i]);
    source.define("DILATION" + n, dilation[i]);
    source.define("LOW" + n, low[i]);
  }
}

Dims spatial(const Layout& five) { return {five.shape[2], five.shape[3], five.shape[4]}; }

const Names kInput{"n", "c", "p0", "p1", "p2"}, kOutput{"n", "c", "o0", "o1", "o2"}, kTap{"k", "c", "t0", "t1", "t2"};

/// offset_text with other names for some of the axes.
std::string renamed(const Layout& layout, Names names, std::initializer_list<std::pair<int, const char*>> changes) {
  for (const auto& [axis, name] : changes) names[static_cast<std::size_t>(axis)] = name;
  return offset_text(layout, names);
}

}  // namespace

PlainKernel pooling_kernel(const runtime::Pooling& d) {
  const Layout x = five(d.input.layout), y = five(d.output.layout);
  PlainSource source(d.dtype(), {x, y});
  define_axes(source, spatial(x), spatial(y), three(d.window, 1), three(d.stride, 1), three(d.dilation, 1), three(d.pad_low, 0));
  source.define("MAXIMUM", d.kind == PoolingKind::Max);
  source.define("PADDING_COUNTS", d.kind == PoolingKind::AverageWithPadding);
  source.add(kForEachTap);
  const Layout& result = d.backward ? x : y;
  const std::int64_t count = numel(result.shape);
  source.define("NO_TAP", d.has_taps() ? Pooling::kNoTap : -1);
  source.define("VALUES", d.wants_values);
  source.define("TAPS", d.wants_taps);
  source.add(!d.backward                  ? kPoolingForward
             : d.has_taps()               ? kMaxBackward
             : d.kind == PoolingKind::Max ? kSearchBackward
                                          : kAverageBackward,
             {{"COORDINATES", thread_coordinates(result, d.backward ? kInput : kOutput)},
              {"TAPS", d.has_taps() ? ", unsigned char* taps" : ""},
              {"INPUT", offset_text(x, kInput)},
              {"TAP", offset_text(five(d.taps_layout()), kOutput)},
              {"OUTPUT", offset_text(y, kOutput)}});
  return per_element(source, "pooling", count);
}

PlainKernel direct_convolution_kernel(const runtime::Convolution& d) {
  const Layout x = five(d.input.layout), w = five(d.weight.layout), y = five(d.output.layout);
  PlainSource source(d.dtype(), {x, w, y});
  define_axes(source, spatial(x), spatial(y), spatial(w), three(d.stride, 1), three(d.dilation, 1), three(d.pad_low, 0));
  source.define("GROUPS", d.groups);
  source.define("BATCH", x.shape[0]);
  source.define("CHANNELS_IN", x.shape[1]);
  source.define("CHANNELS_OUT", y.shape[1]);
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  source.define("BIAS", sums.channel || d.bias_gradient);
  source.add(kForEachTap);
  activation_function(source, sums.rest);
  const std::string tap = offset_text(w, kTap);
  const std::string input_from = renamed(x, kInput, {{1, "(first + c)"}}), output_k = renamed(y, kOutput, {{1, "k"}});
  switch (d.pass) {
    case ConvolutionPass::Forward:
      source.add(kConvolutionForward, {{"COORDINATES", thread_coordinates(y, kOutput)},
                                       {"BIAS", sums.channel ? ", const Element* bias" : ""},
                                       {"INPUT_FROM", input_from},
                                       {"TAP", tap},
                                       {"OUTPUT", output_k}});
      return per_element(source, "convolution", numel(y.shape));
    case ConvolutionPass::BackwardData:
      source.add(kConvolutionBackwardData, {{"COORDINATES", thread_coordinates(x, kInput)},
                                            {"OUTPUT_K", output_k},
                                            {"TAP", tap},
                                            {"INPUT_CHANNEL", renamed(x, kInput, {{1, "channel"}})}});
      return per_element(source, "convolution", numel(x.shape));
    default:
      source.add(kBlockSum);
      source.add(kConvolutionBackwardWeight,
                 {{"COORDINATES", block_coordinates(w, kTap)}, {"INPUT_FROM", input_from}, {"OUTPUT_K", output_k}, {"TAP", tap}});
      return {"convolution", source.text(), numel(w.shape), kThreads};
  }
}

PlainKernel bias_gradient_kernel(const runtime::Convolution& d) {
  Layout y = five(d.output.layout), items = y;
  items.shape[1] = 1;  // the channel is the block's
  PlainSource source(d.dtype(), {y});
  source.define("COUNT", numel(items.shape));
  source.add(kBlockSum);
  source.add(kBiasGradient,
             {{"COORDINATES", coordinates("item", items, {"n", "", "o0", "o1", "o2"})}, {"OUTPUT", offset_text(y, kOutput)}});
  return {"bias_gradient", source.text(), y.shape[1], kThreads};
}

PlainKernel direct_matmul_kernel(const runtime::Matmul& d) {
  const int rank = d.c.layout.shape.rank();
  Names names;
  for (int i = 0; i + 2 < rank; ++i) names.push_back("i" + std::to_string(i));
  names.insert(names.end(), {"row", "column"});
  const auto batched = [&](Layout layout) {  // a batch axis of size 1 is read over and over
    for (int i = 0; i + 2 < rank; ++i) layout.strides[i] = layout.shape[i] == 1 ? 0 : layout.strides[i];
    return layout;
  };
  PlainSource source(d.dtype(), {d.a.layout, d.b.layout, d.c.layout});
  source.define("INNER", d.a.layout.shape[rank - 1]);
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  source.define("BIAS", sums.channel);
  activation_function(source, sums.rest);
  source.add(kMatmul, {{"COORDINATES", thread_coordinates(d.c.layout, names)},
                       {"BIAS", sums.channel ? ", const Element* bias" : ""},
                       {"A", renamed(batched(d.a.layout), names, {{rank - 1, "inner"}})},
                       {"B", renamed(batched(d.b.layout), names, {{rank - 2, "inner"}})},
                       {"C", offset_text(d.c.layout, names)}});
  return per_element(source, "matmul", numel(d.c.layout.shape));
}

PlainKernel epilogue_kernel(const PlainEpilogue& e) {
  Names names;
  for (int i = 0; i < e.layout.shape.rank(); ++i) names.push_back("i" + std::to_string(i));
  PlainSource source(e.dtype, {e.layout});
  activation_function(source, e.sums.rest);
  std::string terms = e.sums.channel ? " + load(bias + " + names[static_cast<std::size_t>(e.axis)] + ")" : "";
  if (e.sums.tensor) terms += " + load(addend + (at - c))";
  source.add(kEpilogue,
             {{"COORDINATES", thread_coordinates(e.layout, names)},
              {"PARAMETER", std::string(e.sums.channel ? "const Element* bias, " : "") + (e.sums.tensor ? "const Element* addend, " : "")},
              {"OFFSET", offset_text(e.layout, names)},
              {"TERMS", terms}});
  return per_element(source, "epilogue", numel(e.layout.shape));
}

PlainKernel copy_kernel(const PlainCopy& copy) {
  Names names, moved;
  std::string inside;
  for (int i = 0; i < copy.to.shape.rank(); ++i) {
    const std::string name = "i" + std::to_string(i), shift = std::to_string(copy.shift[i]);
    names.push_back(name);
    moved.push_back(copy.shift[i] == 0 ? name : "(" + name + " - " + shift + ")");
    const bool fits = copy.shift[i] <= 0 && copy.to.shape[i] - copy.shift[i] <= copy.from.shape[i];
    if (!fits && copy.shift[i] > 0) inside += " && " + name + " >= " + shift;
    if (!fits) inside += " && " + moved.back() + " < " + std::to_string(copy.from.shape[i]);
  }
  PlainSource source(copy.dtype, {copy.from, copy.to});
  source.add(kPad, {{"COORDINATES", thread_coordinates(copy.to, names)},
                    {"TO", offset_text(copy.to, names)},
                    {"FROM", offset_text(copy.from, moved)},
                    {"INSIDE", inside}});
  return per_element(source, "copy", numel(copy.to.shape));
}

}  // namespace tegula::gpu
