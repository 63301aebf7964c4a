// locked: tile 1 x 40, 1 x 32 threads, vectors of 4
struct Arguments_k_locked {
  int* p_lock;
  float* p_sums;
};
extern "C" __global__ void __launch_bounds__(32) k_locked(const Arguments_k_locked a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  int* const p_lock = a.p_lock;
  float* const p_sums = a.p_sums;
  __syncthreads();
  __threadfence();
  int v5;
   {
    int* const olds = reinterpret_cast<int*>(shared);
    __syncthreads();
    if (threadIdx.x == 0) olds[0] = static_cast<int>(atomicCAS(reinterpret_cast<unsigned int*>(p_lock), static_cast<unsigned int>(0), static_cast<unsigned int>(1)));
    __syncthreads();
    v5 = olds[0];
  }
  __threadfence();
  __syncthreads();
  const bool v6 = v5 == 1;
  bool again7 = v6;
  for (long long v8 = 0; again7; v8 += 1) {
    __syncthreads();
    __threadfence();
    int v9;
     {
      int* const olds = reinterpret_cast<int*>(shared);
      __syncthreads();
      if (threadIdx.x == 0) olds[0] = static_cast<int>(atomicCAS(reinterpret_cast<unsigned int*>(p_lock), static_cast<unsigned int>(0), static_cast<unsigned int>(1)));
      __syncthreads();
      v9 = olds[0];
    }
    __threadfence();
    __syncthreads();
    const bool v10 = v9 == 1;
    const bool further = v10;
    again7 = further;
  }
  float v13[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4, true>((p_sums + col), v13[c], 40 - col, 0.0f);
  }
  float v14[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      const float v11 = static_cast<float>(static_cast<long long>(col));
      v14[c][k] = v13[c][k] + v11;
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_sums + col), v14[c], 40 - col);
  }
  __syncthreads();
  __threadfence();
  if (threadIdx.x == 0) atomicExch(reinterpret_cast<unsigned int*>(p_lock), static_cast<unsigned int>(0));
  __threadfence();
  __syncthreads();
}
// 32 threads, cluster of 1, 16 bytes shared

