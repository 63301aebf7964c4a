// The gradient of the input where windows are whole strides wide. Input pixels in cells of STRIDE x STRIDE then meet the same window of
// the output's gradient: a cell has STRIDE * STRIDE * C results. A block keeps all weights and the gradients of some images, or of a
// strip of one, padded, in shared memory. Rows of the product are results of a cell, columns cells.

#include <algorithm>
#include <string>

#include "tegula/cuda/handwritten/few_channels_parts.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr const char* kByImage = R"(
#define IMAGE (PADDED_H * PADDED_W * K)
#define CELLS (STRIP * CELLS_W)
// Where weight k of result n lies, so that a lane reads its part of a product as one Four.
__device__ __forceinline__ int fragment(int k, int n) {
  return (((k / 16 * TILES + n / 16) * 2 + k % 4 / 2) * 32 + n % 8 * 4 + k % 16 / 4) * 4 + k % 2 * 2 + n % 16 / 8;
}
extern "C" __global__ void __launch_bounds__(WARPS * 32) convolution(const float* dy, const float* w, float* dx) {
  TEGULA_SHARED;
  float* const weights = (float*)shared;
  float* const image = weights + STEPS * TILES * 256;
  int* const offsets = (int*)(image + IMAGES * IMAGE);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
#if DEPTH % 16 || WIDTH % 16
  for (int i = threadIdx.x; i < STEPS * TILES * 256; i += WARPS * 32) weights[i] = 0;
  __syncthreads();
#endif
#pragma unroll 4
  for (int i = threadIdx.x * 4; i < K * KERNEL_H * KERNEL_W * C; i += WARPS * 128) {
    const Four v = rounded(*(const Four*)(w + i));
    const int c = i % C, s = i / C % KERNEL_W, r = i / (C * KERNEL_W) % KERNEL_H, tap = r / STRIDE_H * TAPS_W + s / STRIDE_W;
    const int k = tap * K + i / (C * KERNEL_W * KERNEL_H), n = (r % STRIDE_H * STRIDE_W + s % STRIDE_W) * C + c;
    float* const to = weights + fragment(k, n);  // n is a multiple of 4: its neighbours lie 16 apart
    to[0] = v.x, to[16] = v.y, to[32] = v.z, to[48] = v.w;
  }
  for (int i = threadIdx.x; i < STEPS * 4; i += WARPS * 32) {
    const int tap = i * 4 < DEPTH ? i * 4 / K : 0, u = TAPS_H - 1 - tap / TAPS_W, v = TAPS_W - 1 - tap % TAPS_W;
    offsets[i] = (u * DILATION_H * PADDED_W + v * DILATION_W) * K + (i * 4 < DEPTH ? i * 4 % K : 0);
  }
  for (int item = blockIdx.x; item < ITEMS; item += BLOCKS) {
    __syncthreads();
    const int first = item / STRIPS * IMAGES, row = item % STRIPS * STRIP;
    for (int begin = threadIdx.x * 4; begin < IMAGES * IMAGE; begin += LOADS * WARPS * 128) {
      Four values[LOADS];
#pragma unroll
      for (int u = 0; u < LOADS; ++u) {
        const int i = begin + u * WARPS * 128, n = i / IMAGE, h = i / (PADDED_W * K) % PADDED_H + row - ORIGIN_H, v = i / K % PADDED_W - ORIGIN_W;
        const bool inside = h >= 0 && h < OUT_H && v >= 0 && v < OUT_W && n < IMAGES && first + n < BATCH;
        values[u] = four_where(inside, dy, (((first + n) * OUT_H + h) * OUT_W + v) * K + i % K);
      }
#pragma unroll
      for (int u = 0; u < LOADS; ++u) {
        const int i = begin + u * WARPS * 128;
        if (i < IMAGES * IMAGE) *(Four*)(image + i) = values[u];
      }
    }
    __syncthreads();
    for (int tile = warp * 8 * COLUMNS; tile < IMAGES * CELLS; tile += WARPS * 8 * COLUMNS) {
      const float* base[COLUMNS];
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) {
        const int cell = tile + 8 * i + g, p = cell / CELLS_W % STRIP, q = cell % CELLS_W;
        base[i] = image + (cell < IMAGES * CELLS ? cell / CELLS * IMAGE + (p * PADDED_W + q) * K : 0);
      }
      float sum[COLUMNS][TILES][4] = {};
#pragma unroll 2
      for (int step = 0; step < STEPS; ++step) {
        const int offset = offsets[step * 4 + t];
        Four b[COLUMNS];
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) b[i] = *(const Four*)(base[i] + offset);
        const Four* const from = (const Four*)weights + step * TILES * 64 + lane;
#pragma unroll
        for (int j = 0; j < TILES; ++j) {
          const Four a = from[j * 64];
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i) product(sum[i][j], a.x, a.y, a.z, a.w, b[i].x, b[i].y);
        }
#pragma unroll
        for (int j = 0; j < TILES; ++j) {
          const Four a = from[j * 64 + 32];
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i) product(sum[i][j], a.x, a.y, a.z, a.w, b[i].z, b[i].w);
        }
      }
#pragma unroll
      for (int i = 0; i < COLUMNS * 2; ++i) {
        const int cell = tile + i / 2 * 8 + 2 * t + i % 2, n = first + cell / CELLS, q = cell % CELLS_W;
        const int p = cell / CELLS_W % STRIP + row;
        if (cell >= IMAGES * CELLS || n >= BATCH) continue;
#pragma unroll
        for (int j = 0; j < 2 * TILES; ++j) {
          const int at = 8 * j + g, h = p * STRIDE_H + at / C / STRIDE_W, v = q * STRIDE_W + at / C % STRIDE_W;
          if (at < WIDTH && h < IN_H && v < IN_W) dx[((n * IN_H + h) * IN_W + v) * C + at % C] = sum[i / 2][j / 2][j % 2 * 2 + i % 2];
        }
      }
    }
  }
}
)";

constexpr std::int64_t kMultiprocessors = 132;  // where more or fewer are there, a block has more or less to do

}  // namespace

bool few_channels_reuse_weights(const ImageSizes& s) {
  return 5 * divide_up(s.n, kMultiprocessors) * s.out[0] * s.out[1] * s.k >= s.k * s.c * s.taps();
}

std::vector<FewChannels> few_channels_by_image(const Convolution& d, const ImageSizes& s) {
  std::vector<FewChannels> all;
  if (d.pass != ConvolutionPass::BackwardData || s.k % 4 != 0 || s.c % 4 != 0 || std::max(s.k, s.c) > kMostFewChannels) return all;
  std::int64_t cells[2], taps[2], origin[2];
  for (int i = 0; i < 2; ++i) {
    if (s.kernel[i] % d.stride[i] != 0 || d.pad_low[i] % d.stride[i] != 0 || (d.stride[i] > 1 && d.dilation[i] > 1)) return all;
    cells[i] = divide_up(s.in[i], d.stride[i]);
    taps[i] = s.kernel[i] / d.stride[i];
    origin[i] = d.dilation[i] * (taps[i] - 1) - d.pad_low[i] / d.stride[i];
  }
  const std::int64_t depth = s.k * taps[0] * taps[1], width = d.stride[0] * d.stride[1] * s.c;
  const std::int64_t steps = divide_up(depth, 16), tiles = divide_up(width, 16);
  if (tiles > 6) return all;  // sums of a thread fill its registers
  // A block takes as many images as give seven warps 32 cells each; where there are fewer images than multiprocessors, a part of one.
  constexpr std::int64_t kColumns = 4, kCells = 7 * 8 * kColumns, kTwoOfAMultiprocessor = 113 << 10;
  const std::int64_t images = std::clamp<std::int64_t>(kCells / (cells[0] * cells[1]), 1, divide_up(s.n, kMultiprocessors));
  const std::int64_t wanted = images == 1 ? std::clamp<std::int64_t>(2 * kMultiprocessors / s.n, 1, cells[0]) : 1;
  const std::int64_t strip = divide_up(cells[0], std::min<std::int64_t>(wanted, 2)), strips = divide_up(cells[0], strip);
  const std::int64_t padded[2] = {strip + d.dilation[0] * (taps[0] - 1), cells[1] + d.dilation[1] * (taps[1] - 1)};
  const std::int64_t columns = strips > 1 ? kColumns / 2 : kColumns;
  const std::int64_t warps = std::clamp<std::int64_t>(divide_up(images * strip * cells[1], 8 * columns), 1, 8);
  const std::int64_t bytes = 4 * (steps * tiles * 256 + images * padded[0] * padded[1] * s.k + steps * 4);
  const std::int64_t items = divide_up(s.n, images) * strips;
  const std::int64_t blocks = std::min(items, (bytes <= kTwoOfAMultiprocessor ? 2 : 1) * kMultiprocessors);
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
  all.push_back({name, {"convolution", source.text(), blocks, static_cast<int>(32 * warps), static_cast<std::size_t>(bytes)}, {}, 0});
  return all;
}

}  // namespace tegula::gpu
