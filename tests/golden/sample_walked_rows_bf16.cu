// walked_rows: tile 8 x 512, 8 x 32 threads, vectors of 8
struct Arguments_k_walked_rows {
  BFloat16* in0;
  BFloat16* in1;
  float* out2;
  float* out3;
  float* out4;
  long long s0_0;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(256) k_walked_rows(const Arguments_k_walked_rows a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  float* const out3 = passing(a.out3);
  float* const out4 = passing(a.out4);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n0 = static_cast<long long>(a.n0);
  float v15[2][8];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v15[c][k] = 0.0f;
    }
  }
  float a15[2][8];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      a15[c][k] = Sum<float>::nothing();
    }
  }
  float v16[2][8];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v16[c][k] = 0.0f;
    }
  }
  float a16[2][8];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      a16[c][k] = Sum<float>::nothing();
    }
  }
   {
    // Fetched 3 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 3; ++s) {
      const long long later = 0ll + s * 1ll;
      if (later < n0) {
        const long long v14 = later;
        const long long v19 = v14 * 8ll;
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 16384 + 0 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v19 * s0_0) + row * s0_0 + col), 8);
          }
        }
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 16384 + 8192 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v19 * s0_0) + row * s0_0 + col), 8);
          }
        }
      }
      close_copies();
    }
    for (long long v14 = 0ll; v14 < n0; v14 += 1ll) {
      wait_for_copies<2>();
       {
        const long long later = v14 + 3 * 1ll;
        if (later < n0) {
          const long long v14 = later;
          const long long v19 = v14 * 8ll;
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 2; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 3 : stage - 1) * 16384 + 0 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v19 * s0_0) + row * s0_0 + col), 8);
            }
          }
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 2; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 3 : stage - 1) * 16384 + 8192 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v19 * s0_0) + row * s0_0 + col), 8);
            }
          }
        }
        close_copies();
      }
      const long long v19 = v14 * 8ll;
      Wide<BFloat16, 8> v27[1][2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 16384 + 0 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v27[r][c]);
        }
      }
      Wide<BFloat16, 8> v29[1][2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 16384 + 8192 + ((r * 2 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v29[r][c]);
        }
      }
      float v30[1];
      float parts30[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts30[0][r] = Sum<float>::nothing();
        parts30[1][r] = Sum<float>::nothing();
      }
      float v32[1];
      float parts32[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts32[0][r] = Sum<float>::nothing();
        parts32[1][r] = Sum<float>::nothing();
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            parts30[k % 2][r] = Sum<float>::of(parts30[k % 2][r], element_of(v27[r][c], k));
            parts32[k % 2][r] = fmaf(element_of(v27[r][c], k), element_of(v29[r][c], k), parts32[k % 2][r]);
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v30[r] = Sum<float>::of(parts30[0][r], parts30[1][r]);
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v32[r] = Sum<float>::of(parts32[0][r], parts32[1][r]);
      }
      float together30[2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        together30[0 + r] = v30[r];
        together30[1 + r] = v32[r];
      }
      combine_columns<Sum<float>, 8, 32, 1, 2, true>(together30, nullptr);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v30[r] = together30[0 + r];
        v32[r] = together30[1 + r];
      }
      keep_packed(v27);
      keep_packed(v29);
      keep_packed(v27);
      keep_packed(v29);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int col = (c * 32 + tc) * 8;
          float x[8];
          const int first = col;
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = first + k;
            x[k] = ((element_of(v29[r][c], k) * v30[r]) + (element_of(v27[r][c], k) * v32[r]));
          }
          store_wide<4, 8>((out2 + (v19 * s0_0) + row * s0_0 + col), x);
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a15[c][k] = Sum<float>::of(a15[c][k], element_of(v29[r][c], k));
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a16[c][k] = fmaf(element_of(v27[r][c], k), element_of(v29[r][c], k), a16[c][k]);
          }
        }
      }
      stage = stage == 3 ? 0 : stage + 1;
    }
  }
  combine_rows_for_first<Sum<float>, 8, 32, 16>(ring, &a15[0][0], &a16[0][0]);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v15[c][k] = Sum<float>::of(v15[c][k], a15[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v16[c][k] = Sum<float>::of(v16[c][k], a16[c][k]);
    }
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((out3 + col), v15[c]);
  }
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((out4 + col), v16[c]);
  }
}
// 256 threads, cluster of 1, 65536 bytes shared

