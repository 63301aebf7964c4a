// The gradient of the weight.

#include <algorithm>
#include <array>

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/handwritten/few_channels/few_channels_parts.h"
#include "tegula/cuda/handwritten/few_channels/few_channels_weight.cuh.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::int64_t kMostShared = 99 << 10;

/// The pitch from `least` on with which the lanes of a warp, eight neighbours at each of four pixels, share banks least.
std::int64_t pitch(std::int64_t least, std::int64_t stride) {
  constexpr int kBanks = 32, kTried = 9;
  std::int64_t best = least;
  for (std::int64_t each = least, fewest = kBanks; each < least + kTried; ++each) {
    std::array<int, kBanks> lanes{};
    for (std::int64_t lane = 0; lane < kBanks; ++lane) lanes[static_cast<std::size_t>((lane % 4 * each * stride + lane / 4) % kBanks)]++;
    const int most = *std::max_element(lanes.begin(), lanes.end());
    if (most < fewest) best = each, fewest = most;
  }
  return best;
}

}  // namespace

bool few_channels_weight(const Convolution& d, const ImageSizes& s, const Card& card, const TakeFew& take) {
  if (s.k > kMostFewChannels) return false;
  const std::int64_t depth = s.c * s.taps(), rows = divide_up(s.k, 16), tiles = divide_up(depth, 8);
  const std::int64_t pixels = 16 * divide_up(s.out[0] * s.out[1], 16);
  const std::int64_t pitch_x = s.c < 8 ? s.c : pitch(s.c, d.stride[1]), pitch_y = pitch(16 * rows, 1);
  std::int64_t padded[2];
  for (int i = 0; i < 2; ++i) padded[i] = (s.out[i] - 1) * d.stride[i] + d.dilation[i] * (s.kernel[i] - 1) + 1;
  const std::int64_t floats = padded[0] * padded[1] * pitch_x + pixels * pitch_y;
  if (4 * floats > kMostShared) return false;
  std::vector<std::string> names;
  constexpr std::array<std::array<std::int64_t, 2>, 5> kVariants{
      {{7, 2}, {7, 1}, {6, 2}, {4, 2}, {3, 2}}};  // columns, blocks of a multiprocessor
  for (const auto& [most, resident] : kVariants) {
    const std::int64_t columns = std::min(most, tiles), groups = divide_up(tiles, columns);
    if (groups > 16 || rows * columns > 14) continue;
    const std::int64_t parts = std::max<std::int64_t>(1, std::min(8 / groups, pixels / 16)),
                       blocks = std::min(s.n, resident * card.multiprocessors);
    PlainSource source = few_channels_source(d, s);
    const std::pair<const char*, std::int64_t> values[] = {
        {"ROWS", rows},       {"COLUMNS", columns},   {"GROUPS", groups},       {"PARTS", parts},        {"WARPS", groups * parts},
        {"DEPTH", depth},     {"STEPS", pixels / 16}, {"BLOCKS", blocks},       {"PADDED_H", padded[0]}, {"PADDED_W", padded[1]},
        {"PITCH_X", pitch_x}, {"PITCH_Y", pitch_y},   {"SHARED_FLOATS", floats}};
    for (const auto& [name, value] : values) source.define(name, value);
    source.add(kBackwardWeight);
    PlainSource sum(f32, {d.weight.layout});
    sum.define("COUNT", s.k * depth);
    const std::int64_t results = s.k * depth < 4096 ? 8 : 32;
    sum.define("PARTS", blocks * parts);
    sum.define("RESULTS", results);
    sum.define("DEPTH", depth);
    sum.define("C", s.c);
    const bool first = lies_ordered(d.weight.layout, ChannelOrder::First);
    sum.add(kSum, {{"RESULT", first ? "(k * C + c) * " + std::to_string(s.taps()) + " + tap" : "k * DEPTH + tap * C + c"}});
    std::string name = std::to_string(8 * columns) + " columns, images in " + std::to_string(blocks);
    if (std::ranges::find(names, name) != names.end()) continue;
    names.push_back(name);
    const bool enough =
        take({std::move(name),
              {"convolution", source.text(), blocks, static_cast<int>(32 * groups * parts), static_cast<std::size_t>(4 * floats)},
              PlainKernel{"add_parts", sum.text(), divide_up(s.k * depth, results), 256, 0},
              static_cast<std::size_t>(4 * s.k * depth * blocks * parts)});
    if (enough) return true;
  }
  return false;
}

}  // namespace tegula::gpu
