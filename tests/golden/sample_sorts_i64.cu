// sorts: tile 5 x 37, 2 x 64 threads, vectors of 1
struct Arguments_k_sorts {
  long long* in0;
  long long* out1;
  long long* out2;
};
extern "C" __global__ void __launch_bounds__(128) k_sorts(const Arguments_k_sorts a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const in0 = lasting(a.in0);
  long long* const out1 = passing(a.out1);
  long long* const out2 = passing(a.out2);
  long long v13[3][1][1];
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 2 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 64 + tc);
        v13[r][c][k] = row < 5 && col < 37 ? widen(*((in0 + row * 37ll + col))) : 0ll;
      }
    }
  }
  long long v15[3][1][1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    int* const order = reinterpret_cast<int*>(shared + 1488);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const int* const sorted = sort_shared(tile, order, order + 185, 185, 5, 37, false);
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) v15[r][c][k] = tile[(row * 37 + col) + (sorted[(row * 37 + col)] - (row * 37 + col) / 37 % 5) * 37];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 2 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 64 + tc);
        if (row < 5 && col < 37) narrow(static_cast<long long>(v15[r][c][k]), *((out1 + row * 37ll + col)));
      }
    }
  }
  long long v18[3][1][1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    int* const order = reinterpret_cast<int*>(shared + 1488);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const int* const sorted = sort_shared(tile, order, order + 185, 185, 5, 37, true);
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) v18[r][c][k] = sorted[(row * 37 + col)];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 2 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 64 + tc);
        if (row < 5 && col < 37) narrow(static_cast<long long>(v18[r][c][k]), *((out2 + row * 37ll + col)));
      }
    }
  }
  long long v21[3][1][1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    int* const order = reinterpret_cast<int*>(shared + 1488);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const int* const sorted = sort_shared(tile, order, order + 185, 185, 37, 1, true);
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) v21[r][c][k] = tile[(row * 37 + col) + (sorted[(row * 37 + col)] - (row * 37 + col) / 1 % 37) * 1];
        }
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 2 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 64 + tc);
        if (row < 5 && col < 37) narrow(static_cast<long long>(v21[r][c][k]), *((out1 + 185ll + row * 37ll + col)));
      }
    }
  }
  long long v25[3][1][1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    int* const order = reinterpret_cast<int*>(shared + 1488);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const int* const sorted = sort_shared(tile, order, order + 185, 185, 37, 1, false);
    #pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int row = r * 2 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 64 + tc);
          if (row < 5 && col < 37) v25[r][c][k] = sorted[(row * 37 + col)];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int row = r * 2 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 64 + tc);
        if (row < 5 && col < 37) narrow(static_cast<long long>(v25[r][c][k]), *((out2 + 185ll + row * 37ll + col)));
      }
    }
  }
}
// 128 threads, cluster of 1, 2976 bytes shared

