// shapes: tile 8 x 24, 8 x 8 threads, vectors of 4
struct Arguments_k_shapes {
  float* in0;
  float* out1;
  float* out2;
  long long* out3;
  long long s0;
};
extern "C" __global__ void __launch_bounds__(64) k_shapes(const Arguments_k_shapes a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 8, tc = static_cast<int>(threadIdx.x) % 8;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  float* const out2 = passing(a.out2);
  long long* const out3 = passing(a.out3);
  const long long s0 = static_cast<long long>(a.s0);
  float v14[1][1][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 8 + tc) * 4;
      load_wide<4, 4, true>((in0 + row * s0 + col), v14[r][c], 24 - col, 0.0f);
    }
  }
  float v15[3];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 8 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 8 + tc) * 4 + k;
          if (col < 24) tile[(row * 24 + col)] = v14[r][c][k];
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      v15[c] = tile[(e % 8) * 24 + (e / 8)];
    }
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int e = c * 64 + static_cast<int>(threadIdx.x);
    narrow(static_cast<float>(v15[c]), *((out1 + (e / 8) * 8ll + (e % 8))));
  }
  float v25[3];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 8 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 8 + tc) * 4 + k;
          if (col < 24) tile[(row * 24 + col)] = v14[r][c][k];
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      v25[c] = tile[e];
    }
  }
  float v26[1];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      tile[e] = v25[c];
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      const int start = e / 24 * 96 + e % 24;
      if (e < 48) {
        float total = tile[start];
        for (int i = 1; i < 4; ++i) total = Sum<float>::of(total, tile[start + i * 24]);
        v26[c] = total;
      }
    }
  }
  long long v27[1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 8 + tc) * 4 + k;
        if (col < 24 && tr == 0) tile[col] = static_cast<long long>(col);
      }
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 24) v27[c] = tile[e];
    }
  }
  long long v31[1];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int e = c * 64 + static_cast<int>(threadIdx.x);
    v31[c] = static_cast<long long>(e) * 24ll;
  }
  long long v32[1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 2) tile[e] = v31[c];
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 48) v32[c] = tile[0 + (e / 24) * 1];
    }
  }
  long long v33[1];
   {
    long long* const tile = reinterpret_cast<long long*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 24) tile[e] = v27[c];
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 48) v33[c] = tile[0 + (e % 24) * 1];
    }
  }
  long long v34[1];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int e = c * 64 + static_cast<int>(threadIdx.x);
    v34[c] = v32[c] + v33[c];
  }
  for (int first = 0; first < 48; first += 48) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 384);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      const int i = e - first;
      if (i >= 0 && i < 48 && e < 48) {
        places[i] = (out2 + v34[c]);
        values[i] = v26[c];
      }
    }
    __syncthreads();
    write_in_order<false>(places, values, 48, 64, threadIdx.x);
  }
  float v37[3];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      if (e < 48) tile[e] = v26[c];
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      v37[c] = tile[0 + (e / 96) * 24 + (e % 24) * 1];
    }
  }
  float v38[3];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int e = c * 64 + static_cast<int>(threadIdx.x);
    v38[c] = v37[c] - v25[c];
  }
  float v39[1][1][4];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    (void)tile;
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int e = c * 64 + static_cast<int>(threadIdx.x);
      tile[e] = v38[c];
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 8 + tr;
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 8 + tc) * 4 + k;
          if (col < 24) v39[r][c][k] = tile[(row * 24 + col)];
        }
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int col = (c * 8 + tc) * 4;
      store_wide<4, 4, true>((out2 + 48ll + row * s0 + col), v39[r][c], 24 - col);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int e = c * 64 + static_cast<int>(threadIdx.x);
    if (e < 7) narrow(static_cast<long long>(static_cast<long long>(e * s0)), *((out3 + e)));
  }
}
// 64 threads, cluster of 1, 768 bytes shared

