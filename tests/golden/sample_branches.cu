// branches: tile 1 x 100, 1 x 32 threads, vectors of 4
struct Arguments_k_branches {
  float* in0;
  float* out1;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(32) k_branches(const Arguments_k_branches a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  float v10[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v10[c][k] = 0.0f;
    }
  }
  long long v11;
  v11 = 0ll;
  for (long long v9 = 0ll; v9 < n0; v9 += 1ll) {
    float v15[1][4];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v15[c][k] = v10[c][k];
      }
    }
     {
      // Fetched 3 iterations ahead.
      int stage = 0;
      #pragma unroll 1
      for (int s = 0; s < 3; ++s) {
        const long long later = v9 + s * 2ll;
        if (later < n0) {
          const long long v14 = later;
          const long long v17 = v14 * 100ll;
          const bool v21 = v9 < v14;
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            const int col = (c * 32 + tc) * 4;
            copy_ahead<4, 4>(ring + s * 512 + 0 + (c * 32 + static_cast<int>(threadIdx.x)) * 16, (in0 + v17 + col), 100 - col);
          }
        }
        close_copies();
      }
      for (long long v14 = v9; v14 < n0; v14 += 2ll) {
         {
          const long long later = v14 + 3 * 2ll;
          if (later < n0) {
            const long long v14 = later;
            const long long v17 = v14 * 100ll;
            const bool v21 = v9 < v14;
            #pragma unroll
            for (int c = 0; c < 1; ++c) {
              const int col = (c * 32 + tc) * 4;
              copy_ahead<4, 4>(ring + (stage < 1 ? stage + 3 : stage - 1) * 512 + 0 + (c * 32 + static_cast<int>(threadIdx.x)) * 16, (in0 + v17 + col), 100 - col);
            }
          }
          close_copies();
        }
        wait_for_copies<3>();
        const long long v17 = v14 * 100ll;
        float v20[1][4];
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 32 + tc) * 4;
          load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 512 + 0 + (c * 32 + static_cast<int>(threadIdx.x)) * 16), v20[c]);
        }
        const bool v21 = v9 < v14;
        float v29[1][4];
        if (v21) {
          float v23[1][4];
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
              const int col = (c * 32 + tc) * 4 + k;
              v23[c][k] = v15[c][k] + v20[c][k];
            }
          }
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
              const int col = (c * 32 + tc) * 4 + k;
              v29[c][k] = v23[c][k];
            }
          }
        }
        else {
          float v24;
          v24 = Max<float>::nothing();
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
              const int col = (c * 32 + tc) * 4 + k;
              if (col < 100) v24 = Max<float>::of(v24, v20[c][k]);
            }
          }
          combine_columns<Max<float>, 1, 32, 1, 1, true>(&v24, nullptr);
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
              const int col = (c * 32 + tc) * 4 + k;
              v29[c][k] = ((v15[c][k] * 2.0f) - v24);
            }
          }
        }
        stage = stage == 3 ? 0 : stage + 1;
        float next0[1][4];
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 32 + tc) * 4 + k;
            next0[c][k] = v29[c][k];
          }
        }
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 32 + tc) * 4 + k;
            v15[c][k] = next0[c][k];
          }
        }
      }
    }
    const long long v31 = v11 + v9;
    float next0[1][4];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        next0[c][k] = v15[c][k];
      }
    }
    long long next1;
    next1 = v31;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v10[c][k] = next0[c][k];
      }
    }
    v11 = next1;
  }
  const float v34 = static_cast<float>(v11);
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = (v10[c][k] + v34);
    }
    store_wide<4, 4, true>((out1 + col), x, 100 - col);
  }
}
// 32 threads, cluster of 1, 2048 bytes shared

