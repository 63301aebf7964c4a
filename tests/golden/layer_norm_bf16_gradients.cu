// cast_sum_multiply_subtract_multiply_sum_multiply_etc: tile 8 x 768, 8 x 32 threads, vectors of 8
struct Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_97fad9ddc132c315 {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* in2;
  BFloat16* out5;
  float* part6;
  float* part7;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long s5_0;
  long long n1;
  double c0;
  double c1;
  long long p_chunks;
  long long p_instances;
  long long p_splits;
  long long part_elements;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_97fad9ddc132c315(const Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_97fad9ddc132c315 a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = a.in0;
  BFloat16* const in1 = a.in1;
  BFloat16* const in2 = a.in2;
  BFloat16* const out5 = a.out5;
  float* const part6 = a.part6;
  float* const part7 = a.part7;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long s5_0 = static_cast<long long>(a.s5_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
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
      const long long later = v14 + s * p_splits;
      if (later < p_instances) {
        const long long v22 = later;
        const long long v27 = v22 * 8ll;
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
    for (long long v22 = v14; v22 < p_instances; v22 += p_splits) {
      wait_for_copies<1>();
       {
        const long long later = v22 + 2 * p_splits;
        if (later < p_instances) {
          const long long v22 = later;
          const long long v27 = v22 * 8ll;
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
      const long long v27 = v22 * 8ll;
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
      Wide<BFloat16, 8> v41[1][3];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int col = (c * 32 + tc) * 8;
          load_wide<8, 8>(reinterpret_cast<const BFloat16*>(ring + stage * 24576 + 12288 + ((r * 3 + c) * 256 + static_cast<int>(threadIdx.x)) * 16), v41[r][c]);
        }
      }
      float v36[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v36[r] = Sum<float>::nothing();
      }
      float v44[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v44[r] = Sum<float>::nothing();
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            v36[r] = Sum<float>::of(v36[r], element_of(v35[r][c], k));
            v44[r] = Sum<float>::of(v44[r], (element_of(v41[r][c], k) * element_of(v20[c], k)));
          }
        }
      }
      float together36[2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        together36[0 + r] = v36[r];
        together36[1 + r] = v44[r];
      }
      combine_columns<Sum<float>, 8, 32, 1, 2, true>(together36, nullptr);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v36[r] = together36[0 + r];
        v44[r] = together36[1 + r];
      }
      keep_packed(v20);
      keep_packed(v35);
      keep_packed(v41);
      float v45[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v45[r] = v36[r] * c0;
      }
      float v50[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            v50[r][c][k] = (element_of(v41[r][c], k) * element_of(v20[c], k)) * (element_of(v35[r][c], k) - v45[r]);
          }
        }
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a23[c][k] = Sum<float>::of(a23[c][k], element_of(v41[r][c], k));
          }
        }
      }
      float v49[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v49[r] = Sum<float>::nothing();
      }
      float v51[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v51[r] = Sum<float>::nothing();
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            v49[r] = Sum<float>::of(v49[r], ((element_of(v35[r][c], k) - v45[r]) * (element_of(v35[r][c], k) - v45[r])));
            v51[r] = Sum<float>::of(v51[r], v50[r][c][k]);
          }
        }
      }
      float together49[2];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        together49[0 + r] = v49[r];
        together49[1 + r] = v51[r];
      }
      combine_columns<Sum<float>, 8, 32, 1, 2, true>(together49, nullptr);
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v49[r] = together49[0 + r];
        v51[r] = together49[1 + r];
      }
      keep_packed(v20);
      keep_packed(v35);
      keep_packed(v41);
      float v56[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v54 = v49[r] * c0;
        const float v55 = v54 + c1;
        v56[r] = rsqrtf(v55);
      }
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            a24[c][k] = Sum<float>::of(a24[c][k], (element_of(v41[r][c], k) * ((element_of(v35[r][c], k) - v45[r]) * v56[r])));
          }
        }
      }
      float v62[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        v62[r] = v44[r] * c0;
      }
      float v67[1];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        const float v65 = v51[r] * c0;
        const float v66 = v56[r] * v65;
        v67[r] = v56[r] * v66;
      }
      float v71[1][3][8];
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = (c * 32 + tc) * 8 + k;
            const float v64 = (element_of(v41[r][c], k) * element_of(v20[c], k)) - v62[r];
            const float v69 = (element_of(v35[r][c], k) - v45[r]) * v67[r];
            const float v70 = v64 - v69;
            v71[r][c][k] = v56[r] * v70;
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
            x[k] = v71[r][c][k];
          }
          store_wide<8, 8>((out5 + (v27 * s5_0) + row * s5_0 + col), x);
        }
      }
      stage = stage == 2 ? 0 : stage + 1;
    }
  }
  combine_rows<Sum<float>, 8, 32, 24, 24, true>(&a23[0][0], ring);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v23[c][k] = Sum<float>::of(v23[c][k], a23[c][k]);
    }
  }
  combine_rows<Sum<float>, 8, 32, 24, 24, true>(&a24[0][0], ring);
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 32 + tc) * 8 + k;
      v24[c][k] = Sum<float>::of(v24[c][k], a24[c][k]);
    }
  }
  const long long v80 = v14 * part_elements;
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((part6 + v80 + col), v23[c]);
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 32 + tc) * 8;
    if (tr == 0) store_wide<4, 8>((part7 + v80 + col), v24[c]);
  }
}
// 256 threads, cluster of 1, 73728 bytes shared

// cast_sum_multiply_subtract_multiply_sum_multiply_etc: tile 132 x 16, 64 x 4 threads, vectors of 4
struct Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_8ae1bd9e5fdc539b {
  BFloat16* out3;
  BFloat16* out4;
  float* part6;
  float* part7;
  long long n0;
  long long s6_0;
  long long s7_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(256) k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_8ae1bd9e5fdc539b(const Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_8ae1bd9e5fdc539b a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 4, tc = static_cast<int>(threadIdx.x) % 4;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  BFloat16* const out3 = a.out3;
  BFloat16* const out4 = a.out4;
  float* const part6 = a.part6;
  float* const part7 = a.part7;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s6_0 = static_cast<long long>(a.s6_0);
  const long long s7_0 = static_cast<long long>(a.s7_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v6 = id0;
  const long long v9 = v6 * 16ll;
  float v19[3][1][4];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 64 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 4 + tc) * 4;
      load_wide<4, 4, true>((part6 + v9 + row * s6_0 + col), v19[r][c], row < 132 ? 4 : 0, 0.0f);
    }
  }
  float v25[3][1][4];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 64 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 4 + tc) * 4;
      load_wide<4, 4, true>((part7 + v9 + row * s7_0 + col), v25[r][c], row < 132 ? 4 : 0, 0.0f);
    }
  }
  float v20[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 4 + tc) * 4 + k;
      v20[c][k] = Sum<float>::nothing();
    }
  }
  float v26[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 4 + tc) * 4 + k;
      v26[c][k] = Sum<float>::nothing();
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
        if (row < 132) v20[c][k] = Sum<float>::of(v20[c][k], v19[r][c][k]);
        if (row < 132) v26[c][k] = Sum<float>::of(v26[c][k], v25[r][c][k]);
      }
    }
  }
  combine_rows<Sum<float>, 64, 4, 4>(&v20[0][0], shared);
  combine_rows<Sum<float>, 64, 4, 4>(&v26[0][0], shared);
  // the user's line
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 4 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v20[c][k];
    }
    if (tr == 0) store_wide<4, 4>((out3 + v9 + col), x);
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 4 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v26[c][k];
    }
    if (tr == 0) store_wide<4, 4>((out4 + v9 + col), x);
  }
}
// 256 threads, cluster of 1, 512 bytes shared

