// softmax: tile 1 x 40000, 1 x 1024 threads in each of 2 blocks, vectors of 4
struct Arguments_k_softmax {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
};
extern "C" __global__ void __launch_bounds__(1024) __cluster_dims__(2, 1, 1) k_softmax(const Arguments_k_softmax a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int block = cluster_rank();
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = block * 1024 + static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x / 2;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  if (threadIdx.x == 0) {
    begin_exchange(shared + parts + 256);
    begin_exchange(shared + parts + 528);
  }
  cluster_arrive();
  const long long v5 = id0;
  const bool v10 = static_cast<long long>(v5) < n0;
  float v16[5][4];
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    const int col = (c * 2048 + tc) * 4;
    load_wide<4, 4, true>((in0 + (v5 * s0_0) + col), v16[c], v10 ? 40000 - col : 0, 0.0f);
  }
  float v17;
  v17 = Max<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 2048 + tc) * 4 + k;
      if (col < 40000) v17 = Max<float>::of(v17, v16[c][k]);
    }
  }
  cluster_wait();
  combine_columns<Max<float>, 1, 1024, 2, 1, false>(&v17, shared + parts, shared + parts + 256);
  float v20[5][4];
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 2048 + tc) * 4 + k;
      const float v19 = v16[c][k] - v17;
      v20[c][k] = exp2f(v19);
    }
  }
  float v21;
  v21 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 2048 + tc) * 4 + k;
      if (col < 40000) v21 = Sum<float>::of(v21, v20[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 1024, 2, 1, false>(&v21, shared + parts + 272, shared + parts + 528);
  float v23[5][4];
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 2048 + tc) * 4 + k;
      v23[c][k] = quotient(v20[c][k], v21);
    }
  }
  #pragma unroll
  for (int c = 0; c < 5; ++c) {
    const int col = (c * 2048 + tc) * 4;
    if (v10) store_wide<4, 4, true>((out1 + (v5 * s0_0) + col), v23[c], 40000 - col);
  }
}
// 1024 threads, cluster of 2, 544 bytes shared

