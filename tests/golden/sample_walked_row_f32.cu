// walked_rows: tile 1 x 1536, 1 x 96 threads, vectors of 4
struct Arguments_k_walked_rows {
  float* in0;
  float* in1;
  float* out2;
  float* out3;
  float* out4;
  long long s0_0;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(96) k_walked_rows(const Arguments_k_walked_rows a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  unsigned char* const ring = shared + 128;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 96, tc = static_cast<int>(threadIdx.x) % 96;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  float* const out3 = passing(a.out3);
  float* const out4 = passing(a.out4);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n0 = static_cast<long long>(a.n0);
  float v15[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      v15[c][k] = 0.0f;
    }
  }
  float a15[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      a15[c][k] = Sum<float>::nothing();
    }
  }
  float v16[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      v16[c][k] = 0.0f;
    }
  }
  float a16[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      a16[c][k] = Sum<float>::nothing();
    }
  }
   {
    // Fetched 4 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 4; ++s) {
      const long long later = 0ll + s * 1ll;
      if (later < n0) {
        const long long v14 = later;
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int col = (c * 96 + tc) * 4;
          copy_ahead<4, 4>(ring + s * 12288 + 0 + (c * 96 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v14 * s0_0) + col), 4);
        }
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int col = (c * 96 + tc) * 4;
          copy_ahead<4, 4>(ring + s * 12288 + 6144 + (c * 96 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v14 * s0_0) + col), 4);
        }
      }
      close_copies();
    }
    for (long long v14 = 0ll; v14 < n0; v14 += 1ll) {
      wait_for_copies<3>();
       {
        const long long later = v14 + 4 * 1ll;
        if (later < n0) {
          const long long v14 = later;
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int col = (c * 96 + tc) * 4;
            copy_ahead<4, 4>(ring + (stage < 1 ? stage + 4 : stage - 1) * 12288 + 0 + (c * 96 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v14 * s0_0) + col), 4);
          }
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int col = (c * 96 + tc) * 4;
            copy_ahead<4, 4>(ring + (stage < 1 ? stage + 4 : stage - 1) * 12288 + 6144 + (c * 96 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v14 * s0_0) + col), 4);
          }
        }
        close_copies();
      }
      float v24[4][4];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int col = (c * 96 + tc) * 4;
        load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 12288 + 0 + (c * 96 + static_cast<int>(threadIdx.x)) * 16), v24[c]);
      }
      float v26[4][4];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int col = (c * 96 + tc) * 4;
        load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 12288 + 6144 + (c * 96 + static_cast<int>(threadIdx.x)) * 16), v26[c]);
      }
      float v28[4][4];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 96 + tc) * 4 + k;
          v28[c][k] = v24[c][k] * v26[c][k];
        }
      }
      float v27;
      v27 = Sum<float>::nothing();
      float v29;
      v29 = Sum<float>::nothing();
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 96 + tc) * 4 + k;
          v27 = Sum<float>::of(v27, v24[c][k]);
          v29 = Sum<float>::of(v29, v28[c][k]);
        }
      }
      float together27[2];
      together27[0] = v27;
      together27[1] = v29;
      combine_columns<Sum<float>, 1, 96, 1, 2, true>(together27, shared + parts);
      v27 = together27[0];
      v29 = together27[1];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int col = (c * 96 + tc) * 4;
        float x[4];
        const int first = col;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = first + k;
          x[k] = ((v26[c][k] * v27) + (v24[c][k] * v29));
        }
        store_wide<4, 4>((out2 + (v14 * s0_0) + col), x);
      }
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 96 + tc) * 4 + k;
          a15[c][k] = Sum<float>::of(a15[c][k], v26[c][k]);
        }
      }
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 96 + tc) * 4 + k;
          a16[c][k] = Sum<float>::of(a16[c][k], v28[c][k]);
        }
      }
      stage = stage == 4 ? 0 : stage + 1;
    }
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      v15[c][k] = Sum<float>::of(v15[c][k], a15[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      v16[c][k] = Sum<float>::of(v16[c][k], a16[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 96 + tc) * 4;
    store_wide<4, 4>((out3 + col), v15[c]);
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 96 + tc) * 4;
    store_wide<4, 4>((out4 + col), v16[c]);
  }
}
// 96 threads, cluster of 1, 61568 bytes shared

