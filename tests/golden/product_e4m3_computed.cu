// product: tile 32 x 32, 8 x 4 threads, vectors of 2
struct Arguments_k_product {
  E4M3* in0;
  E4M3* in1;
  float* out2;
  long long n0;
  long long n1;
  long long n2;
};
extern "C" __global__ void __launch_bounds__(32) k_product(const Arguments_k_product a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const tiles = shared + 1024;  // that tensor cores read
  const int tr = static_cast<int>(threadIdx.x) / 4, tc = static_cast<int>(threadIdx.x) % 4;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  E4M3* const in0 = lasting(a.in0);
  E4M3* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  const long long v8 = id0;
  const long long v9 = v8 * 32ll;
  const long long v11 = id1;
  const long long v12 = v11 * 32ll;
  float v19[4][4][2];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      #pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int col = (c * 4 + tc) * 2 + k;
        v19[r][c][k] = 0.0f;
      }
    }
  }
   {
    // Copied 3 iterations ahead.
    __syncthreads();
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 3; ++s) {
      const long long later = 0ll + s * 32ll;
      if (later < n2) {
        const long long v18 = later;
        const int into = s;
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int e = i * 32 + static_cast<int>(threadIdx.x);
           {
            const int col = e / 2;
            const int row = e % 2 * 16;
            copy_ahead<16, 16>(tiles + into * 1024 + 0 + col * 32 + (e % 2 ^ ((col >> 2) & 1)) * 16, (in1 + ((v12 * n2) + v18) + row + col * n2), col < bounded((n1 + (-v12))) ? smaller(16, bounded((n2 + (-v18))) - row) : 0);
          }
        }
      }
      close_copies();
    }
    for (long long v18 = 0ll; v18 < n2; v18 += 32ll) {
      wait_for_copies<2>();
      __syncthreads();
       {
        const long long later = v18 + 3 * 32ll;
        if (later < n2) {
          const long long v18 = later;
          const int into = (stage < 1 ? stage + 3 : stage - 1);
          #pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int e = i * 32 + static_cast<int>(threadIdx.x);
             {
              const int col = e / 2;
              const int row = e % 2 * 16;
              copy_ahead<16, 16>(tiles + into * 1024 + 0 + col * 32 + (e % 2 ^ ((col >> 2) & 1)) * 16, (in1 + ((v12 * n2) + v18) + row + col * n2), col < bounded((n1 + (-v12))) ? smaller(16, bounded((n2 + (-v18))) - row) : 0);
            }
          }
        }
        close_copies();
      }
      float v35[4][4][2];
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int col = (c * 4 + tc) * 2;
          load_wide<2, 2, true>((in0 + ((v9 * n2) + v18) + row * n2 + col), v35[r][c], row < bounded((n0 + (-v9))) ? bounded((n2 + (-v18))) - col : 0, 0.0f);
        }
      }
      float v37[4][4][2];
      #pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = r * 8 + tr;
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          #pragma unroll
          for (int k = 0; k < 2; ++k) {
            const int col = (c * 4 + tc) * 2 + k;
            const float v36 = v35[r][c][k] + v35[r][c][k];
            v37[r][c][k] = rounded<E4M3>(v36);
          }
        }
      }
      __syncthreads();
       {
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
          const int row = r * 8 + tr;
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
              const int col = (c * 4 + tc) * 2 + k;
              narrow(static_cast<float>(v37[r][c][k]), *(reinterpret_cast<E4M3*>(shared + row * 32 + ((col / 16) ^ ((row >> 2) & 1)) * 16 + col % 16 * 1)));
            }
          }
        }
      }
      __syncthreads();
       {
        const int lane = (static_cast<int>(threadIdx.x) & 31);
        unsigned char* const left = shared;
        const int left_at = ((((lane >> 3) & 1) + (tr / 8)) * 8 + (lane & 7)) * 32 + (((lane >> 4) & 1) ^ (((lane & 7) >> 2) & 1)) * 16;
        unsigned char* const right = tiles + stage * 1024 + 0;
        const int right_at = ((((lane >> 4) & 1) + (tc / 4)) * 8 + (lane & 7)) * 32 + (((lane >> 3) & 1) ^ (((lane & 7) >> 2) & 1)) * 16;
        #pragma unroll
        for (int step = 0; step < 1; ++step) {
          Wide<E4M3, 4> a[2][4];
          Wide<E4M3, 4> b[2][4];
          #pragma unroll
          for (int m = 0; m < 2; ++m) {
            read_matrices<false>(left + (left_at ^ (step * 32)) + (m * 2 * 256), a[m]);
          }
          #pragma unroll
          for (int n = 0; n < 2; ++n) {
            read_matrices<false>(right + (right_at ^ (step * 32)) + (n * 2 * 256), b[n]);
          }
          #pragma unroll
          for (int m = 0; m < 2; ++m) {
            #pragma unroll
            for (int n = 0; n < 2; ++n) {
              multiply(v19[m * 2][n * 2 + 0], v19[m * 2 + 1][n * 2 + 0], a[m], b[n]);
              multiply(v19[m * 2][n * 2 + 1], v19[m * 2 + 1][n * 2 + 1], a[m], b[n] + 2);
            }
          }
        }
      }
      stage = stage == 3 ? 0 : stage + 1;
    }
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int col = (c * 4 + tc) * 2;
      if (row < bounded((n0 + (-v9)))) store_wide<2, 2, true>((out2 + ((v9 * n1) + v12) + row * n1 + col), v19[r][c], bounded((n1 + (-v12))) - col);
    }
  }
}
// 32 threads, cluster of 1, 5120 bytes shared

