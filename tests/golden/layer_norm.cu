// sum_multiply_subtract_multiply_sum_multiply_etc: tile 4 x 768, 4 x 32 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_8a12712fac967db9 {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long n1;
  double c0;
  double c1;
  double c2;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(128) k_sum_multiply_subtract_multiply_sum_multiply_etc_8a12712fac967db9(const Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_8a12712fac967db9 a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const out1 = a.out1;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const float c2 = static_cast<float>(a.c2);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v7 = id0;
  const long long v10 = v7 * 4ll;
  float v20[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      load_wide<4, 4>((in0 + (v10 * s0_0) + row * s0_0 + col), v20[r][c]);
    }
  }
  float v21[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v21[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v21[r] = Sum<float>::of(v21[r], v20[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 4, 32, 1, 1, false>(v21, nullptr);
  float v22[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    // the user's line
    v22[r] = v21[r] * c0;
  }
  float v26[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v26[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v26[r] = Sum<float>::of(v26[r], ((v20[r][c][k] - v22[r]) * (v20[r][c][k] - v22[r])));
      }
    }
  }
  combine_columns<Sum<float>, 4, 32, 1, 1, false>(v26, nullptr);
  float v29[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    const float v27 = v26[r] * c1;
    const float v28 = v27 + c2;
    v29[r] = rsqrtf(v28);
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      float x[4];
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int first = col;
         {
          const int col = first + k;
          x[k] = ((v20[r][c][k] - v22[r]) * v29[r]);
        }
      }
      store_wide<4, 4>((out1 + (v10 * s1_0) + row * s1_0 + col), x);
    }
  }
}
// 128 threads, cluster of 1, 0 bytes shared

