// sum_multiply_multiply_negate_multiply_add_etc: tile 1 x 768, 1 x 64 threads, vectors of 4
struct Arguments_k_sum_multiply_multiply_negate_multiply_add_etc {
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
extern "C" __global__ void __launch_bounds__(64, 16) k_sum_multiply_multiply_negate_multiply_add_etc(const Arguments_k_sum_multiply_multiply_negate_multiply_add_etc a, long long g0, long long g1, long long g2, Failure* failure) {
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
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const float c2 = static_cast<float>(a.c2);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v7 = id0;
  float v17[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>((in0 + (v7 * s0_0) + col), v17[c]);
  }
  float v18;
  v18 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v18 = Sum<float>::of(v18, v17[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v18, shared + parts);
  // the user's line
  const float v19 = v18 * c0;
  const float v20 = v19 * c1;
  const float v21 = -v20;
  float v25;
  v25 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v25 = fmaf((fmaf(v17[c][k], c1, v21)), (fmaf(v17[c][k], c1, v21)), v25);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v25, shared + parts + 16);
  const float v28 = v25 * c0;
  const float v29 = v28 + c2;
  const float v30 = rsqrtf(v29);
  const float v31 = v30 * c1;
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = ((v17[c][k] - v19) * v31);
    }
    store_wide<4, 4>((out1 + (v7 * s1_0) + col), x);
  }
}
// 64 threads, cluster of 1, 32 bytes shared

