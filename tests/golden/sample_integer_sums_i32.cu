// sums_by_index: tile 8 x 24, 8 x 8 threads, vectors of 4
struct Arguments_k_sums_by_index {
  long long* in0;
  int* in1;
  int* out2;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(64) k_sums_by_index(const Arguments_k_sums_by_index a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 8, tc = static_cast<int>(threadIdx.x) % 8;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const in0 = lasting(a.in0);
  int* const in1 = lasting(a.in1);
  int* const out2 = a.out2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long v5 = id0;
  const long long v7 = v5 * 8ll;
  int v20[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 8 + tc) * 4;
      load_wide<4, 4, true>((in1 + (v7 * 24ll) + row * 24ll + col), v20[r][c], row < bounded((n0 + (-v7))) ? 24 - col : 0, 0);
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
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 8 + tc) * 4 + k;
        if ((row < bounded((n0 + (-v7)))) && col < 24) atomicAdd(reinterpret_cast<unsigned int*>((out2 + v23[r] + col)), static_cast<unsigned int>(v20[r][c][k]));
      }
    }
  }
}
// 64 threads, cluster of 1, 0 bytes shared

