#include "tegula/ops/products/depthwise.h"

#include <algorithm>
#include <bit>

#include "tegula/graph/structural.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using runtime::ConvolutionPass;
using tile::Value;

/// Taps of a window: each is some lines of a program.
constexpr std::int64_t kMostTaps = 64;
/// Sums that an instance of the weight's gradient carries along.
constexpr std::int64_t kSumsTogether = 9;
/// Tiles that it adds up at least, before its sums are added to those of others.
constexpr std::int64_t kLeastTiles = 4;
constexpr std::int64_t kMostChannels = 64;  // channels of a tile of the weight's gradient

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// (N, C, spatial…) as (N, spatial…, C), and back.
Dims channels_to_last(int rank) {
  Dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
Dims channels_to_second(int rank) {
  Dims order{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}

/// Activations (N, spatial…, C); the weight (window…, C) where it is read, (C, 1, window…) where it is the result.
class DepthwiseOp final : public KernelOp {
 public:
  DepthwiseOp(ConvolutionPass pass, const Window& window) : pass_(pass), window_(window) {}
  std::string_view name() const override {
    constexpr std::string_view names[] = {"depthwise", "depthwise_backward_data", "depthwise_backward_weight"};
    return names[static_cast<int>(pass_)];
  }
  void attributes(Attributes& a) override {
    a.told_by_name(pass_);
    window_.attributes(a);
  }
  Numerics numerics() const override { return Numerics::TensorCore; }
  void lower(KernelContext& context) const override {
    if (pass_ == ConvolutionPass::BackwardWeight) add_up(context);
    else slide(context);
  }

 private:
  /// The index of the input under the window's tap at `q` along axis i, and a mask for indices inside the input.
  struct Place {
    Value at, inside;
  };
  Place input_place(int i, Value output, Value q, Value input_size) const {
    const Value at = output * static_cast<double>(window_.stride[i]) +
                     (q * static_cast<double>(window_.dilation[i]) - static_cast<double>(window_.low[i]));
    return {at, at >= 0 && at < input_size};
  }
  /// Which output looks from there at this input.
  Place output_place(int i, Value input, Value q, Value output_size) const {
    const Value reach = input + static_cast<double>(window_.low[i]) - q * static_cast<double>(window_.dilation[i]);
    const auto stride = static_cast<double>(window_.stride[i]);
    if (window_.stride[i] == 1) return {reach, reach >= 0 && reach < output_size};
    const Value at = reach / stride;
    return {at, reach >= 0 && at < output_size && reach % stride == 0};
  }

  /// The coordinates of a pixel (n, spatial…) among all of them.
  static std::vector<Value> coordinates(Value pixel, const std::vector<Value>& sizes) {
    std::vector<Value> at(sizes.size() + 1);
    for (std::size_t i = sizes.size(); i-- > 0; pixel = pixel / sizes[i]) at[i + 1] = pixel % sizes[i];
    at[0] = pixel;
    return at;
  }
  /// The tap's coordinates by axis: constants or values, as the tap is one.
  std::vector<Value> tap_coordinates(Value tap) const {
    std::vector<Value> at(static_cast<std::size_t>(window_.axes()));
    for (int i = window_.axes() - 1; i >= 0; --i) {
      at[static_cast<std::size_t>(i)] = i == 0 ? tap : tap % static_cast<double>(window_.size[i]);
      if (i > 0) tap = tap / static_cast<double>(window_.size[i]);
    }
    return at;
  }
  static std::vector<Value> numbers(KernelLaunch& kernel, const Shape& shape) {
    std::vector<Value> sizes;
    for (int i = 1; i + 1 < shape.rank(); ++i) sizes.push_back(kernel.number(shape[i]));
    return sizes;
  }

  /// The pixel of `sizes` that the tap sees, and whether there is one. `forward`: an input seen by an output, otherwise the other way.
  Place seen(bool forward, const std::vector<Value>& pixel, Value tap, const std::vector<Value>& sizes) const {
    const std::vector<Value> q = tap_coordinates(tap);
    Place place{pixel[0], {}};
    for (int i = 0; i < window_.axes(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const Place along =
          forward ? input_place(i, pixel[axis + 1], q[axis], sizes[axis]) : output_place(i, pixel[axis + 1], q[axis], sizes[axis]);
      place.at = place.at * sizes[axis] + along.at;
      place.inside = RowKernel::both(place.inside, along.inside);
    }
    return place;
  }

  // result[p, c] = Σ_q source[seen from p through q, c] * w[q, c]
  void slide(KernelContext& context) const {
    const Shape &source_shape = context.input(0).shape, &shape = context.output().shape;
    const std::int64_t channels = shape.back(), taps = numel(window_.size);
    RowKernel kernel(context, std::string(name()), numel(shape) / channels, channels);
    tile::Builder& b = kernel.builder();
    const Value source = kernel.input(0), weight = kernel.input(1), y = kernel.output(), c = kernel.number(channels);
    const std::vector<Value> sizes = numbers(kernel, source_shape), pixel = coordinates(kernel.row(), numbers(kernel, shape));
    Value sum = b.full({kernel.tile_rows(), kernel.tile_columns()}, 0, tile::compute_type(context.output().dtype));
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const Place place = seen(pass_ == ConvolutionPass::Forward, pixel, b.constant(tap, i64), sizes);
      const Value factor = b.load(weight + (c * static_cast<double>(tap) + kernel.column()), kernel.column_mask());
      const Value values = b.load(source + (place.at * c + kernel.column()), RowKernel::both(place.inside, kernel.mask()));
      sum = tile::fma(values, factor, sum);
    }
    b.store(y + (kernel.row() * c + kernel.column()), sum, kernel.mask());
    kernel.launch();
  }

  // w[c, q] = Σ_p x[seen from p through q, c] * dy[p, c]: instances have some channels, some pixels and some taps each; then their sums are added.
  void add_up(KernelContext& context) const {
    const Shape &x_shape = context.input(0).shape, &y_shape = context.input(1).shape;
    const std::int64_t channels = x_shape.back(), pixels = numel(y_shape) / channels, taps = numel(window_.size);
    const DType sums = tile::compute_type(context.output().dtype);
    const auto floor = [](std::int64_t n) {
      return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
    };
    const std::int64_t across = std::min(channels, kMostChannels), down = floor(context.tile_elements_for(1) / across);
    const std::int64_t chunks = ceil_divide(taps, kSumsTogether), together = ceil_divide(taps, chunks),
                       blocks = ceil_divide(channels, across);
    const std::int64_t tiles = ceil_divide(pixels, down);
    const std::int64_t parts = std::clamp<std::int64_t>(context.instances() / (blocks * chunks), 1, ceil_divide(tiles, kLeastTiles));
    const int scratch = parts == 1 ? -1 : context.scratch(parts * taps * channels * static_cast<std::int64_t>(size_of(sums)));

    KernelLaunch kernel(context, std::string(name()));
    tile::Builder& b = kernel.builder();
    const Value x = kernel.input(0), dy = kernel.input(1), to = parts == 1 ? kernel.output() : kernel.scratch(scratch, sums, true);
    const Value c = kernel.number(channels), end = kernel.number(pixels), share = kernel.number(ceil_divide(tiles, parts) * down);
    const std::vector<Value> x_sizes = numbers(kernel, x_shape), y_sizes = numbers(kernel, y_shape);
    const Value column = tile::row(b.program_id(1) * static_cast<double>(across) + b.arange(0, across));  // (1, C)
    const Value column_mask = channels % across == 0 ? Value() : column < c;
    const Value first_tap = b.program_id(2) * static_cast<double>(together), part = b.program_id(0), first = part * share;
    const Value last = tile::select(first + share < end, first + share, end);
    const std::vector<Value> nothing(static_cast<std::size_t>(together), b.full({down, across}, 0, sums));
    const std::vector<Value> found = b.for_(first, last, b.constant(down, i64), nothing, [&](Value from, std::span<const Value> carried) {
      const Value row = from + tile::col(b.arange(0, down)), mask = RowKernel::both(row < last, column_mask);
      const std::vector<Value> pixel = coordinates(row, y_sizes);
      const Value gradient = b.load(dy + (row * c + column), mask);
      std::vector<Value> out;
      for (std::int64_t k = 0; k < together; ++k) {
        const Place place = seen(true, pixel, first_tap + static_cast<double>(k), x_sizes);
        out.push_back(tile::fma(b.load(x + (place.at * c + column), RowKernel::both(place.inside, mask)), gradient,
                                carried[static_cast<std::size_t>(k)]));
      }
      return out;
    });
    for (std::int64_t k = 0; k < together; ++k) {
      const Value tap = first_tap + static_cast<double>(k), sum = tile::reduce(found[static_cast<std::size_t>(k)], 0, tile::Reduction::Sum);
      const Value place = parts == 1 ? column * static_cast<double>(taps) + tap : (part * static_cast<double>(taps) + tap) * c + column;
      const Value mask = RowKernel::both(column_mask, chunks * together == taps ? Value() : tap < b.constant(taps, i64));
      b.store(to + place, sum, mask);
    }
    kernel.launch({parts, blocks, chunks}, 2.0 * static_cast<double>(pixels * channels * taps));
    if (parts > 1) add_parts(context, scratch, parts, taps, channels);
  }

  void add_parts(KernelContext& context, int scratch, std::int64_t parts, std::int64_t taps, std::int64_t channels) const {
    constexpr std::int64_t kColumns = 32;
    const DType sums = tile::compute_type(context.output().dtype);
    const std::int64_t columns = taps * channels, across = std::min(columns, kColumns);
    const std::int64_t down = std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(parts))),
                                                     std::max<std::int64_t>(context.tile_elements() / kColumns, 1));
    KernelLaunch kernel(context, std::string(name()) + "_sum");
    tile::Builder& b = kernel.builder();
    const Value from = kernel.scratch(scratch, sums, false), y = kernel.output();
    const Value width = kernel.number(columns), c = kernel.number(channels), end = kernel.number(parts);
    const Value column = tile::row(b.program_id(0) * static_cast<double>(across) + b.arange(0, across)), mask = column < width;
    const Value total = b.for_(b.constant(std::int64_t{0}, i64), end, b.constant(down, i64), {b.full({down, across}, 0, sums)},
                               [&](Value first, std::span<const Value> carried) {
                                 const Value part = first + tile::col(b.arange(0, down));
                                 return std::vector<Value>{carried[0] + b.load(from + (part * width + column), part < end && mask)};
                               })[0];
    b.store(y + (column % c * static_cast<double>(taps) + column / c), tile::reduce(total, 0, tile::Reduction::Sum), mask);
    kernel.launch({ceil_divide(columns, across), 1, 1}, static_cast<double>(parts * columns));
  }

  ConvolutionPass pass_;
  Window window_;
};

}  // namespace

bool describes_depthwise(const Shape& x, const Shape& weight, std::int64_t groups) {
  return groups > 1 && x[1] == groups && weight[0] == groups && weight[1] == 1 && numel(x) > 0 && numel(spatial(weight)) <= kMostTaps;
}

Tensor depthwise(ConvolutionPass pass, const Window& window, const Tensor& a, const Tensor& b, const Shape& shape) {
  const int rank = a.rank();
  const auto last = [&](const Tensor& t) { return permute(t, channels_to_last(rank)); };
  const Ref<const Op> op(new DepthwiseOp(pass, window));
  if (pass == ConvolutionPass::BackwardWeight) return make_node(op, {last(a), last(b)}, shape, a.dtype(), {});
  Shape flat = b.shape(), result{shape[0]};
  flat.erase(1);  // (C, window…)
  Dims order;
  for (int i = 1; i < flat.rank(); ++i) order.push_back(i);
  order.push_back(0);
  for (int i = 2; i < rank; ++i) result.push_back(shape[i]);
  result.push_back(shape[1]);
  const Tensor y = make_node(op, {last(a), permute(graph::reshape(b, flat, {}), order)}, result, a.dtype(), {});
  return permute(y, channels_to_second(rank));
}

}  // namespace tegula::ops
