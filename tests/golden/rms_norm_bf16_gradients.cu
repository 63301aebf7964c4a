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
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long p_instances = static_cast<long long>(a.p_instances);
  const long long p_splits = static_cast<long long>(a.p_splits);
  const long long part_elements = static_cast<long long>(a.part_elements);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v14 = id0;
  Wide<BFloat16, 8> v20[3];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    load_wide<8, 8>(steady((in2 + col)), v20[c]);
  }
  // the user's line
  float v23[3][8];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v23[c][k] = 0.0f;
    }
  }
  float a23[3][8];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      a23[c][k] = Sum<float>::nothing();
    }
  }
   {
    // Fetched 2 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = v14 + s * p_splits;
      if (later < p_instances) {
        const long long v22 = later;
        const long long v26 = v22 * 8ll;
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 3; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v26 * s0_0) + row * s0_0 + col), 8);
          }
        }
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 3; ++c) {
            const int col = (c * 32 + tc) * 8;
            copy_ahead<8, 8>(ring + s * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v26 * s1_0) + row * s1_0 + col), 8);
          }
        }
      }
      close_copies();
    }
    for (long long v22 = v14; v22 < p_instances; v22 += p_splits) {
      wait_for_copies<1>();
       {
        const long long later = v22 + 2 * p_splits;
        if (later < p_instances) {
          const long long v22 = later;
          const long long v26 = v22 * 8ll;
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 2 : stage - 1) * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v26 * s0_0) + row * s0_0 + col), 8);
            }
          }
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const int row = r * 8 + tr;
            #pragma unroll
            for (int c = 0; c < 3; ++c) {
              const int col = (c * 32 + tc) * 8;
              copy_ahead<8, 8>(ring + (stage < 1 ? stage + 2 : stage - 1) * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16, (in1 + (v26 * s1_0) + row * s1_0 + col), 8);
            }
          }
        }
        close_copies();
      }
      const long long v26 = v22 * 8ll;
      Wide<BFloat16, 8> v34[1][3];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 24576 + 0 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v34[r][c]);
        }
      }
      Wide<BFloat16, 8> v42[1][3];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v42[r][c]);
        }
      }
      float v45[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            const float v44 = element_of(v42[r][c], k) * element_of(v20[c], k);
            v45[r][c][k] = v44 * element_of(v34[r][c], k);
          }
        }
      }
      float v37[1];
      float parts37[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts37[0][r] = Sum<float>::nothing();
        parts37[1][r] = Sum<float>::nothing();
      }
      float v46[1];
      float parts46[2][1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        parts46[0][r] = Sum<float>::nothing();
        parts46[1][r] = Sum<float>::nothing();
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            parts37[k % 2][r] = fmaf((element_of(v34[r][c], k) * c0), (element_of(v34[r][c], k) * c0), parts37[k % 2][r]);
            parts46[k % 2][r] = Sum<float>::of(parts46[k % 2][r], v45[r][c][k]);
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v37[r] = Sum<float>::of(parts37[0][r], parts37[1][r]);
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v46[r] = Sum<float>::of(parts46[0][r], parts46[1][r]);
      }
      float together37[2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        together37[0 + r] = v37[r];
        together37[1 + r] = v46[r];
      }
      combine_columns<Sum<float>, 8, 32, 1, 2, true>(together37, nullptr);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v37[r] = together37[0 + r];
        v46[r] = together37[1 + r];
      }
      keep_packed(v20);
      keep_packed(v34);
      keep_packed(v42);
      float v50[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v47 = v37[r] * c1;
        const float v48 = v47 + c2;
        const float v49 = rsqrtf(v48);
        v50[r] = v49 * c0;
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a23[c][k] = fmaf(element_of(v42[r][c], k), (element_of(v34[r][c], k) * v50[r]), a23[c][k]);
          }
        }
      }
      float v59[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v56 = v46[r] * c1;
        const float v57 = v50[r] * v56;
        const float v58 = v50[r] * v57;
        v59[r] = -v58;
      }
      float v62[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            const float v61 = fmaf(element_of(v34[r][c], k), v59[r], (element_of(v42[r][c], k) * element_of(v20[c], k)));
            v62[r][c][k] = v50[r] * v61;
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
            x[k] = v62[r][c][k];
          }
          store_wide<8, 8>((out4 + (v26 * s4_0) + row * s4_0 + col), x);
        }
      }
      stage = stage == 2 ? 0 : stage + 1;
    }
  }
  combine_rows_for_first<Sum<float>, 8, 32, 24>(ring, &a23[0][0]);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v23[c][k] = Sum<float>::of(v23[c][k], a23[c][k]);
    }
  }
  const long long v70 = v14 * part_elements;
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((part5 + v70 + col), v23[c]);
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

