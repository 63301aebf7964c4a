// Text of kernels, as few_channels_image.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).

#pragma region ByImage
#define IMAGE (PADDED_H * PADDED_W * K)
#define CELLS (STRIP * CELLS_W)
// Returns the place of weight k of result n, so that a lane reads its part of a product as one Four.
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
#pragma endregion
