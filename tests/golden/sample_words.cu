// words: tile 1 x 1024, 1 x 64 threads, vectors of 4
struct Arguments_k_words {
  int* out0;
  long long n0;
  long long n1;
};
extern "C" __global__ void __launch_bounds__(64) k_words(const Arguments_k_words a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  int* const out0 = passing(a.out0);
  const long long n0 = static_cast<long long>(a.n0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long v4 = id0;
  const long long v6 = v4 * 1024ll;
  int v10[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 64 + tc) * 4;
    philox_words(n0, static_cast<long long>(v6 + col), v10[c] + 0);
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      if (!(col >= bounded((-v6)))) report(failure, 5, static_cast<long long>(v6 + col));
    }
  }
  int v19[4][4];
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      const long long v15 = remainder_of(static_cast<long long>(v6 + col), 3ll);
      const long long v16 = divided(static_cast<long long>(v6 + col), 3ll);
      const long long v17 = v16 + v15;
      const int v18 = static_cast<int>(v17);
      v19[c][k] = v10[c][k] + v18;
    }
  }
  #pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 64 + tc) * 4;
    store_wide<4, 4, true>((out0 + v6 + col), v19[c], bounded((n1 + (-v6))) - col);
  }
}
// 64 threads, cluster of 1, 0 bytes shared

