// multiply_sum: tile 1 x 4096, 1 x 256 threads, vectors of 4
struct Arguments_k_multiply_sum {
  float* in0;
  float* part2;
  long long n0;
  double c0;
  long long p_chunks;
  long long p_instances;
  long long p_share;
  long long part_elements;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(256) k_multiply_sum(const Arguments_k_multiply_sum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  unsigned char* const ring = shared + 128;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 256, tc = static_cast<int>(threadIdx.x) % 256;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const part2 = passing(a.part2);
  const long long n0 = static_cast<long long>(a.n0);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long p_instances = static_cast<long long>(a.p_instances);
  const long long p_share = static_cast<long long>(a.p_share);
  const long long part_elements = static_cast<long long>(a.part_elements);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long v7 = id0;
  const long long v8 = v7 * p_share;
  const long long v9 = v8 + p_share;
  const long long v10 = smaller(v9, p_chunks);
  // the user's line
  double v15;
  v15 = 0.0;
  double a15;
  a15 = Sum<double>::nothing();
   {
    // Fetched 2 iterations ahead.
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = v8 + s * 1ll;
      if (later < v10) {
        const long long v14 = later;
        const long long v18 = v14 * 4096ll;
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int col = (c * 256 + tc) * 4;
          copy_ahead<4, 4>(ring + s * 16384 + 0 + (c * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + v18 + col), 4);
        }
      }
      close_copies();
    }
    for (long long v14 = v8; v14 < v10; v14 += 1ll) {
       {
        const long long later = v14 + 2 * 1ll;
        if (later < v10) {
          const long long v14 = later;
          const long long v18 = v14 * 4096ll;
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int col = (c * 256 + tc) * 4;
            copy_ahead<4, 4>(ring + (stage < 1 ? stage + 2 : stage - 1) * 16384 + 0 + (c * 256 + static_cast<int>(threadIdx.x)) * 16, (in0 + v18 + col), 4);
          }
        }
        close_copies();
      }
      wait_for_copies<2>();
      const long long v18 = v14 * 4096ll;
      float v22[4][4];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int col = (c * 256 + tc) * 4;
        load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 16384 + 0 + (c * 256 + static_cast<int>(threadIdx.x)) * 16), v22[c]);
      }
      float t15;
      t15 = Sum<float>::nothing();
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 256 + tc) * 4 + k;
          t15 = fmaf(v22[c][k], c0, t15);
        }
      }
      a15 += t15;
      stage = stage == 2 ? 0 : stage + 1;
    }
  }
  combine_columns<Sum<double>, 1, 256, 1, 1, false>(&a15, shared + parts);
  v15 = Sum<double>::of(v15, a15);
  const float v28 = static_cast<float>(v15);
  const long long v29 = v7 * part_elements;
  float* const v30 = part2 + v29;
  const float v31 = v28;
  if (threadIdx.x == 0) narrow(static_cast<float>(v31), *(v30));
}
// 256 threads, cluster of 1, 49280 bytes shared

// multiply_sum: tile 1 x 256, 1 x 64 threads, vectors of 4
struct Arguments_k_multiply_sum {
  float* out1;
  float* part2;
  long long n0;
  long long p_chunks;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(64) k_multiply_sum(const Arguments_k_multiply_sum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const out1 = passing(a.out1);
  float* const part2 = lasting(a.part2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  float v5[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>(steady((part2 + col)), v5[c]);
  }
  float v6;
  v6 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v6 = Sum<float>::of(v6, v5[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v6, shared + parts);
  const float v7 = v6;
  if (threadIdx.x == 0) narrow(static_cast<float>(v7), *(out1));
}
// 64 threads, cluster of 1, 16 bytes shared

