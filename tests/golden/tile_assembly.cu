#ifndef TEGULA_asm
#define TEGULA_asm
__device__ inline float asm(float x0, float x1) {
  float y;
  asm("fma.rn.f32 %0, %1, %2, %1;" : "=f"(y) : "f"(x0), "f"(x1));
  return y;
}
#endif
// by_assembly: tile 1 x 8, 1 x 32 threads, vectors of 4
struct Arguments_k_by_assembly {
  float* x0;
  float* y0;
};
extern "C" __global__ void __launch_bounds__(32) k_by_assembly(const Arguments_k_by_assembly a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const x0 = lasting(a.x0);
  float* const y0 = passing(a.y0);
  // the user's line
  float v5[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4, true>((x0 + col), v5[c], 8 - col, 0.0f);
  }
  float v7[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      const float v6 = static_cast<float>(static_cast<long long>(col));
      v7[c][k] = asm(v5[c][k], v6);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((y0 + col), v7[c], 8 - col);
  }
}
// 32 threads, cluster of 1, 0 bytes shared

