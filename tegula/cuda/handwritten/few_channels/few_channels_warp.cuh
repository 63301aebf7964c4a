// Text of kernels, as few_channels_warp.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

/// One warp sums a part of the depth for 16 * ROWS pixels and 8 * COLUMNS channels. TERMS(k) fills a[2 * ROWS] and b[COLUMNS] with
/// the lane's four neighbours from k on; SPLIT warps share the depth and add up in shared memory.
#pragma region DepthLoop
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
#pragma endregion

#pragma region Forward
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
#pragma endregion

/// Four neighbours along the channels, which lie together when their number is a multiple of four; else one at a time.
#pragma region ForwardTerms
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
#pragma endregion

/// Pixels of the input in classes: those of one class meet the same taps, every STRIDE-th from a first one on.
#pragma region BackwardData
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
#pragma endregion

#pragma region BackwardDataTerms
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
#pragma endregion
