#include "tegula/cuda/dnn/dnn_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/core/error.h"
#include "tegula/core/memory_rows.h"
#include "tegula/cuda/handwritten/plain_fold.h"
#include "tegula/runtime/checks.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

/// (N, C, W) as (N, C, 1, W): cuDNN knows no convolution over one axis.
Layout widened(const Layout& layout) {
  Layout out = layout;
  out.offset = 0;
  if (layout.shape.rank() == 3) out.shape.insert(2, 1), out.strides.insert(2, 0);
  return out;
}

Dims widened(const Dims& dims, int rank, std::int64_t missing) {
  Dims out = dims;
  if (rank == 3) out.insert(0, missing);
  return out;
}

/// Input positions behind the last one that a window of the last output reads, negative where some are left over.
std::int64_t padding_needed(std::int64_t in, std::int64_t kernel, std::int64_t out, std::int64_t stride, std::int64_t dilation,
                            std::int64_t low) {
  return (out - 1) * stride + dilation * (kernel - 1) + 1 - in - low;
}

/// Also refused: asymmetric padding for gradients and in groups, which cuDNN 9.19 gets wrong: the gradient of the weight in f64 for (1, 3, 9) by (6, 3, 4)
/// with padding (0)(3); for (1, 6, 8) by (6, 1, 3) in 6 groups with padding (1)(2) the gradient of the input in f16, where its engine 6 also writes behind
/// the result, and the result in f32 (engine 5).
bool has_refused_padding(const Convolution& d, const DnnProblem& p) {
  for (int i = 0; i < p.pre.rank(); ++i) {
    if (p.pre[i] < 0 || p.post[i] < 0) return true;
    if (p.pre[i] != p.post[i] && (d.groups > 1 || d.pass != ConvolutionPass::Forward)) return true;
  }
  return false;
}

std::string layout_text(const Layout& layout) {
  return to_string(layout.shape) + (lies_ordered(layout, ChannelOrder::First) ? "" : "/" + to_string(layout.strides));
}

}  // namespace

Layout ordered(const Shape& shape, ChannelOrder order) {
  Layout layout = Layout::dense(shape);
  if (order == ChannelOrder::First) return layout;
  std::int64_t step = shape[1];
  for (int axis = shape.rank() - 1; axis > 1; --axis) {
    layout.strides[axis] = step;
    step *= shape[axis];
  }
  layout.strides[1] = 1;
  layout.strides[0] = step;
  return layout;
}

bool lies_ordered(const Layout& layout, ChannelOrder order) {
  const Layout wanted = ordered(layout.shape, order);
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] != 1 && layout.strides[i] != wanted.strides[i]) return false;
  }
  return true;
}

std::optional<Layout> ordered_slice(const Layout& layout, ChannelOrder order, DType dtype) {
  if (lies_ordered(layout, order)) return ordered(layout.shape, order);
  const auto lies = order == ChannelOrder::First ? with_room_between_images(layout) : with_room_between_pixels(layout);
  const auto rows = lies ? memory_rows(*lies) : std::nullopt;
  return rows && rows->distance * static_cast<std::int64_t>(size_of(dtype)) % 16 == 0 ? lies : std::nullopt;
}

bool has_slices(const Convolution& d, ChannelOrder order) {
  return std::ranges::any_of(std::array{&d.input.layout, &d.output.layout}, [&](const Layout* layout) {
    return !lies_ordered(*layout, order) && ordered_slice(*layout, order, d.dtype());
  });
}

bool uses_tensor_cores(const Convolution& d) {
  return is_half(d.dtype()) || (d.dtype() == f32 && d.arithmetic == runtime::Arithmetic::TF32);
}

DnnProblem dnn_problem(const Convolution& d, const DnnAttempt& attempt) {
  const int rank = d.input.layout.shape.rank();
  DnnProblem p{.stride = widened(d.stride, rank, 1), .dilation = widened(d.dilation, rank, 1), .pre = widened(d.pad_low, rank, 0)};
  p.described_input = widened(d.input.layout), p.described_weight = widened(d.weight.layout), p.described_output = widened(d.output.layout);
  p.shift = Dims::filled(p.described_input.shape.rank(), 0);
  p.post = widened(d.pad_high, rank, 0);
  Shape input = p.described_input.shape, weight = p.described_weight.shape, output = p.described_output.shape;
  for (int i = 0; i < p.stride.rank(); ++i) {
    const std::int64_t fold = attempt.fold.empty() ? 1 : attempt.fold[i];
    if (fold > 1) {
      const std::int64_t outputs = fold / p.stride[i];  // that become one
      output[1] *= outputs;
      output[i + 2] /= outputs;
      weight[0] *= outputs;
      weight[i + 2] = divide_up(weight[i + 2] + (outputs - 1) * p.stride[i], fold);
      input[i + 2] = output[i + 2] + weight[i + 2] - 1;
      p.shift[i + 2] = p.pre[i];
      p.pre[i] = p.post[i] = 0;
      p.stride[i] = 1;
      continue;
    }
    const std::int64_t needed = padding_needed(input[i + 2], p.described_weight.shape[i + 2], p.described_output.shape[i + 2], p.stride[i],
                                               p.dilation[i], p.pre[i]);
    if (attempt.padded) {
      input[i + 2] += p.pre[i] + needed;
      p.shift[i + 2] = p.pre[i];
      p.pre[i] = p.post[i] = 0;
    } else if (p.pre[i] >= needed && p.pre[i] < needed + p.stride[i]) {
      p.post[i] = p.pre[i];  // the same outputs, and more engines take it
    }
  }
  if (attempt.channels > 0) input[1] = weight[1] = attempt.channels;
  if (!attempt.fold.empty()) input[1] = weight[1] = folded_channels(input[1], attempt.fold);
  const auto lies = [&](const Layout& described, const Shape& shape) {
    const auto slice = attempt.slices && shape == described.shape ? ordered_slice(described, attempt.order, d.dtype()) : std::nullopt;
    return slice.value_or(ordered(shape, attempt.order));
  };
  p.input = lies(p.described_input, input);
  p.weight = ordered(weight, attempt.order);
  p.output = lies(p.described_output, output);
  if (!attempt.fold.empty()) p.described_output = p.output;  // the same memory
  return p;
}

std::vector<DnnVariant> dnn_variants(const Convolution& d) {
  const auto piece = static_cast<std::int64_t>(16 / size_of(d.dtype()));
  if (!is_half(d.dtype()) || d.groups != 1 || d.pass == ConvolutionPass::BackwardData || d.input.layout.shape[1] >= piece) return {};
  if (!lies_ordered(d.output.layout, ChannelOrder::Last)) return {};
  std::vector<DnnVariant> variants;
  const auto add = [&](const char* name, DnnAttempt attempt) {
    attempt.order = ChannelOrder::Last;
    if (has_refused_padding(d, dnn_problem(d, attempt))) return;
    variants.push_back({name, {attempt}});
    if (!has_epilogue(d)) return;
    attempt.fused = true;
    variants.back().attempts.insert(variants.back().attempts.begin(), attempt);
  };
  add("filled", {.channels = piece});
  const Dims stride = widened(d.stride, d.input.layout.shape.rank(), 1);
  bool folds = stride.rank() == 2 && stride[1] > 1;
  for (int i = 0; i < d.stride.rank(); ++i)
    folds = folds && d.dilation[i] == 1 && d.pad_low[i] >= 0 && d.weight.layout.shape[i + 2] >= d.stride[i];
  constexpr std::int64_t kMostChannels = 128;
  const std::int64_t width = d.output.layout.shape[d.output.layout.shape.rank() - 1];
  for (const auto& [name, outputs] : {std::pair("folded", 1), std::pair("folded by pairs", 2)}) {
    const Dims fold = folds ? Dims{stride[0], outputs * stride[1]} : Dims{};
    if (folds && width % outputs == 0 && folded_channels(d.input.layout.shape[1], fold) <= kMostChannels) add(name, {.fold = fold});
  }
  return variants;
}

bool has_epilogue(const Convolution& d) { return d.pass == ConvolutionPass::Forward && !d.epilogue.is_empty(); }

namespace {

/// True if windows leave elements out between them along some axis.
bool leaves_pixels_out(const Convolution& d) {
  for (int i = 0; i < d.stride.rank(); ++i) {
    if (d.stride[i] > d.dilation[i] * (d.weight.layout.shape[i + 2] - 1) + 1) return true;
  }
  return false;
}

}  // namespace

std::vector<DnnAttempt> dnn_attempts(const Convolution& d) {
  // Elements that need no copy in this order.
  const auto fitting = [&](ChannelOrder order) {
    std::int64_t count = 0;
    for (const Layout* layout : {&d.input.layout, &d.output.layout})
      count += ordered_slice(*layout, order, d.dtype()) ? numel(layout->shape) : 0;
    return count;
  };
  const std::int64_t first = fitting(ChannelOrder::First), last = fitting(ChannelOrder::Last);
  // cuDNN 9.19 gives wrong results of halves and TF32 in rows where strides leave pixels out (1 x 1 kernels of stride 2, engines 4 and 7).
  const bool last_alone = uses_tensor_cores(d) && leaves_pixels_out(d);
  const bool by_last = last_alone || last > first || (last == first && uses_tensor_cores(d));
  const ChannelOrder best = by_last ? ChannelOrder::Last : ChannelOrder::First, other = by_last ? ChannelOrder::First : ChannelOrder::Last;
  std::vector<DnnAttempt> attempts;
  // cuDNN 9.19 gives wrong weight gradients for groups over three axes (f16, engine 1).
  if (d.groups > 1 && d.stride.rank() == 3) return attempts;
  const DnnProblem plain = dnn_problem(d, {best});
  const bool refused = has_refused_padding(d, plain);
  if (!refused) {
    if (has_epilogue(d) && (!runtime::sums_of(d.epilogue).tensor || lies_ordered(d.output.layout, best)))
      attempts.push_back({best, false, true});
    attempts.push_back({best, false, false});
  }
  const DnnProblem padded = dnn_problem(d, {best, true});
  bool some = true;
  for (const auto size : padded.input.shape) some = some && size > 0;
  if (some && padded.input.shape != plain.input.shape) attempts.push_back({best, true, false});
  if (!refused && !last_alone) attempts.push_back({other, false, false});
  if (!has_slices(d, best) && !has_slices(d, other)) return attempts;
  for (std::size_t i = 0, count = attempts.size(); i < count; ++i) {  // for the case that no engine takes the slices
    attempts.push_back(attempts[i]);
    attempts.back().slices = false;
  }
  return attempts;
}

std::string key_of(const Convolution& d, const DnnAttempt& attempt) {
  constexpr const char* passes[] = {"forward", "backward data", "backward weight"};
  std::string key = std::string("convolution ") + passes[static_cast<int>(d.pass)] + " " + std::string(name(d.dtype()));
  if (d.dtype() == f32 && d.arithmetic == runtime::Arithmetic::TF32) key += " tf32";
  key += " " + layout_text(d.input.layout) + " * " + layout_text(d.weight.layout) + " -> " + layout_text(d.output.layout);
  key +=
      " stride " + to_string(d.stride) + " dilation " + to_string(d.dilation) + " padding " + to_string(d.pad_low) + to_string(d.pad_high);
  if (d.groups != 1) key += " groups " + std::to_string(d.groups);
  if (attempt.order == ChannelOrder::Last) key += ", channels last";
  if (attempt.padded) key += ", padded";
  if (!attempt.slices && has_slices(d, attempt.order)) key += ", copies of slices";
  if (attempt.channels > 0) key += ", " + std::to_string(attempt.channels) + " channels";
  if (!attempt.fold.empty()) key += ", folded " + to_string(attempt.fold);
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  if (attempt.fused)
    key += std::string(sums.channel || d.bias_gradient ? ", bias" : "") + (sums.tensor ? ", addend" : "") +
           (sums.rest.is_empty()                    ? ""
            : sums.rest == runtime::relu(d.dtype()) ? ", relu"
                                                    : runtime::to_string(sums.rest));
  return key;
}

void check_convolution(const Convolution& d) {
  runtime::check(d);
  const runtime::Expression rest = runtime::sums_of(d.epilogue).rest;
  if (!rest.is_empty() && rest != runtime::relu(d.dtype()))
    throw Error({.op = "convolution", .got = "an epilogue" + runtime::to_string(rest), .expected = "sums and relu"});
}

}  // namespace tegula::gpu
