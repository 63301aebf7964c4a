#include "tegula/ops/products/convolution_tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/tile_epilogue.h"
#include "tegula/ops/products/typed_launch.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using runtime::ConvolutionPass;
using runtime::Expression;
using tile::Tile, tile::arange;
using Mask = TypedLaunch::Mask;

/// x over `step`, rounded up; of numbers of the launch.
std::int64_t blocks_of(std::int64_t size, std::int64_t block) { return std::max<std::int64_t>(divide_up(size, block), 1); }

/// Images by rows by columns by channels: the sizes of a tensor that lies channels-last, and of blocks of it.
using Sizes = std::array<std::int64_t, 4>;
Sizes sizes_of(const Shape& shape) { return {shape[0], shape[1], shape[2], shape[3]}; }

/// A tensor that lies channels-last. Made outside of loops: what they use of it are numbers of the launch.
class Images {
 public:
  Images(TypedLaunch& launch, const Sizes& sizes) : sizes_(sizes), numbers_{1, 1, 1, sizes[3]}, distances_{1, 1, sizes[3], 1} {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (sizes[axis] != 1) numbers_[axis] = launch.number(sizes[axis]);
    for (const std::size_t axis : {std::size_t{1}, std::size_t{0}})
      distances_[axis] = sizes[axis + 1] == 1 ? distances_[axis + 1] : distances_[axis + 1] * numbers_[axis + 1];
  }
  std::int64_t size(int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  const Tile& number(int axis) const { return numbers_[static_cast<std::size_t>(axis)]; }
  /// Elements from one to the next.
  const Tile& distance(int axis) const { return distances_[static_cast<std::size_t>(axis)]; }

 private:
  Sizes sizes_;
  std::array<Tile, 4> numbers_, distances_;
};

/// A block of it as a tile of four axes.
class Block {
 public:
  Block(const Images& images, const Sizes& block) : images_(images), block_(block) {}
  Shape shape() const { return {block_[0], block_[1], block_[2], block_[3]}; }

  /// Elements are `first`, `first` + step, … along the axis. `ahead`: the first may be below 0; `behind`: where it is the only one, it may be no less than the size.
  void place(int axis, const Tile& first, std::int64_t step = 1, bool ahead = false, bool behind = false) {
    const std::int64_t length = block_[static_cast<std::size_t>(axis)];
    if (length == 1) {
      if (images_.size(axis) != 1) add(axis, first);
      if (behind) mask_ = TypedLaunch::both(mask_, first < images_.number(axis));
      if (ahead) mask_ = TypedLaunch::both(mask_, first >= 0);
      return;
    }
    Tile at = first + arange(0, length) * step;
    for (int i = 0; i < axis; ++i) at = expand_dims(at, 0);
    for (int i = axis + 1; i < 4; ++i) at = expand_dims(at, i);
    add(axis, at);
    mask_ = TypedLaunch::both(mask_, at < images_.number(axis));
    if (ahead) mask_ = TypedLaunch::both(mask_, at >= 0);
  }
  Tile index() const { return *index_; }
  const Mask& mask() const { return mask_; }

 private:
  void add(int axis, const Tile& at) {
    const Tile part = axis == 3 ? at : at * images_.distance(axis);
    index_ = index_ ? *index_ + part : part;
  }

  const Images& images_;
  Sizes block_;
  std::optional<Tile> index_;
  Mask mask_;
};

class ConvolutionTilesOp final : public KernelOp {
 public:
  ConvolutionTilesOp(ConvolutionPass pass, const Window& window, const ConvolutionTile& tile, const Expression& epilogue)
      : pass_(pass),
        window_(window),
        tile_(tile),
        epilogue_(epilogue),
        written_(numbers_of(epilogue)) {}
  std::string_view name() const override {
    constexpr std::string_view names[] = {"convolution_tiles", "convolution_tiles_backward_data", "convolution_tiles_backward_weight"};
    return names[static_cast<std::size_t>(pass_)];
  }
  void attributes(Attributes& a) override {
    a.told_by_name(pass_);
    window_.attributes(a);
    a("images", tile_.images), a("rows", tile_.rows), a("columns", tile_.columns), a("channels", tile_.channels);
    a("terms", tile_.terms), a("splits", tile_.splits), a("stages", tile_.stages), a("specialize", tile_.specialize);
    a("epilogue", written_);
  }

  void lower(KernelContext& context) const override {
    switch (pass_) {
      case ConvolutionPass::Forward: return forward(context);
      case ConvolutionPass::BackwardData: return backward_data(context);
      default: return backward_weight(context);
    }
  }

 private:
  tile::RangeHints hints() const {
    tile::RangeHints hints;
    hints.num_stages = tile_.stages, hints.warp_specialize = tile_.specialize;
    return hints;
  }
  Sizes block(std::int64_t channels) const { return {tile_.images, tile_.rows, tile_.columns, channels}; }
  std::int64_t pixels() const { return tile_.images * tile_.rows * tile_.columns; }
  std::int64_t taps() const { return window_.size[0] * window_.size[1]; }
  bool is_padded(int axis) const { return window_.low[axis] > 0; }
  /// Returns true if taps may see an image's row that is no row of the result.
  bool turns(int axis) const {
    return window_.size[axis] > 1 || window_.stride[axis] > 1 || window_.low[axis] > 0 || window_.high[axis] > 0;
  }
  /// Returns true if windows may go beyond the images' ends.
  bool is_beyond(int axis) const { return window_.low[axis] > 0 || window_.high[axis] > 0; }

  /// The step's tap, and the first of its terms: both follow from the step, so that its tiles can be asked for ahead.
  std::pair<Tile, Tile> tap_and_terms(const Tile& step, std::int64_t taps, std::int64_t chunks) const {
    if (taps == 1) return {0, step * tile_.terms};
    if (chunks == 1) return {step, 0};
    return {step / chunks, step % chunks * tile_.terms};
  }
  /// The numbers of the blocks of channels, and of columns, rows and images, beside each other in this order.
  struct Instance {
    Tile channels, columns, rows, images, rest;
  };
  Instance instance(TypedLaunch& k, std::int64_t channels, const Sizes& pixels) const {
    auto pid = tile::program_id(0);
    auto count = k.number(blocks_of(channels, tile_.channels)), across = k.number(blocks_of(pixels[2], tile_.columns)),
         down = k.number(blocks_of(pixels[1], tile_.rows)), images = k.number(blocks_of(pixels[0], tile_.images));
    auto at = pid / count, rows = at / across, all = rows / down;
    return {pid % count, at % across, rows % down, all % images, all / images};
  }
  std::int64_t instances(std::int64_t channels, const Sizes& pixels) const {
    return blocks_of(channels, tile_.channels) * blocks_of(pixels[2], tile_.columns) * blocks_of(pixels[1], tile_.rows) *
           blocks_of(pixels[0], tile_.images);
  }

  // y[n, p, q, o] = Σ x[n, p * stride + i * dilation - low, …, c] * w[o, i, j, c], (pixels, C) · (C, O) for each tap.
  void forward(KernelContext& context) const {
    const Sizes of_x = sizes_of(context.input(0).shape), of_w = sizes_of(context.input(1).shape), of_y = sizes_of(context.output().shape);
    const std::int64_t C = of_x[3], O = of_w[0], terms = tile_.terms, chunks = divide_up(C, terms), width = window_.size[1];
    TypedLaunch k(context, std::string(name()));
    auto x = k.typed_input(0), w = k.typed_input(1), y = k.output();
    const Images xs(k, of_x), ys(k, of_y);
    const Instance at = instance(k, O, of_y);
    auto channels = k.number(O), o = at.channels * tile_.channels + arange(0, tile_.channels);
    auto acc = tile::full_of({pixels(), tile_.channels}, 0, f32);
    for (auto step : tile::range(0, taps() * chunks, 1, hints())) {
      const auto [tap, first] = tap_and_terms(step, taps(), chunks);
      auto c = first + arange(0, terms);
      Block seen(xs, block(terms));
      seen.place(0, at.images * tile_.images);
      seen.place(1, at.rows * (tile_.rows * window_.stride[0]) + (tap / width * window_.dilation[0] - window_.low[0]), window_.stride[0],
                 is_padded(0), is_beyond(0));
      seen.place(2, at.columns * (tile_.columns * window_.stride[1]) + (tap % width * window_.dilation[1] - window_.low[1]),
                 window_.stride[1], is_padded(1), is_beyond(1));
      seen.place(3, first);
      auto windows = reshape(k.load(x + seen.index(), seen.mask()), {pixels(), terms});
      auto factors = load(w + (col(o) * (taps() * C) + (tap * C + tile::row(c))), col(o) < channels && tile::row(c) < C);
      acc = dot(windows, trans(factors), acc);
    }
    Block result(ys, block(tile_.channels));
    result.place(0, at.images * tile_.images), result.place(1, at.rows * tile_.rows), result.place(2, at.columns * tile_.columns);
    result.place(3, at.channels * tile_.channels);
    auto value = followed(k, acc, o, channels, result);
    k.store(y + result.index(), reshape(value, result.shape()), result.mask());
    k.launch({instances(O, of_y), 1, 1}, operations(of_y, of_w));
  }

  /// Returns the epilogue's value of the sums (pixels, O).
  Tile followed(TypedLaunch& k, const Tile& sums, const Tile& o, const Tile& channels, const Block& result) const {
    int input = 2;
    return made_of(epilogue_, sums, [&](Expression::Source source) -> Tile {
      auto from = k.input(input++);
      if (source == Expression::Source::Channel) return tile::row(load(from + o, o < channels));
      if (source == Expression::Source::Number) return load(from);
      return reshape(k.load(from + result.index(), result.mask()), {pixels(), tile_.channels});
    });
  }

  // x[n, h, w, c] = Σ y[n, (h + low - i * dilation) / stride, …, o] * w[o, i, j, c] of those taps that divide. Instances are of rows and columns that are equal
  // modulo the stride: their taps are every stride-th one.
  void backward_data(KernelContext& context) const {
    const Sizes of_y = sizes_of(context.input(0).shape), of_w = sizes_of(context.input(1).shape), of_x = sizes_of(context.output().shape);
    const std::int64_t O = of_y[3], C = of_x[3], terms = tile_.terms, chunks = divide_up(O, terms);
    const std::int64_t down = window_.stride[0], across = window_.stride[1];
    const Sizes every{of_x[0], divide_up(of_x[1], down), divide_up(of_x[2], across), C};
    TypedLaunch k(context, std::string(name()));
    auto dy = k.typed_input(0), w = k.typed_input(1), dx = k.output();
    const Images ys(k, of_y), xs(k, of_x);
    const Instance at = instance(k, C, every);
    auto filters = k.number(O);
    struct Side {
      Tile at, first_tap, taps, shift;
    };
    const auto side = [&](int axis, const Tile& rest) -> Side {  // rest: the rows' remainder
      const std::int64_t stride = window_.stride[axis], low = window_.low[axis], size = window_.size[axis];
      if (stride == 1) return {0, 0, size, low};
      auto first = (rest + low) % stride;
      return {rest, first, (size + (stride - 1) - first) / stride, (rest + low - first) / stride};
    };
    const Side rows = side(0, at.rest / across), columns = side(1, at.rest % across);
    auto acc = tile::full_of({pixels(), tile_.channels}, 0, f32);
    auto c = at.channels * tile_.channels + arange(0, tile_.channels);
    for (auto step : tile::range(0, rows.taps * columns.taps * chunks, 1, hints())) {
      const auto [tap, first] = tap_and_terms(step, down * across == 1 ? taps() : 2, chunks);
      auto o = first + arange(0, terms);
      auto i = tap / columns.taps, j = tap % columns.taps;
      Block given(ys, block(terms));
      given.place(0, at.images * tile_.images);
      given.place(1, at.rows * tile_.rows + (rows.shift - i * window_.dilation[0]), 1, turns(0), turns(0));
      given.place(2, at.columns * tile_.columns + (columns.shift - j * window_.dilation[1]), 1, turns(1), turns(1));
      given.place(3, first);
      auto gradient = reshape(k.load(dy + given.index(), given.mask()), {pixels(), terms});
      auto which = (rows.first_tap + i * down) * window_.size[1] + (columns.first_tap + j * across);
      auto factors = load(w + (col(o) * (taps() * C) + (which * C + tile::row(c))), col(o) < filters && tile::row(c) < C);
      acc = dot(gradient, factors, acc);
    }
    Block result(xs, block(tile_.channels));
    result.place(0, at.images * tile_.images);
    result.place(1, at.rows * (tile_.rows * down) + rows.at, down),
        result.place(2, at.columns * (tile_.columns * across) + columns.at, across);
    result.place(3, at.channels * tile_.channels);
    k.store(dx + result.index(), reshape(acc, result.shape()), result.mask());
    k.launch({down * across * instances(C, every), 1, 1}, operations(of_y, of_w));
  }

  // w[o, i, j, c] = Σ y[n, p, q, o] * x[n, p * stride + i * dilation - low, …, c]: (O, pixels) · (pixels, C) for each tap, of each part of the pixels. The parts'
  // sums are added in their order.
  void backward_weight(KernelContext& context) const {
    const Sizes of_x = sizes_of(context.input(0).shape), of_y = sizes_of(context.input(1).shape), of_w = sizes_of(context.output().shape);
    const std::int64_t C = of_x[3], O = of_y[3], chunks = divide_up(C, tile_.terms), columns = taps() * C;
    const std::int64_t parts = tile_.splits;
    const Sizes blocks{blocks_of(of_y[0], tile_.images), blocks_of(of_y[1], tile_.rows), blocks_of(of_y[2], tile_.columns), 1};
    const std::int64_t all = blocks[0] * blocks[1] * blocks[2];
    const int scratch = parts == 1 ? -1 : context.scratch(parts * O * columns * static_cast<std::int64_t>(sizeof(float)));
    {
      TypedLaunch k(context, std::string(name()));
      auto x = k.typed_input(0), dy = k.typed_input(1), to = parts == 1 ? k.output() : k.scratch(scratch, f32, true);
      const Images xs(k, of_x), ys(k, of_y);
      auto filters = k.number(O), share = k.number(divide_up(all, parts)), end = k.number(all), of_images = k.number(blocks[0]),
           of_columns = k.number(blocks[2]);
      auto count = k.number(blocks_of(O, tile_.channels)), pid = tile::program_id(0), part = tile::program_id(1);
      auto place = pid / count, tap = place / chunks, c0 = place % chunks * tile_.terms, o0 = pid % count * tile_.channels;
      auto i = tap / window_.size[1], j = tap % window_.size[1];
      auto acc = tile::full_of({tile_.channels, tile_.terms}, 0, f32);
      auto begin = part * share, last = where(begin + share < end, begin + share, end);
      for (auto at : tile::range(begin, last, 1, hints())) {
        auto rest = at / of_images, n = at % of_images * tile_.images, q = rest % of_columns, p = rest / of_columns;
        Block given(ys, block(tile_.channels)), seen(xs, block(tile_.terms));
        given.place(0, n), given.place(1, p * tile_.rows), given.place(2, q * tile_.columns), given.place(3, o0);
        seen.place(0, n);
        seen.place(1, p * (tile_.rows * window_.stride[0]) + (i * window_.dilation[0] - window_.low[0]), window_.stride[0], is_padded(0),
                   is_beyond(0));
        seen.place(2, q * (tile_.columns * window_.stride[1]) + (j * window_.dilation[1] - window_.low[1]), window_.stride[1], is_padded(1),
                   is_beyond(1));
        seen.place(3, c0);
        auto gradient = reshape(k.load(dy + given.index(), given.mask()), {pixels(), tile_.channels});
        auto windows = reshape(k.load(x + seen.index(), seen.mask()), {pixels(), tile_.terms});
        acc = dot(trans(gradient), windows, acc);
      }
      auto o = col(o0 + arange(0, tile_.channels)), c = tile::row(c0 + arange(0, tile_.terms));
      auto within = parts == 1 && of_taps(context) ? c * taps() + tap : tap * C + c;
      store(to + ((part * filters + o) * columns + within), acc, o < filters && c < C);
      k.launch({blocks_of(O, tile_.channels) * taps() * chunks, parts, 1}, operations(of_y, of_w));
    }
    if (parts > 1) add_parts(context, scratch, parts, O * columns);
  }
  void add_parts(KernelContext& context, int scratch, std::int64_t parts, std::int64_t size) const {
    const std::int64_t block = context.tile_elements_for(size);
    TileLaunch k(context, std::string(name()) + "_sum");
    auto from = k.scratch(scratch, f32, false), y = k.output();
    auto length = k.number(size), end = k.number(parts), at = k.positions(0, block);
    auto total = tile::full_of({block}, 0, f32);
    for (auto part : tile::range(0, end)) total += load(from + (part * length + at), at < length);
    auto place = at;
    if (of_taps(context)) {
      const std::int64_t channels = context.output().shape[3];
      auto row = at / (channels * taps()), within = at % (channels * taps());
      place = row * (channels * taps()) + (within % channels * taps() + within / channels);
    }
    store(y + place, total, at < length);
    k.launch({blocks_of(size, block), 1, 1}, static_cast<double>(parts * size));
  }
  /// Returns true if the weight's gradient lies in rows of taps, a row for each channel.
  bool of_taps(const KernelContext& context) const { return context.output().strides[3] != 1 && taps() > 1; }
  static double operations(const Sizes& y, const Sizes& w) {
    return 2.0 * static_cast<double>(y[0] * y[1] * y[2]) * static_cast<double>(w[0] * w[1] * w[2] * w[3]);
  }

  ConvolutionPass pass_;
  Window window_;
  ConvolutionTile tile_;
  Expression epilogue_;
  std::vector<std::int64_t> written_;  // the epilogue, as an attribute
};

}  // namespace

Ref<const Op> convolution_tiles_op(ConvolutionPass pass, const Window& window, const ConvolutionTile& tile, const Expression& epilogue) {
  return Ref<const Op>(new ConvolutionTilesOp(pass, window, tile, epilogue));
}

}  // namespace tegula::ops
