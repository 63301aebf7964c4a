// cumsum: tile 4 x 1000, 1 x 256 threads, vectors of 4
struct Arguments_k_cumsum {
  long long n1;
  long long n2;
  float* x0;
  float* p_y;
  long long n5;
};
extern "C" __global__ void __launch_bounds__(256) k_cumsum(const Arguments_k_cumsum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 256, tc = static_cast<int>(threadIdx.x) % 256;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  const long long n1 = static_cast<long long>(a.n1);
  const long long n2 = static_cast<long long>(a.n2);
  float* const x0 = lasting(a.x0);
  float* const p_y = passing(a.p_y);
  const long long n5 = static_cast<long long>(a.n5);
  const long long v1 = id0;
  const long long v3 = v1 * 4ll;
  float v18[4][1][4];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 256 + tc) * 4;
      load_wide<4, 4, true>((x0 + (v3 * n5) + row * n5 + col), v18[r][c], 1000 - col, 0.0f);
    }
  }
  double v19[4][1][4];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 256 + tc) * 4 + k;
        v19[r][c][k] = static_cast<double>(v18[r][c][k]);
      }
    }
  }
  double v20[4][1][4];
   {
    double* const tile = reinterpret_cast<double*>(shared);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 256 + tc) * 4 + k;
          if (col < 1000) tile[(row * 1000 + col)] = v19[r][c][k];
        }
      }
    }
    __syncthreads();
    const double* const scanned = scan_shared<Sum<double>>(tile, tile + 4000, 4000, 1000, 1);
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = r;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 256 + tc) * 4 + k;
          if (col < 1000) v20[r][c][k] = scanned[(row * 1000 + col)];
        }
      }
    }
  }
  float v23[4][1][4];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 256 + tc) * 4 + k;
        const double v22 = 0.0 + v20[r][c][k];
        v23[r][c][k] = static_cast<float>(v22);
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 256 + tc) * 4;
      store_wide<4, 4, true>((p_y + (v3 * n5) + row * n5 + col), v23[r][c], 1000 - col);
    }
  }
}
// 256 threads, cluster of 1, 64000 bytes shared

