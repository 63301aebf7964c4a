// attention: tile 16 x 8, 16 x 2 threads, vectors of 4
struct Arguments_k_attention {
  float* in0;
  float* in1;
  float* in2;
  float* out3;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(32) k_attention(const Arguments_k_attention a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 2, tc = static_cast<int>(threadIdx.x) % 2;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const in2 = lasting(a.in2);
  float* const out3 = passing(a.out3);
  const long long n0 = static_cast<long long>(a.n0);
  const long long v8 = id0;
  const long long v9 = v8 * 16ll;
  float v21[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 2 + tc) * 4;
      load_wide<4, 4, true>((in0 + (v9 * 8ll) + row * 8ll + col), v21[r][c], row < bounded((n0 + (-v9))) ? 4 : 0, 0.0f);
    }
  }
  float v30[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    v30[r] = -infinite<float>();
  }
  float v31[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    v31[r] = 0.0f;
  }
  float a31[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    a31[r] = Sum<float>::nothing();
  }
  float v32[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 2 + tc) * 4 + k;
        v32[r][c][k] = 0.0f;
      }
    }
  }
  for (long long v29 = 0ll; v29 < n0; v29 += 8ll) {
    float v42[2];
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int e = c * 32 + static_cast<int>(threadIdx.x);
      v42[c] = ((e / 8) < bounded((n0 + (-v29)))) ? widen(*((in1 + (v29 * 8ll) + (e / 8) * 8ll + (e % 8)))) : 0.0f;
    }
    float v43[2];
     {
      const int thread = static_cast<int>(threadIdx.x);
      const int distance = ((thread & 24) >> 3) ^ (thread & 31) ^ ((thread & 3) << 3);
      const int choice = ((thread & 4) >> 2);
      float other;
      v43[0] = exchanged(v42[0], distance);
      other = exchanged(v42[1], distance);
      if (choice != 0) v43[0] = other;
      v43[1] = exchanged(v42[0], distance ^ 4);
      other = exchanged(v42[1], distance ^ 4);
      if (choice != 0) v43[1] = other;
    }
    float v44[1][1][4];
     {
      float* const a = reinterpret_cast<float*>(shared);
      float* const b = a + 128;
      __syncthreads();
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 2 + tc) * 4 + k;
            a[(row * 8 + col)] = v21[r][c][k];
          }
        }
      }
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int e = c * 32 + static_cast<int>(threadIdx.x);
        b[e] = v43[c];
      }
      __syncthreads();
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 2 + tc) * 4 + k;
             {
              float sum = 0.0f;
              for (int m = 0; m < 8; ++m) sum = fmaf(a[row * 8 + m], b[m * 8 + col], sum);
              v44[r][c][k] = sum;
            }
          }
        }
      }
    }
    float v54[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      v54[r] = Max<float>::nothing();
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 2 + tc) * 4 + k;
          v54[r] = Max<float>::of(v54[r], (((static_cast<long long>(v9 + row) >= static_cast<long long>(v29 + col)) && col < bounded((n0 + (-v29)))) ? v44[r][c][k] : -infinite<float>()));
        }
      }
    }
    combine_columns<Max<float>, 16, 2, 1, 1, true>(v54, nullptr);
    float v55[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      v55[r] = larger(v30[r], v54[r]);
    }
    float v58[1][1][4];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 2 + tc) * 4 + k;
          const float v57 = (((static_cast<long long>(v9 + row) >= static_cast<long long>(v29 + col)) && col < bounded((n0 + (-v29)))) ? v44[r][c][k] : -infinite<float>()) - v55[r];
          v58[r][c][k] = exp2f(v57);
        }
      }
    }
    float t31[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      t31[r] = Sum<float>::nothing();
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 2 + tc) * 4 + k;
          t31[r] = Sum<float>::of(t31[r], v58[r][c][k]);
        }
      }
    }
    float v60[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      const float v59 = v30[r] - v55[r];
      v60[r] = exp2f(v59);
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      a31[r] = fmaf(a31[r], v60[r], t31[r]);
    }
    float v67[2];
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int e = c * 32 + static_cast<int>(threadIdx.x);
      v67[c] = ((e / 8) < bounded((n0 + (-v29)))) ? widen(*((in2 + (v29 * 8ll) + (e / 8) * 8ll + (e % 8)))) : 0.0f;
    }
    float v68[1][1][4];
     {
      float* const a = reinterpret_cast<float*>(shared);
      float* const b = a + 128;
      __syncthreads();
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 2 + tc) * 4 + k;
            a[(row * 8 + col)] = v58[r][c][k];
          }
        }
      }
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int e = c * 32 + static_cast<int>(threadIdx.x);
        b[e] = v67[c];
      }
      __syncthreads();
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int col = (c * 2 + tc) * 4 + k;
             {
              float sum = (v32[r][c][k] * v60[r]);
              for (int m = 0; m < 8; ++m) sum = fmaf(a[row * 8 + m], b[m * 8 + col], sum);
              v68[r][c][k] = sum;
            }
          }
        }
      }
    }
    float next0[1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      next0[r] = v55[r];
    }
    float next2[1][1][4];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 2 + tc) * 4 + k;
          next2[r][c][k] = v68[r][c][k];
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      v30[r] = next0[r];
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 2 + tc) * 4 + k;
          v32[r][c][k] = next2[r][c][k];
        }
      }
    }
  }
  combine_columns<Sum<float>, 16, 2, 1, 1, false>(a31, nullptr);
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    v31[r] = Sum<float>::of(v31[r], a31[r]);
  }
  float v72[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 2 + tc) * 4 + k;
        v72[r][c][k] = quotient(v32[r][c][k], v31[r]);
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 2 + tc) * 4;
      if (row < bounded((n0 + (-v9)))) store_wide<4, 4>((out3 + (v9 * 8ll) + row * 8ll + col), v72[r][c]);
    }
  }
}
// 32 threads, cluster of 1, 768 bytes shared

