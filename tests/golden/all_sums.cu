// multiply_sum: tile 1 x 16384, 1 x 1024 threads, vectors of 4
struct Arguments_k_multiply_sum_92da5e12a953824e {
  float* in0;
  float* part2;
  long long n0;
  long long s0_0;
  long long n1;
  double c0;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(1024) k_multiply_sum_92da5e12a953824e(const Arguments_k_multiply_sum_92da5e12a953824e a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const part2 = a.part2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v4 = id0;
  float v14[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 1024 + tc) * 4;
    load_wide<4, 4>((in0 + (v4 * s0_0) + col), v14[c]);
  }
  // the user's line
  float v16;
  v16 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 1024 + tc) * 4 + k;
      v16 = Sum<float>::of(v16, (v14[c][k] * c0));
    }
  }
  combine_columns<Sum<float>, 1, 1024, 1, 1, false>(&v16, shared + parts);
  if (threadIdx.x == 0) narrow(static_cast<float>(v16), *((part2 + v4)));
}
// 1024 threads, cluster of 1, 128 bytes shared

// multiply_sum: tile 1 x 64, 1 x 32 threads, vectors of 4
struct Arguments_k_multiply_sum_f0fd9ca60672e778 {
  float* out1;
  float* part2;
  long long n0;
  long long p_chunks;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(32) k_multiply_sum_f0fd9ca60672e778(const Arguments_k_multiply_sum_f0fd9ca60672e778 a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const out1 = a.out1;
  float* const part2 = a.part2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  float v5[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4, true>((part2 + col), v5[c], 64 - col, 0.0f);
  }
  float v6;
  v6 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      if (col < 64) v6 = Sum<float>::of(v6, v5[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 32, 1, 1, false>(&v6, nullptr);
  const float v7 = v6;
  if (threadIdx.x == 0) narrow(static_cast<float>(v7), *(out1));
}
// 32 threads, cluster of 1, 0 bytes shared

