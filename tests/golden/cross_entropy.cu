// max_subtract_exp_sum_log_equal_where_sum_subtract_etc: tile 4 x 1000, 4 x 32 threads, vectors of 4
struct Arguments_k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc_636adc903a6dd503 {
  float* in0;
  long long* in1;
  long long* in3;
  float* out4;
  long long n0;
  long long s0_0;
  long long n1;
  double c0;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(128) k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc_636adc903a6dd503(const Arguments_k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc_636adc903a6dd503 a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  long long* const in1 = a.in1;
  long long* const in3 = a.in3;
  float* const out4 = a.out4;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v7 = id0;
  const long long v10 = v7 * 4ll;
  float v21[1][8][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      const int col = (c * 32 + tc) * 4;
      load_wide<4, 4, true>((in0 + (v10 * s0_0) + row * s0_0 + col), v21[r][c], 1000 - col, 0.0f);
    }
  }
  float v22[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v22[r] = Max<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (col < 1000) v22[r] = Max<float>::of(v22[r], v21[r][c][k]);
      }
    }
  }
  combine_columns<Max<float>, 4, 32, 1, 1, false>(v22, nullptr);
  float v25[1][8][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        // the user's line
        const float v24 = v21[r][c][k] - v22[r];
        v25[r][c][k] = expf(v24);
      }
    }
  }
  long long v28[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v28[r] = widen(*((in1 + v10 + row)));
  }
  float v26[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v26[r] = Sum<float>::nothing();
  }
  float v32[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v32[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (col < 1000) v26[r] = Sum<float>::of(v26[r], v25[r][c][k]);
        if (col < 1000) v32[r] = Sum<float>::of(v32[r], ((v28[r] == static_cast<long long>(col)) ? (v21[r][c][k] - v22[r]) : c0));
      }
    }
  }
  float together26[2];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    together26[0 + r] = v26[r];
    together26[1 + r] = v32[r];
  }
  combine_columns<Sum<float>, 4, 32, 1, 2, false>(together26, nullptr);
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v26[r] = together26[0 + r];
    v32[r] = together26[1 + r];
  }
  long long v36[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v36[r] = widen(*((in3 + v10 + row)));
  }
  float v34[1];
  bool v39[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    const float v33 = logf(v26[r]);
    v34[r] = v33 - v32[r];
    const bool v37 = v36[r] >= 0ll;
    const bool v38 = v36[r] < 1000ll;
    v39[r] = v37 && v38;
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    if (tc == 0 && !v39[r]) report(failure, 272, v36[r]);
  }
  __syncthreads();
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    if (tc == 0) narrow(static_cast<float>(v34[r]), *((out4 + v10 + row)));
  }
}
// 128 threads, cluster of 1, 0 bytes shared

// sum_divide: tile 1 x 256, 1 x 32 threads, vectors of 4
struct Arguments_k_sum_divide_158ae0425b75274e {
  float* in0;
  float* out1;
  long long n0;
  double c1;
  long long p_chunks;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(32) k_sum_divide_158ae0425b75274e(const Arguments_k_sum_divide_158ae0425b75274e a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const out1 = a.out1;
  const long long n0 = static_cast<long long>(a.n0);
  const float c1 = static_cast<float>(a.c1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  float v6[2][4];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4>((in0 + col), v6[c]);
  }
  float v7;
  v7 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v7 = Sum<float>::of(v7, v6[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 32, 1, 1, false>(&v7, nullptr);
  // the user's line
  const float v8 = v7 / c1;
  const float v9 = v8;
  if (threadIdx.x == 0) narrow(static_cast<float>(v9), *(out1));
}
// 32 threads, cluster of 1, 0 bytes shared

