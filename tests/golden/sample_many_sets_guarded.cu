// scaled: tile 1 x 512, 1 x 64 threads, vectors of 8
struct Arguments_k_scaled {
  BFloat16* in0;
  float* out1;
  long long n0;
  double c0;
};
struct Set_k_scaled {
  long long first_instance;
  long long grid[3];
  Arguments_k_scaled a;
};
extern "C" __global__ void __launch_bounds__(64) k_scaled(const Set_k_scaled* sets, int count, Failure* failure, const Failure* guards, int guard_count) {
  const bool stopped = any_failed(guards, guard_count);
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  // The last set that begins at or before this instance.
  const long long place = blockIdx.x;
  int set = 0;
  for (int low = 0, high = count; low < high;) {
    const int middle = (low + high) / 2;
    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;
    else high = middle;
  }
  const auto& a = sets[set].a;
  const long long instance = place - sets[set].first_instance;
  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];
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

