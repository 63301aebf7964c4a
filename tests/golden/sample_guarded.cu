// scaled: tile 1 x 512, 1 x 64 threads, vectors of 8
struct Arguments_k_scaled {
  BFloat16* in0;
  float* out1;
  long long n0;
  double c0;
};
extern "C" __global__ void __launch_bounds__(64) k_scaled(const Arguments_k_scaled a, long long g0, long long g1, long long g2, Failure* failure, const Failure* guards, int guard_count) {
  const bool stopped = any_failed(guards, guard_count);
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const float c0 = static_cast<float>(a.c0);
  const long long v5 = id0;
  const long long v7 = v5 * 512ll;
  float v12[1][8];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 8;
    load_wide<8, 8, false>((in0 + v7 + col), v12[c], bounded((n0 + (-v7))) - col, 0.0f);
  }
  if (stopped) return;
  float v13[1][8];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = (c * 64 + tc) * 8 + k;
      v13[c][k] = v12[c][k] * c0;
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 8;
    store_wide<4, 8, true>((out1 + v7 + col), v13[c], bounded((n0 + (-v7))) - col);
  }
}
// 64 threads, cluster of 1, 0 bytes shared

