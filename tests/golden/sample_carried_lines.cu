// carried_lines: tile 1 x 512, 1 x 512 threads, vectors of 1
struct Arguments_k_carried_lines {
  float* in0;
  float* out1;
  long long n0;
  long long s0;
  long long n1;
};
extern "C" __global__ void __launch_bounds__(512) k_carried_lines(const Arguments_k_carried_lines a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 512, tc = static_cast<int>(threadIdx.x) % 512;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const out1 = a.out1;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0 = static_cast<long long>(a.s0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long v9 = n0 - 1ll;
  const long long v10 = v9 * s0;
  float* v19[1][1];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 1; ++k) {
      const int col = (c * 512 + tc);
      v19[c][k] = (in0 + col);
    }
  }
  float* v20[1][1];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 1; ++k) {
      const int col = (c * 512 + tc);
      v20[c][k] = (in0 + v10 + col);
    }
  }
  float* v21[1][1];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 1; ++k) {
      const int col = (c * 512 + tc);
      v21[c][k] = (out1 + col);
    }
  }
  long long v22;
  v22 = 7ll;
  for (long long v18 = 0ll; v18 < n0; v18 += 1ll) {
    const float v23 = static_cast<float>(v22);
    __syncthreads();
    float v24[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        v24[c][k] = (col < bounded(n1)) ? widen(*(v20[c][k])) : 0.0f;
      }
    }
    float v25[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        v25[c][k] = (col < bounded(n1)) ? widen(*(v19[c][k])) : 0.0f;
      }
    }
    float v27[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        const float v26 = v25[c][k] + v24[c][k];
        v27[c][k] = v26 + v23;
      }
    }
    __syncthreads();
    for (int first = 0; first < 512; first += 512) {
      float** const places = reinterpret_cast<float**>(shared);
      float* const values = reinterpret_cast<float*>(shared + 4096);
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 512 + tc);
          const int i = col - first;
          if (i >= 0 && i < 512) {
            places[i] = (col < bounded(n1)) ? v21[c][k] : nullptr;
            values[i] = v27[c][k];
          }
        }
      }
      __syncthreads();
      write_in_order<false>(places, values, 512, 512, threadIdx.x);
    }
    const long long v33 = v22 + 3ll;
    float* next0[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        next0[c][k] = (v19[c][k] + s0);
      }
    }
    float* next1[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        next1[c][k] = (v20[c][k] + (-s0));
      }
    }
    float* next2[1][1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        next2[c][k] = (v21[c][k] + s0);
      }
    }
    long long next3;
    next3 = v33;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        v19[c][k] = next0[c][k];
      }
    }
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        v20[c][k] = next1[c][k];
      }
    }
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 512 + tc);
        v21[c][k] = next2[c][k];
      }
    }
    v22 = next3;
  }
  const float v35 = static_cast<float>(v22);
  const long long v38 = n0 * s0;
  __syncthreads();
  if (threadIdx.x == 0) narrow(static_cast<float>(v35), *((out1 + v38)));
}
// 512 threads, cluster of 1, 8192 bytes shared

