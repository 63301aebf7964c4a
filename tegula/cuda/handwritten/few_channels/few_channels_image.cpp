// The gradient of the input where windows are whole strides wide. Input pixels in cells of STRIDE x STRIDE then meet the same window of
// the output's gradient: a cell has STRIDE * STRIDE * C results. A block keeps all weights and the gradients of some images, or of a
// strip of one, padded, in shared memory. Rows of the product are results of a cell, columns cells.

#include <algorithm>
#include <string>

#include "tegula/cuda/handwritten/few_channels/few_channels_image.cuh.h"
#include "tegula/cuda/handwritten/few_channels/few_channels_parts.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

}  // namespace

bool few_channels_reuse_weights(const ImageSizes& s, const Card& card) {
  return 5 * divide_up(s.n, card.multiprocessors) * s.out[0] * s.out[1] * s.k >= s.k * s.c * s.taps();
}

bool few_channels_by_image(const Convolution& d, const ImageSizes& s, const Card& card, const TakeFew& take) {
  if (d.pass != ConvolutionPass::BackwardData || s.k % 4 != 0 || s.c % 4 != 0 || std::max(s.k, s.c) > kMostFewChannels) return false;
  std::int64_t cells[2], taps[2], origin[2];
  for (int i = 0; i < 2; ++i) {
    if (s.kernel[i] % d.stride[i] != 0 || d.pad_low[i] % d.stride[i] != 0 || (d.stride[i] > 1 && d.dilation[i] > 1)) return false;
    cells[i] = divide_up(s.in[i], d.stride[i]);
    taps[i] = s.kernel[i] / d.stride[i];
    origin[i] = d.dilation[i] * (taps[i] - 1) - d.pad_low[i] / d.stride[i];
  }
  const std::int64_t depth = s.k * taps[0] * taps[1], width = d.stride[0] * d.stride[1] * s.c;
  const std::int64_t steps = divide_up(depth, 16), tiles = divide_up(width, 16);
  if (tiles > 6) return false;  // sums of a thread fill its registers
  // A block takes as many images as give seven warps 32 cells each; where there are fewer images than multiprocessors, a part of one.
  constexpr std::int64_t kColumns = 4, kCells = 7 * 8 * kColumns, kTwoOfAMultiprocessor = 113 << 10;
  const std::int64_t images = std::clamp<std::int64_t>(kCells / (cells[0] * cells[1]), 1, divide_up(s.n, card.multiprocessors));
  const std::int64_t wanted = images == 1 ? std::clamp<std::int64_t>(2 * card.multiprocessors / s.n, 1, cells[0]) : 1;
  const std::int64_t strip = divide_up(cells[0], std::min<std::int64_t>(wanted, 2)), strips = divide_up(cells[0], strip);
  const std::int64_t padded[2] = {strip + d.dilation[0] * (taps[0] - 1), cells[1] + d.dilation[1] * (taps[1] - 1)};
  const std::int64_t columns = strips > 1 ? kColumns / 2 : kColumns;
  const std::int64_t warps = std::clamp<std::int64_t>(divide_up(images * strip * cells[1], 8 * columns), 1, 8);
  const std::int64_t bytes = 4 * (steps * tiles * 256 + images * padded[0] * padded[1] * s.k + steps * 4);
  const std::int64_t items = divide_up(s.n, images) * strips;
  const std::int64_t blocks = std::min(items, (bytes <= kTwoOfAMultiprocessor ? 2 : 1) * std::int64_t{card.multiprocessors});
  PlainSource source = few_channels_source(d, s);
  const std::pair<const char*, std::int64_t> values[] = {{"IMAGES", images},      {"COLUMNS", columns},    {"WARPS", warps},
                                                         {"ITEMS", items},        {"BLOCKS", blocks},      {"LOADS", 4},
                                                         {"DEPTH", depth},        {"WIDTH", width},        {"STEPS", steps},
                                                         {"TILES", tiles},        {"TAPS_H", taps[0]},     {"TAPS_W", taps[1]},
                                                         {"CELLS_W", cells[1]},   {"STRIP", strip},        {"STRIPS", strips},
                                                         {"PADDED_H", padded[0]}, {"PADDED_W", padded[1]}, {"ORIGIN_H", origin[0]},
                                                         {"ORIGIN_W", origin[1]}};
  for (const auto& [name, value] : values) source.define(name, value);
  source.add(kByImage);
  const std::string name = std::to_string(8 * columns) + " cells, images in " + std::to_string(blocks);
  return take({name, {"convolution", source.text(), blocks, static_cast<int>(32 * warps), static_cast<std::size_t>(bytes)}, {}, 0});
}

}  // namespace tegula::gpu
