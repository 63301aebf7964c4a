// carried_lines: tile 1 x 512, 1 x 128 threads, vectors of 4
struct Arguments_k_carried_lines {
  float* in0;
  float* out1;
  long long n0;
  long long s0;
  long long n1;
};
extern "C" __global__ void __launch_bounds__(128) k_carried_lines(const Arguments_k_carried_lines a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const ring = shared + 0;  // what is fetched ahead
  const int tr = static_cast<int>(threadIdx.x) / 128, tc = static_cast<int>(threadIdx.x) % 128;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0 = static_cast<long long>(a.s0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long v9 = n0 - 1ll;
  const long long v10 = v9 * s0;
   {
    // Fetched 4 or 5 iterations ahead.
    int stage = 0;
     {
      const long long later = 0ll;
      if (later < n0) {
        const long long v18 = later;
        const long long v19 = s0 * v18;
        const long long v21 = s0 * v18;
        const long long v23 = s0 * v18;
        const long long v26 = 3ll * v18;
        const long long v27 = 7ll + v26;
        const float v28 = static_cast<float>(v27);
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 128 + tc) * 4;
          copy_ahead<4, 4>(ring + 0 * 4096 + 0 + (c * 128 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v10 + (-v21)) + col), bounded(n1) - col);
        }
      }
      close_copies();
    }
    #pragma unroll 1
    for (int s = 0; s < 4; ++s) {
      const long long later = 0ll + s * 1ll;
      if (later < n0) {
        const long long v18 = later;
        const long long v19 = s0 * v18;
        const long long v21 = s0 * v18;
        const long long v23 = s0 * v18;
        const long long v26 = 3ll * v18;
        const long long v27 = 7ll + v26;
        const float v28 = static_cast<float>(v27);
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 128 + tc) * 4;
          copy_ahead<4, 4>(ring + s * 4096 + 2048 + (c * 128 + static_cast<int>(threadIdx.x)) * 16, (in0 + v19 + col), bounded(n1) - col);
        }
      }
      close_copies();
      const long long after = later + 1ll;
      if (after < n0) {
        const long long v18 = after;
        const long long v19 = s0 * v18;
        const long long v21 = s0 * v18;
        const long long v23 = s0 * v18;
        const long long v26 = 3ll * v18;
        const long long v27 = 7ll + v26;
        const float v28 = static_cast<float>(v27);
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int col = (c * 128 + tc) * 4;
          copy_ahead<4, 4>(ring + (s + 1) * 4096 + 0 + (c * 128 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v10 + (-v21)) + col), bounded(n1) - col);
        }
      }
      close_copies();
    }
    for (long long v18 = 0ll; v18 < n0; v18 += 1ll) {
      wait_for_copies<7>();
       {
        const long long later = v18 + 4 * 1ll;
        if (later < n0) {
          const long long v18 = later;
          const long long v19 = s0 * v18;
          const long long v21 = s0 * v18;
          const long long v23 = s0 * v18;
          const long long v26 = 3ll * v18;
          const long long v27 = 7ll + v26;
          const float v28 = static_cast<float>(v27);
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            const int col = (c * 128 + tc) * 4;
            copy_ahead<4, 4>(ring + (stage < 2 ? stage + 4 : stage - 2) * 4096 + 2048 + (c * 128 + static_cast<int>(threadIdx.x)) * 16, (in0 + v19 + col), bounded(n1) - col);
          }
        }
        close_copies();
      }
       {
        const long long later = v18 + 5 * 1ll;
        if (later < n0) {
          const long long v18 = later;
          const long long v19 = s0 * v18;
          const long long v21 = s0 * v18;
          const long long v23 = s0 * v18;
          const long long v26 = 3ll * v18;
          const long long v27 = 7ll + v26;
          const float v28 = static_cast<float>(v27);
          #pragma unroll
          for (int c = 0; c < 1; ++c) {
            const int col = (c * 128 + tc) * 4;
            copy_ahead<4, 4>(ring + (stage < 1 ? stage + 5 : stage - 1) * 4096 + 0 + (c * 128 + static_cast<int>(threadIdx.x)) * 16, (in0 + (v10 + (-v21)) + col), bounded(n1) - col);
          }
        }
        close_copies();
      }
      const long long v19 = s0 * v18;
      const long long v21 = s0 * v18;
      const long long v23 = s0 * v18;
      const long long v26 = 3ll * v18;
      const long long v27 = 7ll + v26;
      const float v28 = static_cast<float>(v27);
      float v29[1][4];
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int col = (c * 128 + tc) * 4;
        load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 4096 + 0 + (c * 128 + static_cast<int>(threadIdx.x)) * 16), v29[c]);
      }
      float v30[1][4];
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int col = (c * 128 + tc) * 4;
        load_wide<4, 4>(reinterpret_cast<const float*>(ring + stage * 4096 + 2048 + (c * 128 + static_cast<int>(threadIdx.x)) * 16), v30[c]);
      }
      float v32[1][4];
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 128 + tc) * 4 + k;
          const float v31 = v30[c][k] + v29[c][k];
          v32[c][k] = v31 + v28;
        }
      }
      __syncthreads();
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        const int col = (c * 128 + tc) * 4;
        store_wide<4, 4, true>((out1 + v23 + col), v32[c], bounded(n1) - col);
      }
      stage = stage == 5 ? 0 : stage + 1;
    }
  }
  const long long v35 = larger(n0, 0ll);
  const long long v37 = 3ll * v35;
  const long long v38 = 7ll + v37;
  const float v39 = static_cast<float>(v38);
  const long long v42 = n0 * s0;
  __syncthreads();
  if (threadIdx.x == 0) narrow(static_cast<float>(v39), *((out1 + v42)));
}
// 128 threads, cluster of 1, 24576 bytes shared

