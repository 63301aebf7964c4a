// max_subtract_exp_sum_log_equal_where_sum_subtract_etc: tile 1 x 1000, 1 x 64 threads, vectors of 4
struct Arguments_k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc {
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
extern "C" __global__ void __launch_bounds__(64, 16) k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc(const Arguments_k_max_subtract_exp_sum_log_equal_where_sum_subtract_etc a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  long long* const in1 = lasting(a.in1);
  long long* const in3 = lasting(a.in3);
  float* const out4 = passing(a.out4);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v7 = id0;
  float v18[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4, true>((in0 + (v7 * s0_0) + col), v18[c], 1000 - col, 0.0f);
  }
  float v19;
  v19 = Max<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      if (col < 1000) v19 = Max<float>::of(v19, v18[c][k]);
    }
  }
  combine_columns<Max<float>, 1, 64, 1, 1, false>(&v19, shared + parts);
  float v22[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      // the user's line
      const float v21 = v18[c][k] - v19;
      v22[c][k] = expf(v21);
    }
  }
  const long long v25 = widen(*((in1 + v7)));
  float v23;
  v23 = Sum<float>::nothing();
  float v29;
  v29 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      if (col < 1000) v23 = Sum<float>::of(v23, v22[c][k]);
      if (col < 1000) v29 = Sum<float>::of(v29, ((col == place_of(v25)) ? (v18[c][k] - v19) : c0));
    }
  }
  float together23[2];
  together23[0] = v23;
  together23[1] = v29;
  combine_columns<Sum<float>, 1, 64, 1, 2, false>(together23, shared + parts + 16);
  v23 = together23[0];
  v29 = together23[1];
  const float v30 = logf(v23);
  const float v31 = v30 - v29;
  const long long v33 = widen(*((in3 + v7)));
  const bool v34 = v33 >= 0ll;
  const bool v35 = v33 < 1000ll;
  const bool v36 = v34 && v35;
  if (threadIdx.x == 0 && !v36) report(failure, 0, v33);
  __syncthreads();
  if (threadIdx.x == 0) narrow(static_cast<float>(v31), *((out4 + v7)));
}
// 64 threads, cluster of 1, 32 bytes shared

// sum_divide: tile 1 x 256, 1 x 64 threads, vectors of 4
struct Arguments_k_sum_divide {
  float* in0;
  float* out1;
  long long n0;
  double c0;
  long long p_chunks;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(64) k_sum_divide(const Arguments_k_sum_divide a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  float v6[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>(steady((in0 + col)), v6[c]);
  }
  float v7;
  v7 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v7 = Sum<float>::of(v7, v6[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v7, shared + parts);
  // the user's line
  const float v8 = v7 / c0;
  const float v9 = v8;
  if (threadIdx.x == 0) narrow(static_cast<float>(v9), *(out1));
}
// 64 threads, cluster of 1, 16 bytes shared

