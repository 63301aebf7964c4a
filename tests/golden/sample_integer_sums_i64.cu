// sums_by_index: tile 8 x 24, 8 x 16 threads, vectors of 2
struct Arguments_k_sums_by_index {
  long long* in0;
  long long* in1;
  long long* out2;
  long long n0;
};
extern "C" __global__ void __launch_bounds__(128) k_sums_by_index(const Arguments_k_sums_by_index a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 16, tc = static_cast<int>(threadIdx.x) % 16;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const in0 = lasting(a.in0);
  long long* const in1 = lasting(a.in1);
  long long* const out2 = a.out2;
  const long long n0 = static_cast<long long>(a.n0);
  const long long v5 = id0;
  const long long v7 = v5 * 8ll;
  long long v20[1][1][2];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 16 + tc) * 2;
      load_wide<2, 2, true>((in1 + (v7 * 24ll) + row * 24ll + col), v20[r][c], row < bounded((n0 + (-v7))) ? 24 - col : 0, 0ll);
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
      for (int k = 0; k < 2; ++k) {
        const int col = (c * 16 + tc) * 2 + k;
        if ((row < bounded((n0 + (-v7)))) && col < 24) atomicAdd(reinterpret_cast<unsigned long long*>((out2 + v23[r] + col)), static_cast<unsigned long long>(v20[r][c][k]));
      }
    }
  }
}
// 128 threads, cluster of 1, 0 bytes shared

