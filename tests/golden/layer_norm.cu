// sum_multiply_subtract_multiply_sum_multiply_etc: tile 5 x 768, 8 x 32 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_af0808e50d14eb8c {
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
extern "C" __global__ void __launch_bounds__(256) k_sum_multiply_subtract_multiply_sum_multiply_etc_af0808e50d14eb8c(const Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_af0808e50d14eb8c a, long long g0, long long g1, long long g2, Failure* failure) {
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
  const long long v8 = id0;
  const long long v11 = v8 * 5ll;
  float v23[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      load_wide<4, 4, true>((in0 + (v11 * s0_0) + row * s0_0 + col), v23[r][c], row < bounded((n0 + (-v11))) && row < 5 ? 4 : 0, 0.0f);
    }
  }
  float v24[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v24[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v24[r] = Sum<float>::of(v24[r], v23[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v24, nullptr);
  float v25[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    // the user's line
    v25[r] = v24[r] * c0;
  }
  float v27[1][6][4];
  float v28[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v27[r][c][k] = v23[r][c][k] - v25[r];
        v28[r][c][k] = v27[r][c][k] * v27[r][c][k];
      }
    }
  }
  float v29[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v29[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v29[r] = Sum<float>::of(v29[r], v28[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v29, nullptr);
  float v32[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    const float v30 = v29[r] * c1;
    const float v31 = v30 + c2;
    v32[r] = rsqrtf(v31);
  }
  float v34[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v34[r][c][k] = v27[r][c][k] * v32[r];
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      if (row < bounded((n0 + (-v11))) && row < 5) store_wide<4, 4>((out1 + (v11 * s1_0) + row * s1_0 + col), v34[r][c]);
    }
  }
}
// 256 threads, cluster of 1, 0 bytes shared

