// cast_multiply_multiply_sum_multiply_add_rsqrt_etc: tile 8 x 768, 8 x 32 threads, vectors of 8
struct Arguments_k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* in2;
  BFloat16* out4;
  float* part5;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long s4_0;
  long long n1;
  double c0;
  double c1;
  double c2;
  double c3;
  long long p_chunks;
  long long p_instances;
  long long p_splits;
  long long part_elements;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc(const Arguments_k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  BFloat16* const in2 = lasting(a.in2);
  BFloat16* const out4 = passing(a.out4);
  float* const part5 = passing(a.part5);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long s4_0 = static_cast<long long>(a.s4_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const float c2 = static_cast<float>(a.c2);
  const float c3 = static_cast<float>(a.c3);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long p_instances = static_cast<long long>(a.p_instances);
  const long long p_splits = static_cast<long long>(a.p_splits);
  const long long part_elements = static_cast<long long>(a.part_elements);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v15 = id0;
  Wide<BFloat16, 8> v21[3];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    load_wide<8, 8>(steady((in2 + col)), v21[c]);
  }
  // the user's line
  float v24[3][8];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v24[c][k] = 0.0f;
    }
  }
  float a24[3][8];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      a24[c][k] = Sum<float>::nothing();
    }
  }
   {
    // Fetched 2 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = v15 + s * p_splits;
      if (later < p_instances) {
        const long long v23 = later;
        const long long v27 = v23 * 8ll;
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 3; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v27 * s0_0) + row * s0_0 + col), 8);
          }
        }
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 3; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v27 * s1_0) + row * s1_0 + col), 8);
          }
        }
      }
      close_copies();
    }
    for (long long v23 = v15; v23 < p_instances; v23 += p_splits) {
      wait_for_copies<1>();
       {
        const long long later = v23 + 2 * p_splits;
        if (later < p_instances) {
          const long long v23 = later;
          const long long v27 = v23 * 8ll;
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 2 : stage - 1) * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v27 * s0_0) + row * s0_0 + col), 8);
            }
          }
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 2 : stage - 1) * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v27 * s1_0) + row * s1_0 + col), 8);
            }
          }
        }
        close_copies();
      }
      const long long v27 = v23 * 8ll;
      Wide<BFloat16, 8> v35[1][3];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v35[r][c]);
        }
      }
      Wide<BFloat16, 8> v43[1][3];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v43[r][c]);
        }
      }
      float v46[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            const float v45 = element_of(v43[r][c], k) * element_of(v21[c], k);
            v46[r][c][k] = v45 * element_of(v35[r][c], k);
          }
        }
      }
      float v38[1];
      float parts38[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts38[0][r] = Sum<float>::nothing();
        parts38[1][r] = Sum<float>::nothing();
      }
      float v47[1];
      float parts47[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts47[0][r] = Sum<float>::nothing();
        parts47[1][r] = Sum<float>::nothing();
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            parts38[k % 2][r] = fmaf((element_of(v35[r][c], k) * c0), element_of(v35[r][c], k), parts38[k % 2][r]);
            parts47[k % 2][r] = Sum<float>::of(parts47[k % 2][r], v46[r][c][k]);
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v38[r] = Sum<float>::of(parts38[0][r], parts38[1][r]);
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v47[r] = Sum<float>::of(parts47[0][r], parts47[1][r]);
      }
      float together38[2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        together38[0 + r] = v38[r];
        together38[1 + r] = v47[r];
      }
      combine_columns<Sum<float>, 8, 32, 1, 2, true>(together38, nullptr);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v38[r] = together38[0 + r];
        v47[r] = together38[1 + r];
      }
      keep_packed(v21);
      keep_packed(v35);
      keep_packed(v43);
      float v51[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v48 = v38[r] * c1;
        const float v49 = v48 + c2;
        const float v50 = rsqrtf(v49);
        v51[r] = v50 * c3;
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a24[c][k] = fmaf(element_of(v43[r][c], k), (element_of(v35[r][c], k) * v51[r]), a24[c][k]);
          }
        }
      }
      float v60[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v57 = v47[r] * c1;
        const float v58 = v51[r] * v57;
        const float v59 = v51[r] * v58;
        v60[r] = -v59;
      }
      float v63[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            const float v62 = fmaf(element_of(v35[r][c], k), v60[r], (element_of(v43[r][c], k) * element_of(v21[c], k)));
            v63[r][c][k] = v51[r] * v62;
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          float x[8];
          const int first = col;
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = first + k;
            x[k] = v63[r][c][k];
          }
          store_wide<8, 8>((out4 + (v27 * s4_0) + row * s4_0 + col), x);
        }
      }
      stage = stage == 2 ? 0 : stage + 1;
    }
  }
  combine_rows_for_first<Sum<float>, 8, 32, 24>(ring, &a24[0][0]);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v24[c][k] = Sum<float>::of(v24[c][k], a24[c][k]);
    }
  }
  const long long v71 = v15 * part_elements;
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((part5 + v71 + col), v24[c]);
  }
}
// 256 threads, cluster of 1, 73728 bytes shared

// cast_multiply_multiply_sum_multiply_add_rsqrt_etc: tile 132 x 16, 64 x 4 threads, vectors of 4
struct Arguments_k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc {
  BFloat16* out3;
  float* part5;
  long long n0;
  long long s5_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc(const Arguments_k_cast_multiply_multiply_sum_multiply_add_rsqrt_etc a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 4, tc = static_cast<int>(threadIdx.x) % 4;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const out3 = passing(a.out3);
  float* const part5 = lasting(a.part5);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s5_0 = static_cast<long long>(a.s5_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v3 = id0;
  const long long v6 = v3 * 16ll;
  float v16[3][1][4];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 64 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 4 + tc) * 4;
      load_wide<4, 4, true>((part5 + v6 + row * s5_0 + col), v16[r][c], row < 132 ? 4 : 0, 0.0f);
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
  for (int r = 0; r < 3; ++r) {
    const int row = r * 64 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 4 + tc) * 4 + k;
        if (row < 132) v17[c][k] = Sum<float>::of(v17[c][k], v16[r][c][k]);
      }
    }
  }
  combine_rows<Sum<float>, 64, 4, 4>(&v17[0][0], shared);
  // the user's line
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 4 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v17[c][k];
    }
    if (tr == 0) store_wide<4, 4>((out3 + v6 + col), x);
  }
}
// 256 threads, cluster of 1, 512 bytes shared

