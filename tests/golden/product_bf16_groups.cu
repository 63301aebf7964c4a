#ifndef TEGULA_multiply_bf16_128_right
#define TEGULA_multiply_bf16_128_right
__device__ inline void multiply_bf16_128_right(float (&upper)[16][2], float (&lower)[16][2], unsigned long long left, unsigned long long right) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1; }"
               : "+f"(upper[0][0]), "+f"(upper[0][1]), "+f"(lower[0][0]), "+f"(lower[0][1]), "+f"(upper[1][0]), "+f"(upper[1][1]), "+f"(lower[1][0]), "+f"(lower[1][1]), "+f"(upper[2][0]), "+f"(upper[2][1]), "+f"(lower[2][0]), "+f"(lower[2][1]), "+f"(upper[3][0]), "+f"(upper[3][1]), "+f"(lower[3][0]), "+f"(lower[3][1]), "+f"(upper[4][0]), "+f"(upper[4][1]), "+f"(lower[4][0]), "+f"(lower[4][1]), "+f"(upper[5][0]), "+f"(upper[5][1]), "+f"(lower[5][0]), "+f"(lower[5][1]), "+f"(upper[6][0]), "+f"(upper[6][1]), "+f"(lower[6][0]), "+f"(lower[6][1]), "+f"(upper[7][0]), "+f"(upper[7][1]), "+f"(lower[7][0]), "+f"(lower[7][1]), "+f"(upper[8][0]), "+f"(upper[8][1]), "+f"(lower[8][0]), "+f"(lower[8][1]), "+f"(upper[9][0]), "+f"(upper[9][1]), "+f"(lower[9][0]), "+f"(lower[9][1]), "+f"(upper[10][0]), "+f"(upper[10][1]), "+f"(lower[10][0]), "+f"(lower[10][1]), "+f"(upper[11][0]), "+f"(upper[11][1]), "+f"(lower[11][0]), "+f"(lower[11][1]), "+f"(upper[12][0]), "+f"(upper[12][1]), "+f"(lower[12][0]), "+f"(lower[12][1]), "+f"(upper[13][0]), "+f"(upper[13][1]), "+f"(lower[13][0]), "+f"(lower[13][1]), "+f"(upper[14][0]), "+f"(upper[14][1]), "+f"(lower[14][0]), "+f"(lower[14][1]), "+f"(upper[15][0]), "+f"(upper[15][1]), "+f"(lower[15][0]), "+f"(lower[15][1])
               : "l"(left), "l"(right));
}
#endif
// product: tile 128 x 128, 64 x 4 threads, vectors of 2
struct Arguments_k_product {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* out2;
  long long n0;
  long long n1;
  long long n2;
};
extern "C" __global__ void __launch_bounds__(256) k_product(const Arguments_k_product a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  unsigned char* const tiles = at_tile_line(shared + 0);  // that tensor cores read
  const int tr = static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4, tc = static_cast<int>(threadIdx.x) % 4;
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
  float v20[2][16][2];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r / 2 * 128 + r % 2 * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 16; ++c) {
      #pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int col = (c * 4 + tc) * 2 + k;
        v20[r][c][k] = 0.0f;
      }
    }
  }
  keep_packed(v20);
   {
    // Copied 2 iterations ahead.
    __syncthreads();
    int stage = 0;
    #pragma unroll 1
    for (int s = 0; s < 2; ++s) {
      const long long later = 0ll + s * 64ll;
      if (later < n2) {
        const long long v19 = later;
        const int into = s;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int e = i * 256 + static_cast<int>(threadIdx.x);
           {
            const int row = e / 8;
            const int col = e % 8 * 8;
            copy_ahead<8, 8>(tiles + into * 32768 + 0 + row * 128 + (e % 8 ^ (row & 7)) * 16, (in0 + ((v9 * n2) + v19) + row * n2 + col), row < bounded((n0 + (-v9))) ? smaller(8, bounded((n2 + (-v19))) - col) : 0);
          }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int e = i * 256 + static_cast<int>(threadIdx.x);
           {
            const int row = e / 16;
            const int col = e % 16 * 8;
            copy_ahead<8, 8>(tiles + into * 32768 + 16384 + (e % 16 / 8) * 8192 + row * 128 + ((e % 16 % 8) ^ (row & 7)) * 16, (in1 + ((v19 * n1) + v12) + row * n1 + col), row < bounded((n2 + (-v19))) ? smaller(8, bounded((n1 + (-v12))) - col) : 0);
          }
        }
      }
      close_copies();
    }
    for (long long v19 = 0ll; v19 < n2; v19 += 64ll) {
      wait_for_copies<1>();
      fence_tiles();
      __syncthreads();
       {
        const long long later = v19 + 2 * 64ll;
        if (later < n2) {
          const long long v19 = later;
          const int into = (stage < 2 ? stage + 2 : stage - 2);
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int e = i * 256 + static_cast<int>(threadIdx.x);
             {
              const int row = e / 8;
              const int col = e % 8 * 8;
              copy_ahead<8, 8>(tiles + into * 32768 + 0 + row * 128 + (e % 8 ^ (row & 7)) * 16, (in0 + ((v9 * n2) + v19) + row * n2 + col), row < bounded((n0 + (-v9))) ? smaller(8, bounded((n2 + (-v19))) - col) : 0);
            }
          }
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int e = i * 256 + static_cast<int>(threadIdx.x);
             {
              const int row = e / 16;
              const int col = e % 16 * 8;
              copy_ahead<8, 8>(tiles + into * 32768 + 16384 + (e % 16 / 8) * 8192 + row * 128 + ((e % 16 % 8) ^ (row & 7)) * 16, (in1 + ((v19 * n1) + v12) + row * n1 + col), row < bounded((n2 + (-v19))) ? smaller(8, bounded((n1 + (-v12))) - col) : 0);
            }
          }
        }
        close_copies();
      }
       {
        unsigned char* const left = tiles + stage * 32768 + 0;
        unsigned char* const right = tiles + stage * 32768 + 16384;
        begin_products();
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
          #pragma unroll
          for (int m = 0; m < 1; ++m) {
            multiply_bf16_128_right(v20[m * 2], v20[m * 2 + 1], tile_at<128, 16>(left + (m * 2 + (tr / 64)) * 8192 + step * 32), tile_at<128, 8192>(right + 0 * 8192 + step * 2048));
          }
        }
        close_products();
        await_products<1>();
      }
      stage = stage == 3 ? 0 : stage + 1;
    }
  }
  await_products<0>();
  keep_packed(v20);
   {
    const int q = (static_cast<int>(threadIdx.x) & 3);
    const bool odd = (q & 1) != 0;
    const bool high = (q & 2) != 0;
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = r / 2 * 128 + r % 2 * 8 + tr;
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
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
        const int col = ((c * 4 + q) * 1 + (tc / 4)) * 8;
        if (row < bounded((n0 + (-v9)))) store_wide<8, 8, true>((out2 + ((v9 * n1) + v12) + row * n1 + col), x, bounded((n1 + (-v12))) - col);
      }
    }
  }
}
// 256 threads, cluster of 1, 132096 bytes shared

