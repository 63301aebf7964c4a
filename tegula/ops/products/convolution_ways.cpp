// Chooses the tiles that a convolution in the tile language has, and the shapes for which it stands for a library's.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/convolution_tiles.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using runtime::ConvolutionPass;
using runtime::Expression;

constexpr std::int64_t kLine = 8;  // halves that memory and the copy engine move at a time: channels are multiples of it

using Sizes = std::array<std::int64_t, 4>;  // images by rows by columns by channels

/// Windows of one pixel that are all there: an image is a line of pixels, and all images are one.
bool is_line(const Window& window) {
  return numel(window.size) == 1 && numel(window.stride) == 1 && window.low == Dims{0, 0} && window.high == Dims{0, 0};
}

/// The block of so many pixels that covers all with the fewest beyond them; the widest one of those.
ConvolutionTile with_block(ConvolutionTile tile, std::int64_t pixels, const Sizes& of) {
  double least = -1;
  for (std::int64_t columns = 1; columns <= pixels; columns *= 2) {
    for (std::int64_t rows = 1; rows * columns <= pixels; rows *= 2) {
      const std::int64_t images = pixels / (rows * columns);
      const auto covered = [](std::int64_t size, std::int64_t block) { return static_cast<double>(divide_up(size, block) * block); };
      const double all = covered(of[0], images) * covered(of[1], rows) * covered(of[2], columns);
      if (least >= 0 && all > least) continue;
      least = all;
      tile.images = images, tile.rows = rows, tile.columns = columns;
    }
  }
  return tile;
}

}  // namespace

bool describes_convolution_tiles(ConvolutionPass pass, const Window& window, std::int64_t groups, DType dtype, const Shape& x,
                                 const Shape& weight) {
  if (window.axes() != 2 || groups != 1 || !is_half(dtype) || numel(x) == 0 || numel(weight) == 0) return false;
  if (x[1] % kLine != 0 || weight[0] % kLine != 0) return false;
  for (int axis = 0; axis < 2; ++axis) {
    if (window.stride[axis] > kLine || window.low[axis] < 0) return false;
    if (pass == ConvolutionPass::BackwardData && window.stride[axis] > 1 && window.dilation[axis] > 1) return false;
  }
  return true;
}

namespace {

constexpr std::int64_t kInstancesOfProcessor = 4;  // that `instances` counts (simt/card.cpp)

/// Returns the number of parts in which so many steps take least, for so many blocks of sums: two instances are on a multiprocessor at a time. `step`:
/// operations of one, in 10^6; `bytes`: of both operands.
std::int64_t parts_of(std::int64_t blocks, std::int64_t steps, std::int64_t sums, double step, double bytes, std::int64_t instances) {
  constexpr double kOperations = 4.6;  // of a multiprocessor, 10^6 in a microsecond (H200)
  // Microseconds of a step in any case, one instance or two: of 64 x 64 sums, 3 x 3 taps, a step took 0.87 with one and 0.96 with two to a multiprocessor.
  constexpr double kStep = 0.85, kMemory = 4.2e6;  // bytes in one
  // Microseconds of an instance's begin and end, of the launch that adds parts, and of each part there; bytes that it moves in one.
  constexpr double kAround = 2, kLaunch = 3, kPart = 0.07, kBytes = 3e6;
  const double processors = static_cast<double>(std::max<std::int64_t>(instances / kInstancesOfProcessor, 1));
  std::int64_t best = 1;
  double least = -1;
  for (std::int64_t parts = 1; parts <= steps; ++parts) {
    const auto all = static_cast<double>(blocks * parts), each = static_cast<double>(divide_up(steps, parts));
    const double rounds = std::ceil(all / (2 * processors)), beside = std::min(2.0, std::ceil(all / processors));
    const double products = rounds * (each * std::max(beside * step / kOperations, kStep) + kAround);
    const double sum_up = kLaunch + (kPart + 8 * static_cast<double>(sums) / kBytes) * static_cast<double>(parts);
    const double time = std::max(products, bytes / kMemory) + (parts > 1 ? sum_up : 0);
    if (least >= 0 && time >= least) continue;
    least = time, best = parts;
  }
  return best;
}

}  // namespace

ConvolutionTile choose_convolution_tile(ConvolutionPass pass, const Window& window, const Shape& x, const Shape& weight, const Shape& y,
                                        std::int64_t instances) {
  constexpr std::int64_t kPixels = 128, kFewPixels = 64, kWidest = 256, kWide = 128, kNarrow = 64, kTerms = 64, kLong = 16;
  const bool data = pass == ConvolutionPass::BackwardData, line = is_line(window);
  const Shape& of = data ? x : y;
  Sizes pixels{of[0], of[2], of[3], 1};
  if (data)
    for (int axis = 0; axis < 2; ++axis) pixels[static_cast<std::size_t>(axis + 1)] = divide_up(of[axis + 2], window.stride[axis]);
  if (line) pixels = {1, 1, pixels[0] * pixels[1] * pixels[2], 1};
  ConvolutionTile tile;
  tile.terms = kTerms;
  if (pass == ConvolutionPass::BackwardWeight) {
    tile = with_block(tile, kTerms, pixels);
    tile.channels = weight[0] >= kWide ? kWide : kNarrow;
    tile.terms = weight[1] >= kWide ? kWide : kNarrow;
    const std::int64_t blocks = divide_up(weight[0], tile.channels) * divide_up(weight[1], tile.terms) * numel(window.size);
    const std::int64_t steps = divide_up(pixels[0], tile.images) * divide_up(pixels[1], tile.rows) * divide_up(pixels[2], tile.columns);
    tile.splits = parts_of(blocks, steps, numel(weight), 2e-6 * static_cast<double>(tile.channels * tile.terms * kTerms),
                           2.0 * static_cast<double>(numel(x) + numel(y)), instances);
    tile.splits = divide_up(steps, divide_up(steps, tile.splits));  // none is empty
    return tile;
  }
  const std::int64_t channels = data ? weight[1] : weight[0], classes = data ? numel(window.stride) : 1,
                     iterations = divide_up(data ? weight[0] : weight[1], kTerms) * numel(window.size) / classes;
  tile = with_block(tile, kPixels, pixels);
  const auto count = [&](std::int64_t wide) {
    return classes * divide_up(channels, wide) * divide_up(pixels[0], tile.images) * divide_up(pixels[1], tile.rows) *
           divide_up(pixels[2], tile.columns);
  };
  const std::int64_t processors = instances / kInstancesOfProcessor;
  const auto choose = [&](std::int64_t wide) {
    tile.channels = wide;
    if (count(wide) < processors * 2 / 3) tile = with_block(tile, kFewPixels, pixels);
  };
  // H200, us: 256 -> 256 channels, 14 x 14, 3 x 3: 27.5 by 128 x 256, 28.4 by 128 x 128; 1024 -> 512, 1 x 1, which is two rounds of it, 29.0 and 25.2. 64 -> 64, 3 x 3:
  // 46.6 in two stages, 52.5 in four, of which a multiprocessor has fewer.
  if (channels < kWide) {
    choose(kNarrow);
    tile.stages = 2;
  } else {
    const bool is_long = channels >= kWidest && iterations >= kLong && count(kWidest) <= processors;
    choose(is_long ? kWidest : kWide);
  }
  return tile;
}

namespace {

std::string text_of(const ConvolutionTile& tile) {
  const auto n = [](std::int64_t number) { return std::to_string(number); };
  return "tiles " + n(tile.images) + "." + n(tile.rows) + "." + n(tile.columns) + "x" + n(tile.channels) + "x" + n(tile.terms) +
         (tile.splits > 1 ? " in " + n(tile.splits) + " parts" : "") + (tile.stages > 0 ? " by " + n(tile.stages) + " stages" : "");
}

/// The chosen tile, and others that are worth a try: four at most.
std::vector<ConvolutionTile> tiles_of(ConvolutionPass pass, const Window& window, const Shape& x, const Shape& weight, const Shape& y,
                                      std::int64_t instances) {
  constexpr std::size_t kMost = 4;
  const ConvolutionTile chosen = choose_convolution_tile(pass, window, x, weight, y, instances);
  std::vector<ConvolutionTile> out{chosen};
  const auto add = [&](const ConvolutionTile& tile) {
    if (out.size() < kMost && std::ranges::find(out, tile) == out.end()) out.push_back(tile);
  };
  ConvolutionTile other = chosen;
  if (pass == ConvolutionPass::BackwardWeight) {
    for (const auto& [more, by] : {std::pair{2, 1}, std::pair{1, 2}}) {
      other.splits = chosen.splits * more / by;
      if (other.splits > 0) add(other);
    }
    other.splits = chosen.splits, other.channels = chosen.channels > 64 ? 64 : 128;
    add(other);
    return out;
  }
  const std::int64_t channels = pass == ConvolutionPass::BackwardData ? weight[1] : weight[0];
  for (const std::int64_t wide : {chosen.channels * 2, chosen.channels / 2}) {
    other.channels = wide;
    if (wide >= 64 && wide <= 256 && wide <= channels) add(other);
  }
  other = chosen;
  if (chosen.images * chosen.rows * chosen.columns > 64) {
    (other.images > 1 ? other.images : other.rows > 1 ? other.rows : other.columns) /= 2;
    add(other);
  }
  other = chosen, other.stages = chosen.stages == 2 ? 0 : 2;
  add(other);
  return out;
}

bool is_in_rows(const Layout& layout) {
  const Strides dense = Layout::dense(layout.shape).strides;
  for (int axis = 0; axis < 4; ++axis)
    if (layout.shape[axis] != 1 && layout.strides[axis] != dense[axis]) return false;
  return true;
}

}  // namespace

std::vector<TileWay> convolution_ways(const runtime::Convolution& call, const Window& window, const InTiles::Operands& operands,
                                      std::int64_t instances) {
  using Operand = KernelContext::Operand;
  const Shape &x = call.input.layout.shape, &weight = call.weight.layout.shape, &y = call.output.layout.shape;
  const bool to_weight = call.pass == ConvolutionPass::BackwardWeight, line = is_line(window);
  if (call.bias_gradient || call.weight.blocks || numel(y) == 0) return {};
  if (!describes_convolution_tiles(call.pass, window, call.groups, call.dtype(), x, weight)) return {};
  if (!lies_channels_last(call.input.layout) || !lies_channels_last(call.output.layout)) return {};
  if (!lies_channels_last(call.weight.layout) && !(to_weight && is_in_rows(call.weight.layout))) return {};
  const auto images = [&](const Operand& one) {
    const Shape& s = one.shape;
    const Shape last = line ? Shape{1, 1, s[0] * s[2] * s[3], s[1]} : Shape{s[0], s[2], s[3], s[1]};
    return Operand{last, one.dtype, Layout::dense(last).strides};
  };
  const auto of_weight = [](const Operand& one) {
    const Shape last{one.shape[0], one.shape[2], one.shape[3], one.shape[1]};
    const Strides &s = one.strides, lies{s[0], s[2], s[3], one.shape[1] == 1 ? 1 : s[1]};
    return Operand{last, one.dtype, lies};
  };
  TileWay way;
  way.inputs = {images(operands.inputs[0]), to_weight ? images(operands.inputs[1]) : of_weight(operands.inputs[1])};
  for (std::size_t i = 2; i < operands.inputs.size(); ++i)
    way.inputs.push_back(operands.inputs[i].shape.rank() == 4 ? images(operands.inputs[i]) : operands.inputs[i]);
  way.outputs = {to_weight ? of_weight(operands.outputs[0]) : images(operands.outputs[0])};
  std::vector<TileWay> ways;
  for (const ConvolutionTile& tile : tiles_of(call.pass, window, x, weight, y, instances)) {
    way.op = convolution_tiles_op(call.pass, window, tile, call.epilogue);
    way.text = text_of(tile);
    ways.push_back(way);
  }
  return ways;
}

Tensor convolution_tiles(ConvolutionPass pass, const Window& window, const Tensor& a, const Tensor& b, const Shape& shape,
                         const ConvolutionTile& tile, const Expression& epilogue, std::span<const Tensor> read) {
  const auto last = [](const Tensor& t) { return permute(t, channels_to_last(4)); };
  const auto last_of = [](const Shape& s) { return Shape{s[0], s[2], s[3], s[1]}; };
  const bool is_weight = pass == ConvolutionPass::BackwardWeight, line = is_line(window);
  const auto flat = [&](const Tensor& t) {  // a line of pixels
    const Shape& s = t.shape();
    return line ? graph::reshape(t, {1, 1, s[0] * s[1] * s[2], s[3]}, {}) : t;
  };
  std::vector<Tensor> inputs{flat(last(a)), is_weight ? flat(last(b)) : last(b)};
  std::size_t next = 0;
  for (const Expression::Source source : epilogue.reads()) {
    const Tensor& one = read[next++];
    inputs.push_back(source == Expression::Source::Tensor ? flat(last(one)) : one);
  }
  const Shape result = last_of(shape);
  const Shape made = line && !is_weight ? Shape{1, 1, result[0] * result[1] * result[2], result[3]} : result;
  const Tensor y = make_node(convolution_tiles_op(pass, window, tile, epilogue), inputs, made, a.dtype(), {});
  return permute(graph::reshape(y, result, {}), channels_to_second(4));
}

}  // namespace tegula::ops
