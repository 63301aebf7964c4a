#include "tegula/ops/products/pooling_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/pooling_tiles.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

/// The pooling that runtime::Pooling describes; the second result of the maximum, forward, is the taps.
class PoolingOp final : public LibraryOp, public InTiles {
 public:
  PoolingOp(PoolingKind kind, bool backward, const Window& window) : kind_(kind), backward_(backward), window_(window) {}

  std::string_view name() const override {
    if (kind_ == PoolingKind::Max) return backward_ ? "max_pool_backward" : "max_pool";
    return backward_ ? "avg_pool_backward" : "avg_pool";
  }
  void attributes(Attributes& a) override {
    a.told_by_name(backward_);
    a.told_by_name(kind_ == PoolingKind::Max);
    bool counts_padding = kind_ == PoolingKind::AverageWithPadding;
    a("counts_padding", counts_padding);
    if (a.assigns() && kind_ != PoolingKind::Max)
      kind_ = counts_padding ? PoolingKind::AverageWithPadding : PoolingKind::AverageWithoutPadding;
    window_.attributes(a);
    if (const Signature* node = a.made_for()) a.require(fits(*node), "window");
  }
  Numerics numerics() const override { return Numerics::Either; }
  std::vector<Tensor> gradient(const Node& result, const Tensor& g, const std::vector<bool>& wanted) const override;
  std::vector<Tensor> gradients(const Node& result, std::span<const Tensor> gs, const std::vector<bool>& wanted) const override;

  runtime::CallDescription describe(const Setting& setting) const override {
    const std::span<const Layout> inputs = setting.inputs;
    const Layout& output = setting.results[0];
    if (kind_ == PoolingKind::Max && backward_ && !has_taps() && settle(inputs[0]) != settle(output)) {
      throw Error({.op = "max_pool_backward",
                   .got = "an input with strides " + to_string(inputs[0].strides),
                   .expected = "those of its gradient, " + to_string(output.strides)});
    }
    const Layout& small = backward_ ? inputs.back() : output;
    const Layout& large = backward_ ? output : inputs[0];
    return runtime::Pooling{.kind = kind_,
                            .backward = backward_,
                            .input = {setting.dtype, settle(large)},
                            .output = {setting.dtype, settle(small)},
                            .window = window_.size,
                            .stride = window_.stride,
                            .dilation = window_.dilation,
                            .pad_low = window_.low,
                            .pad_high = window_.high,
                            .wants_values = (setting.unwanted & 1) == 0,
                            .wants_taps = has_taps() && !backward_ && (setting.unwanted & 2) == 0,
                            .taps = {u8, has_taps() && backward_ ? settle(inputs[0]) : of_their_own(settle(small))}};
  }
  const InTiles* in_tiles() const override { return this; }
  std::vector<TileWay> ways_in_tiles(const runtime::CallDescription& call, const Operands& operands,
                                     const tile::TilePreference&) const override {
    return ops::pooling_ways(std::get<Pooling>(call), window_, operands);
  }
  DType input_dtype(int index, DType result) const override { return backward_ && has_taps() && index == 0 ? u8 : result; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense() || lies_channels_last(layout); }
  /// All but taps, and tensors that must have another one's layout: in the search for maxima in the backward pass.
  bool takes_slice(const runtime::Device&, int which, const SlicePlace& slice) const override {
    constexpr std::size_t kAlignment = 16;  // bytes
    const bool searches = kind_ == PoolingKind::Max && backward_ && !has_taps();
    if (slice.dtype == u8 || (searches && which != 1) || !runs_are_aligned(slice, kAlignment)) return false;
    return with_room_between_images(slice.layout) || with_room_between_pixels(slice.layout);
  }
  // Activations lie as the convolutions around want them.
  std::uint32_t channels_last(runtime::Device& device, std::span<const Layout> inputs, const Shape& output, DType dtype) const override {
    const Shape& x = backward_ ? output : inputs[0].shape;
    Shape weight = Dims::filled(x.rank(), 1);
    weight[0] = weight[1] = x[1];
    const int axes = window_.axes();
    const runtime::Convolution neighbour{.input = {dtype, Layout::dense(x)},
                                         .weight = {dtype, Layout::dense(weight)},
                                         .output = {dtype, Layout::dense(x)},
                                         .stride = Dims::filled(axes, 1),
                                         .dilation = Dims::filled(axes, 1),
                                         .pad_low = Dims::filled(axes, 0),
                                         .pad_high = Dims::filled(axes, 0)};
    const std::vector<runtime::Candidate> ways = device.candidates(neighbour);
    if (ways.empty() || !lies_channels_last(std::get<runtime::Convolution>(ways.front().description).input.layout)) return 0;
    return (1u << 31) | (inputs.size() == 2 ? 3u : 1u);
  }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    return static_cast<double>(numel(backward_ ? inputs.back() : output)) * static_cast<double>(numel(window_.size));
  }

  void reference(std::span<const std::span<const double>> in, std::span<const Shape> shapes, std::span<double> result,
                 const Shape& shape) const override {
    const Shape& x = backward_ ? shape : shapes[0];
    const Shape& y = backward_ ? shapes.back() : shape;
    std::fill(result.begin(), result.end(), 0.0);
    const std::int64_t planes = x[0] * x[1], inputs = numel(spatial(x)), outputs = numel(spatial(y));
    for (std::int64_t i = 0; i < planes * outputs; ++i) {
      const std::vector<std::int64_t> inside = elements(spatial(x), spatial(y), i % outputs);
      const std::int64_t plane = i / outputs * inputs;
      const auto at = [&](std::int64_t element) { return static_cast<std::size_t>(plane + element); };
      const auto out = static_cast<std::size_t>(i);
      if (kind_ == PoolingKind::Max && backward_ && has_taps()) {
        if (in[0][out] != Pooling::kNoTap)
          result[at(element(spatial(x), spatial(y), i % outputs, static_cast<std::int64_t>(in[0][out])))] += in[1][out];
      } else if (kind_ == PoolingKind::Max) {
        const std::int64_t best = first_maximum(in[0].subspan(static_cast<std::size_t>(plane)), inside);
        if (!backward_) result[out] = best < 0 ? -std::numeric_limits<double>::infinity() : in[0][at(best)];
        else if (best >= 0) result[at(best)] += in[1][out];
      } else {
        const auto count =
            static_cast<double>(kind_ == PoolingKind::AverageWithPadding ? numel(window_.size) : static_cast<std::int64_t>(inside.size()));
        for (auto e : inside) {
          if (backward_) result[at(e)] += in[0][out] / count;
          else result[out] += in[0][at(e)] / count;
        }
      }
    }
  }

  void references(std::span<const std::span<const double>> in, std::span<const Shape> shapes,
                  std::span<const std::span<double>> results) const override {
    const Shape& x = shapes[0];
    Shape y{x[0], x[1]};
    for (int i = 0; i < window_.axes(); ++i) y.push_back(window_.output(i, x[i + 2]));
    reference(in, shapes, results[0], y);
    const Dims outputs = spatial(y);
    const std::int64_t inputs = numel(spatial(x));
    for (std::int64_t i = 0; i < std::ssize(results[1]); ++i) {
      const std::int64_t p = i % numel(outputs);
      const std::span<const double> plane = in[0].subspan(static_cast<std::size_t>(i / numel(outputs) * inputs));
      const std::int64_t best = first_maximum(plane, elements(spatial(x), outputs, p));
      std::int64_t tap = Pooling::kNoTap;
      for (std::int64_t q = numel(window_.size); best >= 0 && q-- > 0;)
        if (element(spatial(x), outputs, p, q) == best) tap = q;
      results[1][static_cast<std::size_t>(i)] = static_cast<double>(tap);
    }
  }

 private:
  /// True if operands and results are as pooling_node makes them.
  bool fits(const Signature& node) const {
    const bool taps = has_taps() && kind_ == PoolingKind::Max, both = backward_ && kind_ == PoolingKind::Max;
    const Result &x = backward_ ? node.results[0] : node.inputs[0], &y = backward_ ? node.inputs.back() : node.results[0];
    if (node.inputs.size() != (both ? 2u : 1u) || node.results.size() != (taps && !backward_ ? 2u : 1u)) return false;
    if (x.dtype != y.dtype || x.shape.rank() != window_.axes() + 2 || window_.axes() < 1 || window_.axes() > 3) return false;
    if (both && node.inputs[0] != (taps ? Result{y.shape, u8} : x)) return false;
    if (taps && !backward_ && node.results[1] != Result{y.shape, u8}) return false;
    Shape shape{x.shape[0], x.shape[1]};
    for (int i = 0; i < window_.axes(); ++i) shape.push_back(window_.output(i, x.shape[i + 2]));
    return window_.low.rank() == window_.axes() && shape == y.shape;
  }
  bool has_taps() const { return Pooling{.kind = kind_, .window = window_.size}.has_taps(); }
  /// In the same order.
  static Layout of_their_own(const Layout& values) { return without_room(values, memory_rows(values).value_or(MemoryRows{})); }
  /// The elements of `values` (x's shape) at the maxima, of which there are `shape`: the adjoint of the backward pass. `by` identifies
  /// the maxima: the taps, or x.
  Tensor gather_maxima(const Tensor& by, const Tensor& values, const Shape& shape) const;

  /// The offset of element q of window p in a plane of the input; -1 where it lies outside.
  std::int64_t element(const Dims& input, const Dims& output, std::int64_t p, std::int64_t q) const {
    std::int64_t offset = 0, stride = 1;
    bool inside = true;
    for (int i = window_.axes() - 1; i >= 0; --i) {
      const std::int64_t place = p % output[i] * window_.stride[i] + q % window_.size[i] * window_.dilation[i] - window_.low[i];
      inside = inside && place >= 0 && place < input[i];
      offset += place * stride;
      stride *= input[i];
      p /= output[i];
      q /= window_.size[i];
    }
    return inside ? offset : -1;
  }
  /// The offsets of the elements of window p that lie inside the input, in memory order.
  std::vector<std::int64_t> elements(const Dims& input, const Dims& output, std::int64_t p) const {
    std::vector<std::int64_t> out;
    for (std::int64_t q = 0; q < numel(window_.size); ++q) {
      if (const std::int64_t offset = element(input, output, p, q); offset >= 0) out.push_back(offset);
    }
    return out;
  }
  static std::int64_t first_maximum(std::span<const double> plane, const std::vector<std::int64_t>& inside) {
    const auto at = [&](std::int64_t offset) { return plane[static_cast<std::size_t>(offset)]; };
    std::int64_t best = inside.empty() ? -1 : inside[0];
    for (const std::int64_t e : inside)
      if (at(e) > at(best) || (std::isnan(at(e)) && !std::isnan(at(best)))) best = e;
    return best;
  }

  PoolingKind kind_;
  bool backward_;
  Window window_;
};

Tensor pooling_node(PoolingKind kind, bool backward, const Window& window, std::initializer_list<Tensor> inputs, const Shape& shape,
                    const Line& where) {
  return ops::pooling_nodes(kind, backward, window, inputs, shape, where)[0];
}

std::vector<Tensor> PoolingOp::gradient(const Node& result, const Tensor& g, const std::vector<bool>& wanted) const {
  const auto& where = result.origin().where;
  const Tensor x(result.inputs()[0]);
  if (kind_ != PoolingKind::Max) return {pooling_node(kind_, !backward_, window_, {g}, x.shape(), where)};
  if (!backward_) return {pooling_node(kind_, true, window_, {x, g}, x.shape(), where)};
  std::vector<Tensor> out(2);  // the choice of the maximum does not depend on x smoothly: nothing flows there
  if (wanted[1]) out[1] = gather_maxima(x, g, result.input(1).shape());
  return out;
}

std::vector<Tensor> PoolingOp::gradients(const Node& result, std::span<const Tensor> gs, const std::vector<bool>& wanted) const {
  if (backward_ || !has_taps()) return gradient(result, gs[0], wanted);
  return {pooling_node(kind_, true, window_, {graph::part(result, 1), gs[0]}, result.input(0).shape(), result.origin().where)};
}

Tensor PoolingOp::gather_maxima(const Tensor& by, const Tensor& values, const Shape& shape) const {
  std::vector<PadWidth> widths(2);
  Dims axes, flat = shape;
  for (int i = 0; i < window_.axes(); ++i) {
    const std::int64_t reached = (shape[i + 2] - 1) * window_.stride[i] + window_.dilation[i] * (window_.size[i] - 1) + 1;
    widths.push_back({window_.low[i], std::max<std::int64_t>(0, reached - values.shape()[i + 2] - window_.low[i])});
    axes.push_back(i + 2);
  }
  flat.push_back(numel(window_.size));
  const auto spread = [&](const Tensor& t, double outside) {  // (N, C, positions…, elements of the window)
    const Tensor padded = pad(t, widths, {.value = outside});
    return reshape(windows(padded, axes, window_.size, {.stride = window_.stride, .dilation = window_.dilation}), flat);
  };
  Shape single = shape;
  single.push_back(1);
  const Tensor place = has_taps() ? reshape(graph::cast(minimum(by, numel(window_.size) - 1), i64), single)  // any will do in the padding
                                  : argmax(spread(by, -std::numeric_limits<double>::infinity()), -1, Keep::Yes);
  return reshape(gather(spread(values, 0), -1, place), shape);
}

}  // namespace

std::vector<Tensor> ops::pooling_nodes(PoolingKind kind, bool is_backward, const Window& window, std::initializer_list<Tensor> inputs,
                                       const Shape& shape, const Line& where) {
  const Ref<const Op> op(new PoolingOp(kind, is_backward, window));
  const Tensor& last = *(inputs.end() - 1);
  if (is_backward || !Pooling{.kind = kind, .window = window.size}.has_taps()) return {make_node(op, inputs, shape, last.dtype(), where)};
  const Result results[] = {{shape, last.dtype()}, {shape, u8}};
  return make_nodes(op, inputs, results, where);
}

void add_pooling_ops(OpTable& table) {
  for (const PoolingKind kind : {PoolingKind::Max, PoolingKind::AverageWithPadding})
    for (const bool backward : {false, true})
      table.add_several<PoolingOp>(std::string(PoolingOp(kind, backward, {}).name()), OpTable::kAnyInputs, kind, backward, Window());
}

}  // namespace tegula
