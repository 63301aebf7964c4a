#include "tegula/cuda/few_channels.h"

#include <algorithm>
#include <array>

#include "tegula/cuda/dnn_layout.h"
#include "tegula/cuda/plain_source.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

/// m16n8k8 of one warp. Lane (g, t) = (lane / 4, lane % 4) holds a: (row g, k t), (g + 8, t), (g, t + 4), (g + 8, t + 4);
/// b: (k t, column g), (t + 4, g); d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). Which k a slot stands for is free as long as a and
/// b agree: here a lane's slots of two products in a row are four neighbours in memory.
constexpr const char* kProduct = R"(
struct alignas(16) Four { float x, y, z, w; };
// Without a branch, so that many loads are under way at once: what is outside is read from the beginning and thrown away.
__device__ __forceinline__ float one_where(bool inside, const float* from, int at) {
  const float value = from[inside ? at : 0];
  return inside ? value : 0.0f;
}
__device__ __forceinline__ Four four_where(bool inside, const float* from, int at) {
  const Four value = *(const Four*)(from + (inside ? at : 0));
  return Four{inside ? value.x : 0.0f, inside ? value.y : 0.0f, inside ? value.z : 0.0f, inside ? value.w : 0.0f};
}
#ifndef TEGULA_EMULATED
__device__ __forceinline__ unsigned rounded(float x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ void product(float (&d)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(rounded(a0)), "r"(rounded(a1)), "r"(rounded(a2)), "r"(rounded(a3)), "r"(rounded(b0)), "r"(rounded(b1)));
}
#endif
)";

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

/// A block holds an image with its padding and the gradient of its output in shared memory. Rows are output channels, columns taps times
/// input channels, shared out among the warps in GROUPS; the pixels in PARTS. The pitches keep the lanes of a warp in different banks.
constexpr const char* kBackwardWeight = R"(
extern "C" __global__ void __launch_bounds__(WARPS * 32) convolution(const float* x, const float* dy, float* partial) {
  TEGULA_SHARED;
  float* const image = (float*)shared;
  float* const slope = image + PADDED_H * PADDED_W * PITCH_X;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, group = warp % GROUPS, part = warp / GROUPS;
  float sum[ROWS][COLUMNS][4] = {};
  int column[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int at = (group * COLUMNS + j) * 8 + g, tap = at / C;
    column[j] = at < DEPTH ? (tap / KERNEL_W * DILATION_H * PADDED_W + tap % KERNEL_W * DILATION_W) * PITCH_X + at % C : 0;
  }
  for (int i = threadIdx.x; i < SHARED_FLOATS; i += WARPS * 32) image[i] = 0;
  for (int n = blockIdx.x; n < BATCH; n += BLOCKS) {
    __syncthreads();
#if C % 4 == 0
#pragma unroll 4
    for (int i = threadIdx.x * 4; i < IN_H * IN_W * C; i += WARPS * 128) {
      const Four value = *(const Four*)(x + n * (IN_H * IN_W * C) + i);
      const int h = i / (IN_W * C) + LOW_H, v = i / C % IN_W + LOW_W;
      float* const to = image + (h * PADDED_W + v) * PITCH_X + i % C;
      if (h < PADDED_H && v < PADDED_W) to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    }
#else
#pragma unroll 4
    for (int i = threadIdx.x; i < IN_H * IN_W * C; i += WARPS * 32) {
      const float value = x[n * (IN_H * IN_W * C) + i];
      const int h = i / (IN_W * C) + LOW_H, v = i / C % IN_W + LOW_W;
      if (h < PADDED_H && v < PADDED_W) image[(h * PADDED_W + v) * PITCH_X + i % C] = value;
    }
#endif
#if K % 4 == 0
#pragma unroll 4
    for (int i = threadIdx.x * 4; i < OUT_H * OUT_W * K; i += WARPS * 128) {
      const Four value = *(const Four*)(dy + n * (OUT_H * OUT_W * K) + i);
      float* const to = slope + i / K * PITCH_Y + i % K;
      to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    }
#else
#pragma unroll 4
    for (int i = threadIdx.x; i < OUT_H * OUT_W * K; i += WARPS * 32) slope[i / K * PITCH_Y + i % K] = dy[n * (OUT_H * OUT_W * K) + i];
#endif
    __syncthreads();
    for (int step = part; step < STEPS; step += PARTS) {
      int place[4];
      Four b[COLUMNS];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int pixel = step * 16 + e * 4 + t;
        place[e] = pixel < OUT_H * OUT_W ? (pixel / OUT_W * STRIDE_H * PADDED_W + pixel % OUT_W * STRIDE_W) * PITCH_X : -1;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) (&b[j].x)[e] = place[e] >= 0 ? image[place[e] + column[j]] : 0.0f;
      }
      const float* const at = slope + (step * 16 + t) * PITCH_Y + g;
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        Four above, below;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          (&above.x)[e] = at[e * 4 * PITCH_Y + 16 * i];
          (&below.x)[e] = at[e * 4 * PITCH_Y + 16 * i + 8];
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
          product(sum[i][j], above.x, below.x, above.y, below.y, b[j].x, b[j].y);
          product(sum[i][j], above.z, below.z, above.w, below.w, b[j].z, b[j].w);
        }
      }
    }
  }
  float* const mine = partial + (blockIdx.x * PARTS + part) * (K * DEPTH);
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int channel = 16 * i + e / 2 * 8 + g, at = (group * COLUMNS + j) * 8 + 2 * t + e % 2;
        if (channel < K && at < DEPTH) mine[channel * DEPTH + at] = sum[i][j][e];
      }
    }
  }
}
)";

/// A block's threads share the parts of RESULTS neighbours.
constexpr const char* kSum = R"(
#define SHARES (256 / RESULTS)
extern "C" __global__ void __launch_bounds__(256) add_parts(const float* partial, float* result) {
  __shared__ float share[SHARES][RESULTS];
  const int lane = threadIdx.x % RESULTS, first = threadIdx.x / RESULTS, at = blockIdx.x * RESULTS + lane;
  float sum = 0;
#pragma unroll 8
  for (int part = first; part < PARTS; part += SHARES) sum += partial[part * COUNT + (at < COUNT ? at : 0)];
  share[first][lane] = sum;
  __syncthreads();
  if (first > 0 || at >= COUNT) return;
  for (int other = 1; other < SHARES; ++other) sum += share[other][lane];
  const int k = at / DEPTH, tap = at % DEPTH / C, c = at % C;
  result[@RESULT@] = sum;
}
)";

constexpr std::int64_t kMostChannels = 64, kMostShared = 99 << 10;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Sizes {
  std::int64_t n, c, k, in[2], out[2], kernel[2];
  explicit Sizes(const Convolution& d)
      : n(d.input.shape[0]),
        c(d.input.shape[1]),
        k(d.output.shape[1]),
        in{d.input.shape[2], d.input.shape[3]},
        out{d.output.shape[2], d.output.shape[3]},
        kernel{d.weight.shape[2], d.weight.shape[3]} {}
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
};

bool suits(const Convolution& d) {
  if (d.dtype != f32 || d.arithmetic != runtime::Arithmetic::TF32 || d.groups != 1 || d.addend || d.input.shape.rank() != 4) return false;
  for (const Layout* layout : {&d.input, &d.weight, &d.output}) {
    const bool any_order = layout == &d.weight && d.pass == ConvolutionPass::BackwardWeight && lies_ordered(d.weight, ChannelOrder::First);
    if ((!any_order && !lies_ordered(*layout, ChannelOrder::Last)) || numel(layout->shape) == 0 || numel(layout->shape) >= 1 << 28)
      return false;
  }
  for (const Dims* low : {&d.pad_low, &d.pad_high}) {
    if ((*low)[0] < 0 || (*low)[1] < 0) return false;
  }
  return true;
}

PlainSource source_of(const Convolution& d, const Sizes& s) {
  PlainSource source(f32, {d.input, d.weight, d.output});
  const std::pair<const char*, std::int64_t> values[] = {{"BATCH", s.n},
                                                         {"C", s.c},
                                                         {"K", s.k},
                                                         {"IN_H", s.in[0]},
                                                         {"IN_W", s.in[1]},
                                                         {"OUT_H", s.out[0]},
                                                         {"OUT_W", s.out[1]},
                                                         {"KERNEL_H", s.kernel[0]},
                                                         {"KERNEL_W", s.kernel[1]},
                                                         {"STRIDE_H", d.stride[0]},
                                                         {"STRIDE_W", d.stride[1]},
                                                         {"DILATION_H", d.dilation[0]},
                                                         {"DILATION_W", d.dilation[1]},
                                                         {"LOW_H", d.pad_low[0]},
                                                         {"LOW_W", d.pad_low[1]},
                                                         {"BIAS", d.bias}};
  for (const auto& [name, value] : values) source.define(name, value);
  source.add(kProduct);
  return source;
}

constexpr std::int64_t kWarps = 4;

/// Forward and the gradient of the input: `tiles(rows)` tiles of 16 * rows pixels.
template <class Tiles>
FewChannels over_depth(const Convolution& d, const Sizes& s, std::int64_t depth, std::int64_t channels, std::int64_t rows,
                       std::int64_t split, const char* text, const char* terms, Tiles tiles) {
  PlainSource source = source_of(d, s);
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

std::vector<FewChannels> over_depth_variants(const Convolution& d, const Sizes& s) {
  std::vector<FewChannels> all;
  const bool forward = d.pass == ConvolutionPass::Forward;
  const std::int64_t channels = forward ? s.k : s.c;
  if (channels > kMostChannels || (forward ? s.c : s.k) > 4 * kMostChannels) return all;
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
  constexpr std::array<std::array<std::int64_t, 2>, 6> kVariants{{{2, 1}, {1, 2}, {1, 4}, {1, 1}, {2, 2}, {1, 8}}};
  for (const auto& [rows, split] : kVariants) {
    if (rows * divide_up(channels, 8) > 12 || (split > 1 && split * 2 > divide_up(depth, 16))) continue;
    all.push_back(over_depth(d, s, depth, channels, rows, split, forward ? kForward : kBackwardData,
                             forward ? kForwardTerms : kBackwardDataTerms, tiles));
  }
  return all;
}

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

std::vector<FewChannels> backward_weight_variants(const Convolution& d, const Sizes& s) {
  std::vector<FewChannels> all;
  if (s.k > kMostChannels) return all;
  const std::int64_t depth = s.c * s.taps(), rows = divide_up(s.k, 16), tiles = divide_up(depth, 8);
  const std::int64_t pixels = 16 * divide_up(s.out[0] * s.out[1], 16);
  const std::int64_t pitch_x = s.c < 8 ? s.c : pitch(s.c, d.stride[1]), pitch_y = pitch(16 * rows, 1);
  std::int64_t padded[2];
  for (int i = 0; i < 2; ++i) padded[i] = (s.out[i] - 1) * d.stride[i] + d.dilation[i] * (s.kernel[i] - 1) + 1;
  const std::int64_t floats = padded[0] * padded[1] * pitch_x + pixels * pitch_y;
  if (4 * floats > kMostShared) return all;
  constexpr std::array<std::array<std::int64_t, 2>, 5> kVariants{{{7, 264}, {7, 132}, {6, 264}, {4, 264}, {3, 264}}};  // columns, blocks
  for (const auto& [most, most_blocks] : kVariants) {
    const std::int64_t columns = std::min(most, tiles), groups = divide_up(tiles, columns);
    if (groups > 16 || rows * columns > 14) continue;
    const std::int64_t parts = std::max<std::int64_t>(1, std::min(8 / groups, pixels / 16)), blocks = std::min(s.n, most_blocks);
    PlainSource source = source_of(d, s);
    const std::pair<const char*, std::int64_t> values[] = {
        {"ROWS", rows},       {"COLUMNS", columns},   {"GROUPS", groups},       {"PARTS", parts},        {"WARPS", groups * parts},
        {"DEPTH", depth},     {"STEPS", pixels / 16}, {"BLOCKS", blocks},       {"PADDED_H", padded[0]}, {"PADDED_W", padded[1]},
        {"PITCH_X", pitch_x}, {"PITCH_Y", pitch_y},   {"SHARED_FLOATS", floats}};
    for (const auto& [name, value] : values) source.define(name, value);
    source.add("#ifndef TEGULA_EMULATED\n#define TEGULA_SHARED extern __shared__ unsigned char shared[]\n#endif\n");
    source.add(kBackwardWeight);
    PlainSource sum(f32, {d.weight});
    sum.define("COUNT", s.k * depth);
    const std::int64_t results = s.k * depth < 4096 ? 8 : 32;
    sum.define("PARTS", blocks * parts);
    sum.define("RESULTS", results);
    sum.define("DEPTH", depth);
    sum.define("C", s.c);
    const bool first = lies_ordered(d.weight, ChannelOrder::First);
    sum.add(kSum, {{"RESULT", first ? "(k * C + c) * " + std::to_string(s.taps()) + " + tap" : "k * DEPTH + tap * C + c"}});
    std::string name = std::to_string(8 * columns) + " columns, images in " + std::to_string(blocks);
    if (std::any_of(all.begin(), all.end(), [&](const FewChannels& other) { return other.name == name; })) continue;
    all.push_back({std::move(name),
                   {"convolution", source.text(), blocks, static_cast<int>(32 * groups * parts), static_cast<std::size_t>(4 * floats)},
                   PlainKernel{"add_parts", sum.text(), divide_up(s.k * depth, results), 256, 0},
                   static_cast<std::size_t>(4 * s.k * depth * blocks * parts)});
  }
  return all;
}

}  // namespace

std::vector<FewChannels> few_channels_kernels(const Convolution& d) {
  if (!suits(d)) return {};
  const Sizes sizes(d);
  return d.pass == ConvolutionPass::BackwardWeight ? backward_weight_variants(d, sizes) : over_depth_variants(d, sizes);
}

}  // namespace tegula::gpu
