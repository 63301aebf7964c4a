// Text of kernels, as few_channels_weight.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

/// A block holds an image with its padding and the gradient of its output in shared memory. Rows are output channels, columns taps times
/// input channels, shared out among the warps in GROUPS; the pixels in PARTS. The pitches keep the lanes of a warp in different banks.
#pragma region BackwardWeight
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
#pragma endregion

/// A block's threads share the parts of RESULTS neighbours.
#pragma region Sum
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
#pragma endregion
