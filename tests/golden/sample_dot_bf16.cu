// matmul: tile 16 x 32, 16 x 32 threads, vectors of 1
struct Arguments_k_matmul {
  BFloat16* in0;
  BFloat16* in1;
  float* out2;
  long long n0;
  long long n1;
  long long n2;
};
extern "C" __global__ void __launch_bounds__(512) k_matmul(const Arguments_k_matmul a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  const long long v9 = id0;
  const long long v10 = v9 * 16ll;
  const long long v15 = id1;
  const long long v16 = v15 * 32ll;
  float v25[1][1][1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        v25[r][c][k] = 0.0f;
      }
    }
  }
  for (long long v24 = 0ll; v24 < n2; v24 += 8ll) {
    const long long v26 = n2 - v24;
    float v46[1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 512 + static_cast<int>(threadIdx.x);
      v46[c] = ((e / 32) < bounded(difference(v26, 0ll)) && (e % 32) < bounded((n1 + (-v16)))) && e < 256 ? widen(*((in1 + ((v24 * n1) + v16) + (e / 32) * n1 + (e % 32)))) : 0.0f;
    }
    float v53[1];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 512 + static_cast<int>(threadIdx.x);
      v53[c] = ((e / 8) < bounded((n0 + (-v10))) && (e % 8) < bounded(difference(v26, 0ll))) && e < 128 ? widen(*((in0 + ((v10 * n2) + v24) + (e / 8) * n2 + (e % 8)))) : 0.0f;
    }
    float v54[1][1][1];
     {
      float* const a = reinterpret_cast<float*>(shared);
      float* const b = a + 128;
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int e = c * 512 + static_cast<int>(threadIdx.x);
        if (e < 128) a[e] = v53[c];
      }
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int e = c * 512 + static_cast<int>(threadIdx.x);
        if (e < 256) b[e] = v46[c];
      }
      __syncthreads();
      #pragma unroll
      for (int r = 0; r < 1; ++r) {
        const int row = r * 16 + tr;
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          #pragma unroll
          for (int k = 0; k < 1; ++k) {
            const int col = (c * 32 + tc);
             {
              float sum = v25[r][c][k];
              for (int m = 0; m < 8; ++m) sum = fmaf(a[row * 8 + m], b[m * 32 + col], sum);
              v54[r][c][k] = sum;
            }
          }
        }
      }
    }
    float next0[1][1][1];
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          next0[r][c][k] = v54[r][c][k];
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          v25[r][c][k] = next0[r][c][k];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if ((row < bounded((n0 + (-v10))) && col < bounded((n1 + (-v16))))) narrow(static_cast<float>(v25[r][c][k]), *((out2 + ((v10 * n1) + v16) + row * n1 + col)));
      }
    }
  }
}
// 512 threads, cluster of 1, 1536 bytes shared

