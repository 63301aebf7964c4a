// add: tile 1 x 512, 1 x 128 threads, vectors of 4
struct Arguments_k_add {
  float* in0;
  float* out1;
  long long n0;
  long long s1_0;
  long long n1;
  long long s0_1;
  double c0;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(128) k_add(const Arguments_k_add a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 128, tc = static_cast<int>(threadIdx.x) % 128;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long s0_1 = static_cast<long long>(a.s0_1);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v6 = id0;
  const long long v7 = remainder_short(v6, tiles1);
  const long long v8 = divided_short(v6, tiles1);
  const long long v11 = v7 * 512ll;
  float v21[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 128 + tc) * 4 + k;
      v21[c][k] = widen(*((in0 + (v8 + (v11 * s0_1)) + col * s0_1)));
    }
  }
  float v22[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 128 + tc) * 4 + k;
      // the user's line
      v22[c][k] = v21[c][k] + c0;
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4>((out1 + ((v8 * s1_0) + v11) + col), v22[c]);
  }
}
// 128 threads, cluster of 1, 0 bytes shared

