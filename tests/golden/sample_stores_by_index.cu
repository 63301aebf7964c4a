// stores_by_index: tile 1 x 1000, 1 x 64 threads, vectors of 2
struct Arguments_k_stores_by_index {
  long long* in0;
  float* out1;
};
extern "C" __global__ void __launch_bounds__(64) k_stores_by_index(const Arguments_k_stores_by_index a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  long long v5[8][2];
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 64 + tc) * 2;
    load_wide<2, 2, true>((in0 + col), v5[c], 1000 - col, 0ll);
  }
  float v3[8][2];
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int col = (c * 64 + tc) * 2 + k;
      v3[c][k] = static_cast<float>(static_cast<long long>(col));
    }
  }
  for (int first = 0; first < 1000; first += 1000) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8000);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      #pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int col = (c * 64 + tc) * 2 + k;
        const int i = col - first;
        if (i >= 0 && i < 1000 && col < 1000) {
          places[i] = (out1 + v5[c][k]);
          values[i] = v3[c][k];
        }
      }
    }
    __syncthreads();
    write_in_order<false>(places, values, 1000, 64, threadIdx.x);
  }
}
// 64 threads, cluster of 1, 16000 bytes shared

