// column_sums: tile 16 x 256, 4 x 64 threads, vectors of 4
struct Arguments_k_column_sums {
  float* in0;
  float* out1;
  long long n0;
  long long n1;
  long long p_chunks;
};
extern "C" __global__ void __launch_bounds__(256) k_column_sums(const Arguments_k_column_sums a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long v7 = id0;
  const long long v8 = v7 * 256ll;
  float v18[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v18[c][k] = 0.0f;
    }
  }
  float a18[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      a18[c][k] = Sum<float>::nothing();
    }
  }
   {
    // Fetched 2 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = 0ll + s * 1ll;
      if (later < p_chunks) {
        const long long v17 = later;
        const long long v21 = v17 * 16ll;
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
          const int row = r * 4 + tr;
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            const int col = (c * 64 + tc) * 4;
            copy_ahead<4, 4>(ring + s * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + ((v21 * n1) + v8) + row * n1 + col), row < bounded((n0 + (-v21))) ? bounded((n1 + (-v8))) - col : 0);
          }
        }
      }
      close_copies();
    }
    for (long long v17 = 0ll; v17 < p_chunks; v17 += 1ll) {
       {
        const long long later = v17 + 2 * 1ll;
        if (later < p_chunks) {
          const long long v17 = later;
          const long long v21 = v17 * 16ll;
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            const int row = r * 4 + tr;
            #pragma unroll
            for (int c = 0; c < 1; ++c) {
              const int col = (c * 64 + tc) * 4;
              copy_ahead<4, 4>(ring + (stage < 1 ? stage + 2 : stage - 1) * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + ((v21 * n1) + v8) + row * n1 + col), row < bounded((n0 + (-v21))) ? bounded((n1 + (-v8))) - col : 0);
            }
          }
        }
        close_copies();
      }
      wait_for_copies<2>();
      const long long v21 = v17 * 16ll;
      float v33[4][1][4];
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = r * 4 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 64 + tc) * 4;
          load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 16384 + 0 + ((r * 1 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v33[r][c]);
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
            a18[c][k] = Sum<float>::of(a18[c][k], v33[r][c][k]);
          }
        }
      }
      stage = stage == 2 ? 0 : stage + 1;
    }
  }
  combine_rows_for_first<Sum<float>, 4, 64, 4>(ring, &a18[0][0]);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v18[c][k] = Sum<float>::of(v18[c][k], a18[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 4;
    if (tr == 0) store_wide<4, 4, true>((out1 + v8 + col), v18[c], bounded((n1 + (-v8))) - col);
  }
}
// 256 threads, cluster of 1, 49152 bytes shared

