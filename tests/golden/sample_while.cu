// collatz: tile 1 x 24, 1 x 32 threads, vectors of 4
struct Arguments_k_collatz {
  long long* p_in;
  long long* p_out;
  float* p_sums;
};
extern "C" __global__ void __launch_bounds__(32) k_collatz(const Arguments_k_collatz a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  long long* const p_in = a.p_in;
  long long* const p_out = a.p_out;
  float* const p_sums = a.p_sums;
  const long long v3 = id0;
  long long* const v4 = p_in + v3;
  const long long v5 = widen(*(v4));
  const bool v12 = v5 != 1ll;
  long long v15;
  v15 = v5;
  long long v16;
  v16 = 0ll;
  float v17[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v17[c][k] = 0.0f;
    }
  }
  long long* v18[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v18[c][k] = (p_out + col);
    }
  }
  bool again13 = v12;
  for (long long v14 = 0; again13; v14 += 1) {
    const long long v20 = v15 * 3ll;
    const long long v21 = v20 + 1ll;
    const long long v23 = divided(v15, 2ll);
    const long long v24 = remainder_of(v15, 2ll);
    const bool v25 = v24 == 0ll;
    const long long v26 = v25 ? v23 : v21;
    const long long v28 = remainder_of(v15, 4ll);
    float v31[1][4];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v31[c][k] = v17[c][k];
      }
    }
    for (long long v30 = 0ll; v30 < v28; v30 += 1ll) {
      float v34[1][4];
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          const float v33 = static_cast<float>(static_cast<long long>(v30 + col));
          v34[c][k] = v31[c][k] + v33;
        }
      }
      float next0[1][4];
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          next0[c][k] = v34[c][k];
        }
      }
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          v31[c][k] = next0[c][k];
        }
      }
    }
    const bool v36 = v26 != 1ll;
    const long long v37 = v16 + 1ll;
    const bool further = v36;
    long long next0;
    next0 = v26;
    long long next1;
    next1 = v37;
    float next2[1][4];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        next2[c][k] = v31[c][k];
      }
    }
    long long* next3[1][4];
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        next3[c][k] = (v18[c][k] + 24ll);
      }
    }
    v15 = next0;
    v16 = next1;
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v17[c][k] = next2[c][k];
      }
    }
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v18[c][k] = next3[c][k];
      }
    }
    again13 = further;
  }
  const long long v45 = v3 * 24ll;
  const long long v46 = v16 * 24ll;
  __syncthreads();
  for (int first = 0; first < 24; first += 24) {
    long long** const places = reinterpret_cast<long long**>(shared);
    long long* const values = reinterpret_cast<long long*>(shared + 192);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const int i = col - first;
        if (i >= 0 && i < 24 && col < 24) {
          places[i] = (v18[c][k] + ((-v46) + v45));
          values[i] = static_cast<long long>(v16 + col);
        }
      }
    }
    __syncthreads();
    write_in_order<false>(places, values, 24, 32, threadIdx.x);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_sums + v45 + col), v17[c], 24 - col);
  }
}
// 32 threads, cluster of 1, 384 bytes shared

