// sums_by_index: tile 8 x 24, 8 x 8 threads, vectors of 4
struct Arguments_k_sums_by_index {
  long long* in0;
  float* in1;
  float* out2;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(64) k_sums_by_index(const Arguments_k_sums_by_index a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 8, tc = static_cast<int>(threadIdx.x) % 8;
  (void)tr, (void)tc, (void)failure;
  const unsigned int walkers = gridDim.x < 256u ? gridDim.x : 256u;
  if (blockIdx.x >= walkers) return;
  const unsigned int owners = walkers * blockDim.x, owner = blockIdx.x * blockDim.x + threadIdx.x;
  for (long long instance = 0; instance < g0 * g1 * g2; ++instance) {
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const out2 = a.out2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long v5 = id0;
  const long long v7 = v5 * 8ll;
  float v20[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 8 + tc) * 4;
      load_wide<4, 4, true>((in1 + (v7 * 24ll) + row * 24ll + col), v20[r][c], row < bounded((n0 + (-v7))) ? 24 - col : 0, 0.0f);
    }
  }
  long long v22[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v22[r] = (row < bounded((n0 + (-v7)))) ? widen(*((in0 + v7 + row))) : 0ll;
  }
  long long v23[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v23[r] = v22[r] * 24ll;
  }
  for (int first = 0; first < 192; first += 192) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 1536);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 8 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 8 + tc) * 4 + k;
          const int i = (row * 24 + col) - first;
          if (i >= 0 && i < 192 && col < 24) {
            places[i] = (row < bounded((n0 + (-v7)))) ? (out2 + v23[r] + col) : nullptr;
            values[i] = v20[r][c][k];
          }
        }
      }
    }
    __syncthreads();
    write_in_order<true>(places, values, 192, owners, owner);
  }
  }
}
// 64 threads, cluster of 1, 3072 bytes shared

