#include "tegula/ops/products/depthwise.h"

#include <algorithm>
#include <bit>

#include "tegula/graph/structural.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/tile_launch.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using runtime::ConvolutionPass;
using tile::Tile, tile::arange, tile::col, tile::program_id, tile::range;

/// Taps of a window: each is some lines of a program.
constexpr std::int64_t kMostTaps = 64;
/// Sums that an instance of the weight's gradient carries along.
constexpr std::int64_t kSumsTogether = 9;
/// Tiles that it adds up at least, before its sums are added to those of others.
constexpr std::int64_t kLeastTiles = 4;
constexpr std::int64_t kMostChannels = 64;  // channels of a tile of the weight's gradient

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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
    Tile at;
    TileLaunch::Mask inside;
  };
  Place input_place(int i, const Tile& output, const Tile& q, const Tile& input_size) const {
    auto at = output * window_.stride[i] + (q * window_.dilation[i] - window_.low[i]);
    return {at, at >= 0 && at < input_size};
  }
  /// Returns the output that looks from there at this input.
  Place output_place(int i, const Tile& input, const Tile& q, const Tile& output_size) const {
    auto reach = input + window_.low[i] - q * window_.dilation[i];
    const std::int64_t stride = window_.stride[i];
    if (stride == 1) return {reach, reach >= 0 && reach < output_size};
    auto at = reach / stride;
    return {at, reach >= 0 && at < output_size && reach % stride == 0};
  }

  /// The coordinates of a pixel (n, spatial…) among all of them.
  static std::vector<Tile> coordinates(Tile pixel, const std::vector<Tile>& sizes) {
    std::vector<Tile> at(sizes.size() + 1);
    for (std::size_t i = sizes.size(); i-- > 0; pixel = pixel / sizes[i]) at[i + 1] = pixel % sizes[i];
    at[0] = pixel;
    return at;
  }
  /// The tap's coordinates by axis.
  std::vector<Tile> tap_coordinates(Tile tap) const {
    std::vector<Tile> at(static_cast<std::size_t>(window_.axes()));
    for (int i = window_.axes() - 1; i >= 0; --i) {
      at[static_cast<std::size_t>(i)] = i == 0 ? tap : tap % window_.size[i];
      if (i > 0) tap = tap / window_.size[i];
    }
    return at;
  }
  template <class Launch>
  static std::vector<Tile> numbers(Launch& kernel, const Shape& shape) {
    std::vector<Tile> sizes;
    for (int i = 1; i + 1 < shape.rank(); ++i) sizes.push_back(kernel.number(shape[i]));
    return sizes;
  }

  /// The pixel of `sizes` that the tap sees, and whether there is one. `forward`: an input seen by an output, otherwise the other way.
  Place seen(bool forward, const std::vector<Tile>& pixel, const Tile& tap, const std::vector<Tile>& sizes) const {
    const std::vector<Tile> q = tap_coordinates(tap);
    Place place{pixel[0], {}};
    for (int i = 0; i < window_.axes(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const Place along =
          forward ? input_place(i, pixel[axis + 1], q[axis], sizes[axis]) : output_place(i, pixel[axis + 1], q[axis], sizes[axis]);
      place.at = place.at * sizes[axis] + along.at;
      place.inside = TileLaunch::both(place.inside, along.inside);
    }
    return place;
  }

  // result[p, c] = Σ_q source[seen from p through q, c] * w[q, c]
  void slide(KernelContext& context) const {
    const Shape &source_shape = context.input(0).shape, &shape = context.output().shape;
    const std::int64_t channels = shape.back(), taps = numel(window_.size);
    TileRows kernel(context, std::string(name()), numel(shape) / channels, channels);
    auto source = kernel.input(0), weight = kernel.input(1), y = kernel.output(), c = kernel.number(channels);
    const std::vector<Tile> sizes = numbers(kernel, source_shape), pixel = coordinates(kernel.row(), numbers(kernel, shape));
    auto sum = kernel.zeros(kernel.tile());
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const Place place = seen(pass_ == ConvolutionPass::Forward, pixel, tap, sizes);
      auto factor = kernel.load(weight + (c * tap + kernel.column()), kernel.column_mask());
      sum = fma(kernel.load(source + (place.at * c + kernel.column()), kernel.both(place.inside, kernel.mask())), factor, sum);
    }
    kernel.store(y + (kernel.row() * c + kernel.column()), sum, kernel.mask());
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

    TileLaunch k(context, std::string(name()));
    auto x = k.input(0), dy = k.input(1), to = parts == 1 ? k.output() : k.scratch(scratch, sums, true);
    auto c = k.number(channels), end = k.number(pixels), share = k.number(ceil_divide(tiles, parts) * down);
    const std::vector<Tile> x_sizes = numbers(k, x_shape), y_sizes = numbers(k, y_shape);
    auto column = tile::row(k.positions(1, across));  // (1, C)
    const auto column_mask = channels % across == 0 ? TileLaunch::Mask() : column < c;
    auto first_tap = program_id(2) * together, part = program_id(0), first = part * share;
    auto last = where(first + share < end, first + share, end);
    std::vector<Tile> total(static_cast<std::size_t>(together), k.zeros({down, across}));
    for (auto from : range(first, last, down)) {
      auto row = from + col(arange(0, down));
      const auto mask = k.both(row < last, column_mask);
      const std::vector<Tile> pixel = coordinates(row, y_sizes);
      auto gradient = k.load(dy + (row * c + column), mask);
      for (std::int64_t tap = 0; Tile & sum : total) {
        const Place place = seen(true, pixel, first_tap + tap++, x_sizes);
        sum = fma(k.load(x + (place.at * c + column), k.both(place.inside, mask)), gradient, sum);
      }
    }
    for (std::int64_t number = 0; const Tile& one : total) {
      auto tap = first_tap + number++;
      const auto mask = k.both(column_mask, chunks * together == taps ? TileLaunch::Mask() : tap < taps);
      k.store(to + (parts == 1 ? column * taps + tap : (part * taps + tap) * c + column), tile::sum(one, 0, tile::Axis::Keep), mask);
    }
    k.launch({parts, blocks, chunks}, 2.0 * static_cast<double>(pixels * channels * taps));
    if (parts > 1) add_parts(context, scratch, parts, taps, channels);
  }

  void add_parts(KernelContext& context, int scratch, std::int64_t parts, std::int64_t taps, std::int64_t channels) const {
    constexpr std::int64_t kColumns = 32;
    const DType sums = tile::compute_type(context.output().dtype);
    const std::int64_t columns = taps * channels, across = std::min(columns, kColumns);
    const std::int64_t down = std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(parts))),
                                                     std::max<std::int64_t>(context.tile_elements() / kColumns, 1));
    TileLaunch k(context, std::string(name()) + "_sum");
    auto from = k.scratch(scratch, sums, false), y = k.output();
    auto width = k.number(columns), c = k.number(channels), end = k.number(parts);
    auto column = tile::row(k.positions(0, across)), mask = column < width, total = k.zeros({down, across});
    for (auto first : range(0, end, down)) {
      auto part = first + col(arange(0, down));
      total += load(from + (part * width + column), part < end && mask);
    }
    store(y + (column % c * taps + column / c), sum(total, 0, tile::Axis::Keep), mask);
    k.launch({ceil_divide(columns, across), 1, 1}, static_cast<double>(parts * columns));
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
