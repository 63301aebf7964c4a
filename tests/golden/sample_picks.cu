// picks: tile 1 x 300, 1 x 96 threads, vectors of 4
struct Arguments_k_picks {
  int* p_x;
  int* p_out;
  int* p_bins;
};
extern "C" __global__ void __launch_bounds__(96) k_picks(const Arguments_k_picks a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 96, tc = static_cast<int>(threadIdx.x) % 96;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  int* const p_x = lasting(a.p_x);
  int* const p_out = passing(a.p_out);
  int* const p_bins = passing(a.p_bins);
  int v5[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 96 + tc) * 4;
    load_wide<4, 4, true>((p_x + col), v5[c], 300 - col, 0);
  }
  const long long v6 = id0;
  long long v12[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      const long long v10 = remainder_short(static_cast<long long>(col * 7ll), 310ll);
      v12[c][k] = v10 - 5ll;
    }
  }
  int v13[1][4];
   {
    int* const tile = reinterpret_cast<int*>(shared);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 96 + tc) * 4 + k;
        if (col < 300) tile[col] = v5[c][k];
      }
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 96 + tc) * 4 + k;
        if (col < 300) {
          const long long place = v12[c][k];
          v13[c][k] = place >= 0 && place < 300 ? tile[0 + static_cast<int>(place) * 1] : 0;
        }
      }
    }
  }
  const long long v15 = v6 * 300ll;
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 96 + tc) * 4;
    store_wide<4, 4, true>((p_out + v15 + col), v13[c], 300 - col);
  }
  bool v21[1][4];
  long long v26[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 96 + tc) * 4 + k;
      const long long v20 = remainder_short(static_cast<long long>(col), 3ll);
      v21[c][k] = v20 != v6;
      const long long v23 = remainder_short(static_cast<long long>(col), 16ll);
      const int v24 = static_cast<int>(v23);
      const int v25 = v5[c][k] + v24;
      v26[c][k] = static_cast<long long>(v25);
    }
  }
  int v27[1];
   {
    int* const bins = reinterpret_cast<int*>(shared);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 96 + static_cast<int>(threadIdx.x);
      if (e < 20) bins[e] = 0;
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 96 + tc) * 4 + k;
        if ((v21[c][k]) && col < 300) {
          const long long value = v26[c][k];
          if (value >= 0 && value < 20) atomicAdd_block(reinterpret_cast<unsigned int*>((bins + static_cast<int>(value))), static_cast<unsigned int>(1));
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      const int e = c * 96 + static_cast<int>(threadIdx.x);
      if (e < 20) v27[c] = bins[e];
    }
  }
  const long long v30 = v6 * 20ll;
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int e = c * 96 + static_cast<int>(threadIdx.x);
    if (e < 20) narrow(static_cast<int>(v27[c]), *((p_bins + v30 + e)));
  }
}
// 96 threads, cluster of 1, 1200 bytes shared

