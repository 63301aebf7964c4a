// The gradient of the weight.

#include <algorithm>
#include <array>

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/handwritten/few_channels_parts.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

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
      const Four value = rounded(*(const Four*)(x + n * (IN_H * IN_W * C) + i));
      const int h = i / (IN_W * C) + LOW_H, v = i / C % IN_W + LOW_W;
      float* const to = image + (h * PADDED_W + v) * PITCH_X + i % C;
      if (h < PADDED_H && v < PADDED_W) to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    }
#else
#pragma unroll 4
    for (int i = threadIdx.x; i < IN_H * IN_W * C; i += WARPS * 32) {
      const float value = rounded(x[n * (IN_H * IN_W * C) + i]);
      const int h = i / (IN_W * C) + LOW_H, v = i / C % IN_W + LOW_W;
      if (h < PADDED_H && v < PADDED_W) image[(h * PADDED_W + v) * PITCH_X + i % C] = value;
    }
#endif
#if K % 4 == 0
#pragma unroll 4
    for (int i = threadIdx.x * 4; i < OUT_H * OUT_W * K; i += WARPS * 128) {
      const Four value = rounded(*(const Four*)(dy + n * (OUT_H * OUT_W * K) + i));
      float* const to = slope + i / K * PITCH_Y + i % K;
      to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    }
#else
#pragma unroll 4
    for (int i = threadIdx.x; i < OUT_H * OUT_W * K; i += WARPS * 32) slope[i / K * PITCH_Y + i % K] = rounded(dy[n * (OUT_H * OUT_W * K) + i]);
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
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) product(sum[i][j], above.z, below.z, above.w, below.w, b[j].z, b[j].w);
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

std::vector<FewChannels> few_channels_weight(const Convolution& d, const ImageSizes& s) {
  std::vector<FewChannels> all;
  if (s.k > kMostFewChannels) return all;
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
    PlainSource source = few_channels_source(d, s);
    const std::pair<const char*, std::int64_t> values[] = {
        {"ROWS", rows},       {"COLUMNS", columns},   {"GROUPS", groups},       {"PARTS", parts},        {"WARPS", groups * parts},
        {"DEPTH", depth},     {"STEPS", pixels / 16}, {"BLOCKS", blocks},       {"PADDED_H", padded[0]}, {"PADDED_W", padded[1]},
        {"PITCH_X", pitch_x}, {"PITCH_Y", pitch_y},   {"SHARED_FLOATS", floats}};
    for (const auto& [name, value] : values) source.define(name, value);
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

}  // namespace tegula::gpu
