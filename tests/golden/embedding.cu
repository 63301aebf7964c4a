// gather: tile 5 x 768, 1 x 192 threads, vectors of 4
struct Arguments_k_gather_25a1621c43a03bad {
  long long n1;
  long long n2;
  float* x0;
  long long* x1;
  float* p_y;
  long long n6;
  long long n7;
  long long n8;
};
extern "C" __global__ void __launch_bounds__(192) k_gather_25a1621c43a03bad(const Arguments_k_gather_25a1621c43a03bad a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 192, tc = static_cast<int>(threadIdx.x) % 192;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  float* const x0 = a.x0;
  long long* const x1 = a.x1;
  float* const p_y = a.p_y;
  const long long n6 = static_cast<long long>(a.n6);
  const long long n7 = static_cast<long long>(a.n7);
  const long long n8 = static_cast<long long>(a.n8);
  const long long v2 = id0;
  const long long v4 = v2 * 5ll;
  const long long v9 = id1;
  const long long v11 = v9 * 768ll;
  long long v25[5];
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    v25[r] = (row < bounded((n1 + (-v4)))) ? widen(*((x1 + v4 + row))) : 0ll;
  }
  long long v28[5];
  bool v31[5];
  bool v33[5];
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    const long long v26 = v25[r] + n6;
    const bool v27 = v25[r] < 0ll;
    v28[r] = v27 ? v26 : v25[r];
    const bool v29 = v28[r] >= 0ll;
    const bool v30 = v28[r] < n6;
    v31[r] = v29 && v30;
    const bool v32 = !(row < bounded((n1 + (-v4))));
    v33[r] = v31[r] || v32;
  }
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    if (tc == 0 && !v33[r]) report(failure, 0, v25[r]);
  }
  long long v35[5];
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    v35[r] = v28[r] * n8;
  }
  float v41[5][1][4];
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 192 + tc) * 4;
      load_wide<4, 4, true>((x0 + v35[r] + v11 + col), v41[r][c], row < bounded((n1 + (-v4))) && v31[r] ? 4 : 0, 0.0f);
    }
  }
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 192 + tc) * 4;
      if (row < bounded((n1 + (-v4)))) store_wide<4, 4>((p_y + ((v4 * n8) + v11) + row * n8 + col), v41[r][c]);
    }
  }
}
// 192 threads, cluster of 1, 0 bytes shared

