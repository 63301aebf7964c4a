// product: tile 128 x 128, 16 x 8 threads, vectors of 2
struct Arguments_k_product {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* out2;
  long long n0;
  long long n1;
  long long n2;
};
extern "C" __global__ void __launch_bounds__(128) k_product(const Arguments_k_product a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const tiles = shared + 0;  // that tensor cores read
  const int tr = static_cast<int>(threadIdx.x) / 64 * 8 + static_cast<int>(threadIdx.x) % 32 / 4, tc = static_cast<int>(threadIdx.x) / 32 % 2 * 4 + static_cast<int>(threadIdx.x) % 4;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  BFloat16* const out2 = passing(a.out2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  const long long v8 = id0;
  const long long v9 = v8 * 128ll;
  const long long v11 = id1;
  const long long v12 = v11 * 128ll;
  float v20[8][8][2];
  #pragma unroll
  for (int r = 0; r < 8; ++r) {
    const int row = r * 16 + tr;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      #pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int col = (c * 8 + tc) * 2 + k;
        v20[r][c][k] = 0.0f;
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
        const long long v19 = later;
        const int into = s;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int e = i * 128 + static_cast<int>(threadIdx.x);
           {
            const int row = e / 4;
            const int col = e % 4 * 8;
            copy_ahead<8, 8>(tiles + into * 16384 + 0 + row * 64 + (e % 4 ^ ((row >> 1) & 3)) * 16, (in0 + ((v9 * n2) + v19) + row * n2 + col), row < bounded((n0 + (-v9))) ? smaller(8, bounded((n2 + (-v19))) - col) : 0);
          }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int e = i * 128 + static_cast<int>(threadIdx.x);
           {
            const int row = e / 16;
            const int col = e % 16 * 8;
            copy_ahead<8, 8>(tiles + into * 16384 + 8192 + row * 256 + (e % 16 ^ (row & 7)) * 16, (in1 + ((v19 * n1) + v12) + row * n1 + col), row < bounded((n2 + (-v19))) ? smaller(8, bounded((n1 + (-v12))) - col) : 0);
          }
        }
      }
      close_copies();
    }
    for (long long v19 = 0ll; v19 < n2; v19 += 32ll) {
      wait_for_copies<2>();
      __syncthreads();
       {
        const long long later = v19 + 3 * 32ll;
        if (later < n2) {
          const long long v19 = later;
          const int into = (stage < 1 ? stage + 3 : stage - 1);
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int e = i * 128 + static_cast<int>(threadIdx.x);
             {
              const int row = e / 4;
              const int col = e % 4 * 8;
              copy_ahead<8, 8>(tiles + into * 16384 + 0 + row * 64 + (e % 4 ^ ((row >> 1) & 3)) * 16, (in0 + ((v9 * n2) + v19) + row * n2 + col), row < bounded((n0 + (-v9))) ? smaller(8, bounded((n2 + (-v19))) - col) : 0);
            }
          }
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int e = i * 128 + static_cast<int>(threadIdx.x);
             {
              const int row = e / 16;
              const int col = e % 16 * 8;
              copy_ahead<8, 8>(tiles + into * 16384 + 8192 + row * 256 + (e % 16 ^ (row & 7)) * 16, (in1 + ((v19 * n1) + v12) + row * n1 + col), row < bounded((n2 + (-v19))) ? smaller(8, bounded((n1 + (-v12))) - col) : 0);
            }
          }
        }
        close_copies();
      }
       {
        const int lane = (static_cast<int>(threadIdx.x) & 31);
        unsigned char* const left = tiles + stage * 16384 + 0;
        const int left_at = ((((lane >> 3) & 1) * 2 + (tr / 8)) * 8 + (lane & 7)) * 64 + (((lane >> 4) & 1) ^ (((lane & 7) >> 1) & 3)) * 16;
        unsigned char* const right = tiles + stage * 16384 + 8192;
        const int right_at = (((lane >> 3) & 1) * 8 + (lane & 7)) * 256 + ((((lane >> 4) & 1) * 2 + (tc / 4)) ^ ((lane & 7) & 7)) * 16;
        #pragma unroll
        for (int step = 0; step < 2; ++step) {
          Wide<BFloat16, 2> a[4][4];
          Wide<BFloat16, 2> b[4][4];
          #pragma unroll
          for (int m = 0; m < 4; ++m) {
            read_matrices<false>(left + (left_at ^ (step * 32)) + (m * 4 * 512), a[m]);
          }
          #pragma unroll
          for (int n = 0; n < 4; ++n) {
            read_matrices<true>(right + (right_at ^ (n * 4 * 16)) + (step * 16 * 256), b[n]);
          }
          #pragma unroll
          for (int m = 0; m < 4; ++m) {
            #pragma unroll
            for (int n = 0; n < 4; ++n) {
              multiply(v20[m * 2][n * 2 + 0], v20[m * 2 + 1][n * 2 + 0], a[m], b[n]);
              multiply(v20[m * 2][n * 2 + 1], v20[m * 2 + 1][n * 2 + 1], a[m], b[n] + 2);
            }
          }
        }
      }
      stage = stage == 3 ? 0 : stage + 1;
    }
  }
   {
    const int q = (static_cast<int>(threadIdx.x) & 3);
    const bool odd = (q & 1) != 0;
    const bool high = (q & 2) != 0;
    #pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int row = r * 16 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        float given[8];
        float x[8];
        given[0] = chosen(high, chosen(odd, v20[r][c * 4 + 3][0], v20[r][c * 4 + 2][0]), chosen(odd, v20[r][c * 4 + 1][0], v20[r][c * 4 + 0][0]));
        given[1] = chosen(high, chosen(odd, v20[r][c * 4 + 3][1], v20[r][c * 4 + 2][1]), chosen(odd, v20[r][c * 4 + 1][1], v20[r][c * 4 + 0][1]));
        given[2] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 2][0], v20[r][c * 4 + 3][0]), chosen(odd, v20[r][c * 4 + 0][0], v20[r][c * 4 + 1][0])), 1);
        given[3] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 2][1], v20[r][c * 4 + 3][1]), chosen(odd, v20[r][c * 4 + 0][1], v20[r][c * 4 + 1][1])), 1);
        given[4] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 1][0], v20[r][c * 4 + 0][0]), chosen(odd, v20[r][c * 4 + 3][0], v20[r][c * 4 + 2][0])), 2);
        given[5] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 1][1], v20[r][c * 4 + 0][1]), chosen(odd, v20[r][c * 4 + 3][1], v20[r][c * 4 + 2][1])), 2);
        given[6] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 0][0], v20[r][c * 4 + 1][0]), chosen(odd, v20[r][c * 4 + 2][0], v20[r][c * 4 + 3][0])), 3);
        given[7] = exchanged(chosen(high, chosen(odd, v20[r][c * 4 + 0][1], v20[r][c * 4 + 1][1]), chosen(odd, v20[r][c * 4 + 2][1], v20[r][c * 4 + 3][1])), 3);
        x[0] = chosen(high, chosen(odd, given[6], given[4]), chosen(odd, given[2], given[0]));
        x[1] = chosen(high, chosen(odd, given[7], given[5]), chosen(odd, given[3], given[1]));
        x[2] = chosen(high, chosen(odd, given[4], given[6]), chosen(odd, given[0], given[2]));
        x[3] = chosen(high, chosen(odd, given[5], given[7]), chosen(odd, given[1], given[3]));
        x[4] = chosen(high, chosen(odd, given[2], given[0]), chosen(odd, given[6], given[4]));
        x[5] = chosen(high, chosen(odd, given[3], given[1]), chosen(odd, given[7], given[5]));
        x[6] = chosen(high, chosen(odd, given[0], given[2]), chosen(odd, given[4], given[6]));
        x[7] = chosen(high, chosen(odd, given[1], given[3]), chosen(odd, given[5], given[7]));
        const int col = ((c * 4 + q) * 2 + (tc / 4)) * 8;
        if (row < bounded((n0 + (-v9)))) store_wide<8, 8, true>((out2 + ((v9 * n1) + v12) + row * n1 + col), x, bounded((n1 + (-v12))) - col);
      }
    }
  }
}
// 128 threads, cluster of 1, 65536 bytes shared

