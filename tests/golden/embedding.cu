// gather: tile 1 x 512, 1 x 128 threads, vectors of 4
struct Arguments_k_gather {
  long long n1;
  long long n2;
  float* x0;
  long long* x1;
  float* p_y;
  long long n6;
  long long n7;
  long long n8;
};
extern "C" __global__ void __launch_bounds__(128) k_gather(const Arguments_k_gather a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 128, tc = static_cast<int>(threadIdx.x) % 128;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  float* const x0 = lasting(a.x0);
  long long* const x1 = lasting(a.x1);
  float* const p_y = passing(a.p_y);
  const long long n6 = static_cast<long long>(a.n6);
  const long long n7 = static_cast<long long>(a.n7);
  const long long n8 = static_cast<long long>(a.n8);
  const long long v2 = id0;
  const long long v6 = id1;
  const long long v8 = v6 * 512ll;
  const long long v22 = widen(*((x1 + v2)));
  const long long v23 = v22 + n6;
  const bool v24 = v22 < 0ll;
  const long long v25 = v24 ? v23 : v22;
  const bool v26 = v25 >= 0ll;
  const bool v27 = v25 < n6;
  const bool v28 = v26 && v27;
  if (threadIdx.x == 0 && !v28) report(failure, 0, v22);
  const long long v30 = v25 * n8;
  float v36[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    load_wide<4, 4, true>((x0 + v30 + v8 + col), v36[c], v28 ? bounded((n2 + (-v8))) - col : 0, 0.0f);
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4, true>((p_y + ((v2 * n8) + v8) + col), v36[c], bounded((n2 + (-v8))) - col);
  }
}
// 128 threads, cluster of 1, 0 bytes shared

