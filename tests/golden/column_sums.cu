// sum: tile 16 x 256, 4 x 64 threads, vectors of 4
struct Arguments_k_sum_b1a351cf8e99e5c8 {
  float* in0;
  float* part2;
  long long n0;
  long long s0_0;
  long long s2_0;
  long long n1;
  long long s0_1;
  long long n2;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
  long long tiles2;
};
extern "C" __global__ void __launch_bounds__(256) k_sum_b1a351cf8e99e5c8(const Arguments_k_sum_b1a351cf8e99e5c8 a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const part2 = a.part2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s2_0 = static_cast<long long>(a.s2_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long s0_1 = static_cast<long long>(a.s0_1);
  const long long n2 = static_cast<long long>(a.n2);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long tiles2 = static_cast<long long>(a.tiles2);
  const long long v9 = id0;
  const long long v10 = remainder_of(v9, tiles2);
  const long long v11 = divided(v9, tiles2);
  const long long v14 = v10 * 256ll;
  float v21[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v21[c][k] = 0.0f;
    }
  }
  float a21[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      a21[c][k] = Sum<float>::nothing();
    }
  }
  for (long long v20 = 0ll; v20 < p_chunks; v20 += 1ll) {
    const long long v24 = v20 * 16ll;
    const long long v27 = v11 * s0_0;
    float v34[4][1][4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r * 4 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int col = (c * 64 + tc) * 4;
        load_wide<4, 4>((in0 + ((v27 + (v24 * s0_1)) + v14) + row * s0_1 + col), v34[r][c]);
      }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r * 4 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 64 + tc) * 4 + k;
          a21[c][k] = Sum<float>::of(a21[c][k], v34[r][c][k]);
        }
      }
    }
  }
  combine_rows<Sum<float>, 4, 64, 4>(&a21[0][0], shared);
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v21[c][k] = Sum<float>::of(v21[c][k], a21[c][k]);
    }
  }
  const long long v38 = v11 * s2_0;
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 4;
    if (tr == 0) store_wide<4, 4>((part2 + (v38 + v14) + col), v21[c]);
  }
}
// 256 threads, cluster of 1, 1024 bytes shared

// sum: tile 16 x 256, 4 x 64 threads, vectors of 4
struct Arguments_k_sum_7061cdea9f28b676 {
  float* out1;
  float* part2;
  long long n0;
  long long s2_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_sum_7061cdea9f28b676(const Arguments_k_sum_7061cdea9f28b676 a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const out1 = a.out1;
  float* const part2 = a.part2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s2_0 = static_cast<long long>(a.s2_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v6 = id0;
  const long long v9 = v6 * 256ll;
  float v16[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v16[c][k] = 0.0f;
    }
  }
  float a16[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      a16[c][k] = Sum<float>::nothing();
    }
  }
  for (long long v15 = 0ll; v15 < p_chunks; v15 += 1ll) {
    const long long v19 = v15 * 16ll;
    float v27[4][1][4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r * 4 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int col = (c * 64 + tc) * 4;
        load_wide<4, 4>((part2 + ((v19 * s2_0) + v9) + row * s2_0 + col), v27[r][c]);
      }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r * 4 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 64 + tc) * 4 + k;
          a16[c][k] = Sum<float>::of(a16[c][k], v27[r][c][k]);
        }
      }
    }
  }
  combine_rows<Sum<float>, 4, 64, 4>(&a16[0][0], shared);
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v16[c][k] = Sum<float>::of(v16[c][k], a16[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 4;
    if (tr == 0) store_wide<4, 4>((out1 + v9 + col), v16[c]);
  }
}
// 256 threads, cluster of 1, 1024 bytes shared

