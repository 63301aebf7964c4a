// sum: tile 64 x 64, 16 x 16 threads, vectors of 4
struct Arguments_k_sum {
  float* in0;
  float* part2;
  long long n0;
  long long s0_0;
  long long n1;
  long long p_chunks;
  long long p_instances;
  long long p_share;
  long long part_elements;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_sum(const Arguments_k_sum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 16, tc = static_cast<int>(threadIdx.x) % 16;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const part2 = passing(a.part2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long p_instances = static_cast<long long>(a.p_instances);
  const long long p_share = static_cast<long long>(a.p_share);
  const long long part_elements = static_cast<long long>(a.part_elements);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v8 = id0;
  const long long v9 = divided_short(v8, p_instances);
  const long long v10 = v9 * p_share;
  const long long v11 = v10 + p_share;
  const long long v12 = smaller(v11, p_chunks);
  const long long v13 = remainder_short(v8, p_instances);
  const long long v16 = v13 * 64ll;
  double v23[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      v23[c][k] = 0.0;
    }
  }
  double a23[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      a23[c][k] = Sum<double>::nothing();
    }
  }
  float t23[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      t23[c][k] = Sum<float>::nothing();
    }
  }
  int tiles23 = 0;
   {
    // Fetched 2 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = v10 + s * 1ll;
      if (later < v12) {
        const long long v22 = later;
        const long long v24 = v22 * 64ll;
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
          const int row = r * 16 + tr;
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            const int col = (c * 16 + tc) * 4;
            copy_ahead<4, 4>(ring + s * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + ((v24 * s0_0) + v16) + row * s0_0 + col), 4);
          }
        }
      }
      close_copies();
    }
    for (long long v22 = v10; v22 < v12; v22 += 1ll) {
       {
        const long long later = v22 + 2 * 1ll;
        if (later < v12) {
          const long long v22 = later;
          const long long v24 = v22 * 64ll;
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            const int row = r * 16 + tr;
            #pragma unroll
            for (int c = 0; c < 1; ++c) {
              const int col = (c * 16 + tc) * 4;
              copy_ahead<4, 4>(ring + (stage < 1 ? stage + 2 : stage - 1) * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + ((v24 * s0_0) + v16) + row * s0_0 + col), 4);
            }
          }
        }
        close_copies();
      }
      wait_for_copies<2>();
      const long long v24 = v22 * 64ll;
      float v32[4][1][4];
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 16 + tc) * 4;
          load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v32[r][c]);
        }
      }
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 16 + tc) * 4 + k;
            t23[c][k] = Sum<float>::of(t23[c][k], v32[r][c][k]);
          }
        }
      }
      stage = stage == 2 ? 0 : stage + 1;
      if (++tiles23 == 16) {
        tiles23 = 0;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 16 + tc) * 4 + k;
            a23[c][k] += t23[c][k];
          }
        }
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 16 + tc) * 4 + k;
            t23[c][k] = 0.0f;
          }
        }
      }
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      a23[c][k] += t23[c][k];
    }
  }
  combine_rows_for_first<Sum<double>, 16, 16, 4>(ring, &a23[0][0]);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      v23[c][k] = Sum<double>::of(v23[c][k], a23[c][k]);
    }
  }
  const long long v38 = v9 * part_elements;
  float v37[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 16 + tc) * 4 + k;
      v37[c][k] = static_cast<float>(v23[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 16 + tc) * 4;
    if (tr == 0) store_wide<4, 4>((part2 + (v38 + v16) + col), v37[c]);
  }
}
// 256 threads, cluster of 1, 49152 bytes shared

// sum: tile 64 x 16, 16 x 4 threads, vectors of 4
struct Arguments_k_sum {
  float* out1;
  float* part2;
  long long n0;
  long long s2_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(64) k_sum(const Arguments_k_sum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 4, tc = static_cast<int>(threadIdx.x) % 4;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const out1 = passing(a.out1);
  float* const part2 = lasting(a.part2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s2_0 = static_cast<long long>(a.s2_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v3 = id0;
  const long long v6 = v3 * 16ll;
  float v16[4][1][4];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 4 + tc) * 4;
      load_wide<4, 4>((part2 + v6 + row * s2_0 + col), v16[r][c]);
    }
  }
  float v17[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 4 + tc) * 4 + k;
      v17[c][k] = Sum<float>::nothing();
    }
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 4 + tc) * 4 + k;
        v17[c][k] = Sum<float>::of(v17[c][k], v16[r][c][k]);
      }
    }
  }
  combine_rows<Sum<float>, 16, 4, 4>(&v17[0][0], shared);
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 4 + tc) * 4;
    if (tr == 0) store_wide<4, 4>((out1 + v6 + col), v17[c]);
  }
}
// 64 threads, cluster of 1, 128 bytes shared

