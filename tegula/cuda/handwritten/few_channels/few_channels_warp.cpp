// Forward and the gradient of the input without shared memory: a warp reads what it needs of the image and the weights through the caches.

#include <algorithm>
#include <array>

#include "tegula/cuda/handwritten/few_channels/few_channels_parts.h"
#include "tegula/cuda/handwritten/few_channels/few_channels_warp.cuh.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::int64_t kWarps = 4;

/// Forward and the gradient of the input: `tiles(rows)` tiles of 16 * rows pixels.
template <class Tiles>
FewChannels over_depth(const Convolution& d, const ImageSizes& s, std::int64_t depth, std::int64_t channels, std::int64_t rows,
                       std::int64_t split, const char* text, const char* terms, Tiles tiles) {
  PlainSource source = few_channels_source(d, s);
  source.define("ROWS", rows);
  source.define("COLUMNS", divide_up(channels, 8));
  const std::int64_t warps = std::max(split, kWarps);
  source.define("SPLIT", split);
  source.define("WARPS", warps);
  const char* const unroll = rows * divide_up(channels, 8) > 4 ? "2" : "4";
  source.define("DEPTH", depth);
  source.define("STEPS", divide_up(depth, 16));
  source.define("TAPS_W", divide_up(s.kernel[1], d.stride[1]));
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  activation_function(source, sums.rest);
  std::string loop = kDepthLoop;
  loop.replace(loop.find("@TERMS@"), 7, terms);
  source.add(text, {{"LOOP", loop}, {"UNROLL", unroll}, {"BIAS", sums.channel ? ", const float* bias" : ""}});
  const std::string name = std::to_string(16 * rows) + " pixels, depth in " + std::to_string(split);
  return {name, {"convolution", source.text(), divide_up(tiles(rows), warps / split), static_cast<int>(32 * warps), 0}, {}, 0};
}

}  // namespace

bool few_channels_by_warp(const Convolution& d, const ImageSizes& s, const TakeFew& take) {
  const bool forward = d.pass == ConvolutionPass::Forward;
  const std::int64_t channels = forward ? s.k : s.c;
  if (channels > kMostFewChannels || (forward ? s.c : s.k) > 4 * kMostFewChannels) return false;
  std::int64_t depth = s.c * s.taps();
  if (!forward) {
    for (int i = 0; i < 2; ++i) {
      if (d.stride[i] > 1 && d.dilation[i] > 1) return false;
    }
    if (s.k % 4 != 0) return false;
    depth = s.k * divide_up(s.kernel[0], d.stride[0]) * divide_up(s.kernel[1], d.stride[1]);
  }
  const auto tiles = [&](std::int64_t rows) {
    if (forward) return divide_up(s.n * s.out[0] * s.out[1], 16 * rows);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < d.stride[0] * d.stride[1]; ++i) {
      const std::int64_t high = divide_up(s.in[0] - i / d.stride[1], d.stride[0]), wide = divide_up(s.in[1] - i % d.stride[1], d.stride[1]);
      count += divide_up(s.n * std::max<std::int64_t>(high, 0) * std::max<std::int64_t>(wide, 0), 16 * rows);
    }
    return count;
  };
  // The depth is shared as little as keeps all multiprocessors busy. The gradient's taps are fewer: more pixels of a warp share the weights.
  const std::int64_t wide = !forward && divide_up(channels, 8) <= 6 ? 2 : 1, busy = forward ? 2000 : 1500;
  std::int64_t share = 1;
  while (share < (wide == 2 ? 2 : 8) && tiles(wide) * share < busy && share * 4 <= divide_up(depth, 16)) share *= 2;
  const std::array<std::array<std::int64_t, 2>, 7> variants{{{wide, share}, {2, 1}, {1, 2}, {1, 4}, {1, 1}, {2, 2}, {1, 8}}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto [rows, split] = variants[i];
    if (rows * divide_up(channels, 8) > 12 || (split > 1 && split * 2 > divide_up(depth, 16))) continue;
    if (i > 0 && variants[i] == variants[0]) continue;
    if (take(over_depth(d, s, depth, channels, rows, split, forward ? kForward : kBackwardData,
                        forward ? kForwardTerms : kBackwardDataTerms, tiles)))
      return true;
  }
  return false;
}

}  // namespace tegula::gpu
