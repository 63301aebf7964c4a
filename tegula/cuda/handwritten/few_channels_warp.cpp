// Forward and the gradient of the input without shared memory: a warp reads what it needs of the image and the weights through the caches.

#include <algorithm>
#include <array>

#include "tegula/cuda/handwritten/few_channels_parts.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

/// One warp sums a part of the depth for 16 * ROWS pixels and 8 * COLUMNS channels. TERMS(k) fills a[2 * ROWS] and b[COLUMNS] with
/// the lane's four neighbours from k on; SPLIT warps share the depth and add up in shared memory.
constexpr const char* kDepthLoop = R"(
  float sum[ROWS][COLUMNS][4] = {};
  const int first = part * STEPS / SPLIT, last = (part + 1) * STEPS / SPLIT;
#pragma unroll @UNROLL@
  for (int step = first; step < last; ++step) {
    const int k = step * 16 + t * 4;
    Four a[2 * ROWS], b[COLUMNS];
    @TERMS@
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        product(sum[i][j], a[2 * i].x, a[2 * i + 1].x, a[2 * i].y, a[2 * i + 1].y, b[j].x, b[j].y);
        product(sum[i][j], a[2 * i].z, a[2 * i + 1].z, a[2 * i].w, a[2 * i + 1].w, b[j].z, b[j].w);
      }
    }
  }
#if SPLIT > 1
  __shared__ float share[WARPS][ROWS * COLUMNS * 4][32];
  if (part > 0) {
    for (int i = 0; i < ROWS * COLUMNS * 4; ++i) share[warp][i][lane] = sum[i / (COLUMNS * 4)][i / 4 % COLUMNS][i % 4];
  }
  __syncthreads();
  if (part > 0) return;
  for (int other = 1; other < SPLIT; ++other) {
    for (int i = 0; i < ROWS * COLUMNS * 4; ++i) sum[i / (COLUMNS * 4)][i / 4 % COLUMNS][i % 4] += share[warp + other][i][lane];
  }
#endif
)";

constexpr const char* kForward = R"(
extern "C" __global__ void __launch_bounds__(WARPS * 32) convolution(const float* x, const float* w@BIAS@, float* y) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, part = warp % SPLIT;
  const int tile = (blockIdx.x * (WARPS / SPLIT) + warp / SPLIT) * 16 * ROWS;
  int base[2 * ROWS], top[2 * ROWS], left[2 * ROWS];
  for (int i = 0; i < 2 * ROWS; ++i) {
    const int pixel = tile + 8 * i + g, q = pixel % OUT_W, p = pixel / OUT_W % OUT_H, n = pixel / (OUT_W * OUT_H);
    top[i] = p * STRIDE_H - LOW_H;
    left[i] = q * STRIDE_W - LOW_W;
    base[i] = ((n * IN_H + top[i]) * IN_W + left[i]) * C;
    if (pixel >= BATCH * OUT_H * OUT_W) top[i] = -(1 << 28);
  }
@LOOP@
  for (int i = 0; i < 2 * ROWS; ++i) {
    const int pixel = tile + 8 * i + g;
    if (pixel >= BATCH * OUT_H * OUT_W) continue;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int channel = 8 * j + 2 * t + e;
        if (channel >= K) continue;
        float value = sum[i / 2][j][i % 2 * 2 + e];
#if BIAS
        value += bias[channel];
#endif
        y[pixel * K + channel] = activation(value);
      }
    }
  }
}
)";

/// Four neighbours along the channels, which lie together when their number is a multiple of four; else one at a time.
constexpr const char* kForwardTerms = R"(
#if C % 4 == 0
    const int tap = k / C, r = tap / KERNEL_W * DILATION_H, s = tap % KERNEL_W * DILATION_W;
    const int offset = (r * IN_W + s) * C + k % C;
#pragma unroll
    for (int i = 0; i < 2 * ROWS; ++i) {
      const bool inside = k < DEPTH && unsigned(top[i] + r) < IN_H && unsigned(left[i] + s) < IN_W;
      a[i] = four_where(inside, x, base[i] + offset);
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const int channel = 8 * j + g;
      b[j] = four_where(k < DEPTH && channel < K, w, channel * DEPTH + k);
    }
#else
    for (int e = 0; e < 4; ++e) {
      const int term = k + e, tap = term / C, r = tap / KERNEL_W * DILATION_H, s = tap % KERNEL_W * DILATION_W;
      const int offset = (r * IN_W + s) * C + term % C;
#pragma unroll
      for (int i = 0; i < 2 * ROWS; ++i) {
        const bool inside = term < DEPTH && unsigned(top[i] + r) < IN_H && unsigned(left[i] + s) < IN_W;
        (&a[i].x)[e] = one_where(inside, x, base[i] + offset);
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        const int channel = 8 * j + g;
        (&b[j].x)[e] = one_where(term < DEPTH && channel < K, w, channel * DEPTH + term);
      }
    }
#endif
)";

/// Pixels of the input in classes: those of one class meet the same taps, every STRIDE-th from a first one on.
constexpr const char* kBackwardData = R"(
extern "C" __global__ void __launch_bounds__(WARPS * 32) convolution(const float* dy, const float* w, float* dx) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, part = warp % SPLIT;
  int tile = (blockIdx.x * (WARPS / SPLIT) + warp / SPLIT) * 16 * ROWS, kind = 0, high = 0, wide = 0, count = 0;
  for (; kind < STRIDE_H * STRIDE_W; ++kind) {
    high = (IN_H - kind / STRIDE_W + STRIDE_H - 1) / STRIDE_H;
    wide = (IN_W - kind % STRIDE_W + STRIDE_W - 1) / STRIDE_W;
    count = BATCH * high * wide;
    const int room = (count + 16 * ROWS - 1) / (16 * ROWS) * (16 * ROWS);
    if (tile < room) break;
    tile -= room;
  }
  if (kind == STRIDE_H * STRIDE_W) count = 0, high = wide = 1;
  const int row = kind / STRIDE_W, column = kind % STRIDE_W;
  const int r0 = (row + LOW_H) % STRIDE_H, s0 = (column + LOW_W) % STRIDE_W;
  int base[2 * ROWS], top[2 * ROWS], left[2 * ROWS];
  for (int i = 0; i < 2 * ROWS; ++i) {
    const int pixel = tile + 8 * i + g, n = pixel / (high * wide);
    top[i] = pixel / wide % high + (row + LOW_H - r0) / STRIDE_H;
    left[i] = pixel % wide + (column + LOW_W - s0) / STRIDE_W;
    base[i] = ((n * OUT_H + top[i]) * OUT_W + left[i]) * K;
    if (pixel >= count) top[i] = -(1 << 28);
  }
@LOOP@
  for (int i = 0; i < 2 * ROWS; ++i) {
    const int pixel = tile + 8 * i + g;
    if (pixel >= count) continue;
    const int n = pixel / (high * wide), h = pixel / wide % high * STRIDE_H + row, v = pixel % wide * STRIDE_W + column;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int channel = 8 * j + 2 * t + e;
        if (channel < C) dx[((n * IN_H + h) * IN_W + v) * C + channel] = sum[i / 2][j][i % 2 * 2 + e];
      }
    }
  }
}
)";

constexpr const char* kBackwardDataTerms = R"(
    const int tap = k / K, u = tap / TAPS_W, v = tap % TAPS_W, r = r0 + u * STRIDE_H, s = s0 + v * STRIDE_W;
    const bool real = k < DEPTH && r < KERNEL_H && s < KERNEL_W;
    const int offset = (u * DILATION_H * OUT_W + v * DILATION_W) * K - k % K;
#pragma unroll
    for (int i = 0; i < 2 * ROWS; ++i) {
      const bool inside = real && unsigned(top[i] - u * DILATION_H) < OUT_H && unsigned(left[i] - v * DILATION_W) < OUT_W;
      a[i] = four_where(inside, dy, base[i] - offset);
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const int channel = 8 * j + g;
      const bool some = real && channel < C;
      const int at = ((k % K * KERNEL_H + r) * KERNEL_W + s) * C + channel;
#pragma unroll
      for (int e = 0; e < 4; ++e) (&b[j].x)[e] = one_where(some, w, at + e * KERNEL_H * KERNEL_W * C);
    }
)";

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
  activation_function(source, d.activation);
  std::string loop = kDepthLoop;
  loop.replace(loop.find("@TERMS@"), 7, terms);
  source.add(text, {{"LOOP", loop}, {"UNROLL", unroll}, {"BIAS", d.bias ? ", const float* bias" : ""}});
  const std::string name = std::to_string(16 * rows) + " pixels, depth in " + std::to_string(split);
  return {name, {"convolution", source.text(), divide_up(tiles(rows), warps / split), static_cast<int>(32 * warps), 0}, {}, 0};
}

}  // namespace

std::vector<FewChannels> few_channels_by_warp(const Convolution& d, const ImageSizes& s) {
  std::vector<FewChannels> all;
  const bool forward = d.pass == ConvolutionPass::Forward;
  const std::int64_t channels = forward ? s.k : s.c;
  if (channels > kMostFewChannels || (forward ? s.c : s.k) > 4 * kMostFewChannels) return all;
  std::int64_t depth = s.c * s.taps();
  if (!forward) {
    for (int i = 0; i < 2; ++i) {
      if (d.stride[i] > 1 && d.dilation[i] > 1) return all;
    }
    if (s.k % 4 != 0) return all;
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
  // As little sharing of the depth as keeps all multiprocessors busy. The gradient's taps are fewer: more pixels of a warp share the weights.
  const std::int64_t wide = !forward && divide_up(channels, 8) <= 6 ? 2 : 1, busy = forward ? 2000 : 1500;
  std::int64_t share = 1;
  while (share < (wide == 2 ? 2 : 8) && tiles(wide) * share < busy && share * 4 <= divide_up(depth, 16)) share *= 2;
  const std::array<std::array<std::int64_t, 2>, 7> variants{{{wide, share}, {2, 1}, {1, 2}, {1, 4}, {1, 1}, {2, 2}, {1, 8}}};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto [rows, split] = variants[i];
    if (rows * divide_up(channels, 8) > 12 || (split > 1 && split * 2 > divide_up(depth, 16))) continue;
    if (i > 0 && variants[i] == variants[0]) continue;
    all.push_back(over_depth(d, s, depth, channels, rows, split, forward ? kForward : kBackwardData,
                             forward ? kForwardTerms : kBackwardDataTerms, tiles));
  }
  return all;
}

}  // namespace tegula::gpu
