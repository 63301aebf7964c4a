// max_subtract_exp_sum_divide: tile 1 x 1024, 1 x 64 threads, vectors of 4
struct Arguments_k_max_subtract_exp_sum_divide {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(64, 16) k_max_subtract_exp_sum_divide(const Arguments_k_max_subtract_exp_sum_divide a, long long g0, long long g1, long long g2, Failure* failure) {
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
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v4 = id0;
  float v14[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>((in0 + (v4 * s0_0) + col), v14[c]);
  }
  float v15;
  v15 = Max<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v15 = Max<float>::of(v15, v14[c][k]);
    }
  }
  combine_columns<Max<float>, 1, 64, 1, 1, false>(&v15, shared + parts);
  float v18[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      // the user's line
      const float v17 = v14[c][k] - v15;
      v18[c][k] = expf(v17);
    }
  }
  float v19;
  v19 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v19 = Sum<float>::of(v19, v18[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v19, shared + parts + 16);
  float v21[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v21[c][k] = quotient(v18[c][k], v19);
    }
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 64 + tc) * 4;
    store_wide<4, 4>((out1 + (v4 * s1_0) + col), v21[c]);
  }
}
// 64 threads, cluster of 1, 32 bytes shared

