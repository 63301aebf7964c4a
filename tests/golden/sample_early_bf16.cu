// product: tile 24 x 40, 8 x 8 threads, vectors of 8
struct Arguments_k_product {
  BFloat16* p_x;
  BFloat16* p_w;
  BFloat16* p_b;
  BFloat16* p_y;
};
extern "C" __global__ void __launch_bounds__(64) k_product(const Arguments_k_product a, long long g0, long long g1, long long g2, Failure* failure) {
  let_next_begin();
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 8, tc = static_cast<int>(threadIdx.x) % 8;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const p_x = lasting(a.p_x);
  BFloat16* const p_w = lasting(a.p_w);
  BFloat16* const p_b = lasting(a.p_b);
  BFloat16* const p_y = passing(a.p_y);
  const long long v8 = id0;
  const long long v9 = v8 * 40ll;
  float v20[3][1][8];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 8 + tc) * 8;
      load_wide<8, 8, true>((p_w + v9 + row * 80ll + col), v20[r][c], 40 - col, 0.0f);
    }
  }
  float v25[1][8];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 8 + tc) * 8;
    load_wide<8, 8, true>((p_b + v9 + col), v25[c], 40 - col, 0.0f);
  }
  await_launch_ahead();
  float v13[3];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 8 + tr;
    v13[r] = widen(*((p_x + row)));
  }
  float v23[1][8];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 8 + tc) * 8 + k;
      v23[c][k] = Sum<float>::nothing();
    }
  }
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = (c * 8 + tc) * 8 + k;
        if (col < 40) v23[c][k] = fmaf(v13[r], v20[r][c][k], v23[c][k]);
      }
    }
  }
  combine_rows<Sum<float>, 8, 8, 8>(&v23[0][0], shared);
  float v26[1][8];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 8 + tc) * 8 + k;
      v26[c][k] = v23[c][k] + v25[c][k];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 8 + tc) * 8;
    if (tr == 0) store_wide<8, 8, true>((p_y + v9 + col), v26[c], 40 - col);
  }
}
// 64 threads, cluster of 1, 512 bytes shared

