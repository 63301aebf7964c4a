// atomics: tile 1 x 16, 1 x 32 threads, vectors of 4
struct Arguments_k_atomics {
  float* p_in;
  float* p_out;
  float* p_olds;
  long long p_n;
};
extern "C" __global__ void __launch_bounds__(32) k_atomics(const Arguments_k_atomics a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const unsigned int walkers = gridDim.x < 1u ? gridDim.x : 1u;
  if (blockIdx.x >= walkers) return;
  const unsigned int owners = walkers * blockDim.x, owner = blockIdx.x * blockDim.x + threadIdx.x;
  for (long long instance = 0; instance < g0 * g1 * g2; ++instance) {
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const p_in = lasting(a.p_in);
  float* const p_out = a.p_out;
  float* const p_olds = passing(a.p_olds);
  const long long p_n = static_cast<long long>(a.p_n);
  const long long v5 = id0;
  const long long v7 = v5 * 16ll;
  float v11[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4, true>((p_in + v7 + col), v11[c], smaller(bounded((p_n + (-v7))) - col, 16 - col), 0.0f);
  }
  long long v15[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v15[c][k] = remainder_short(static_cast<long long>(col * 5ll), 7ll);
    }
  }
  __syncthreads();
  __threadfence_system();
  float v17[1][4];
  for (int first = 0; first < 16; first += 16) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 128);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const int i = col - first;
        if (i >= 0 && i < 16 && col < 16) {
          places[i] = (col < bounded((p_n + (-v7)))) ? (p_out + v15[c][k]) : nullptr;
          values[i] = v11[c][k];
        }
      }
    }
    __syncthreads();
    change_in_order<Sum, true>(places, values, 16, owners, owner);
    __syncthreads();
     {
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          const int i = col - first;
          if (i >= 0 && i < 16 && col < 16) v17[c][k] = (col < bounded((p_n + (-v7)))) ? values[i] : 0.0f;
        }
      }
    }
  }
  __threadfence_system();
  __syncthreads();
  const bool v19 = v5 != 1ll;
  __syncthreads();
  __threadfence_system();
  float v21;
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = (v19) ? p_out : nullptr;
      values[i] = 3.0f;
    }
    __syncthreads();
    change_in_order<Sum, true>(places, values, 1, owners, owner);
    __syncthreads();
     {
      const int i = 0 - first;
      if (i >= 0 && i < 1) v21 = (v19) ? values[i] : 0.0f;
    }
  }
  __threadfence_system();
  __syncthreads();
  const float v22 = static_cast<float>(v5);
  float* const v23 = p_out + 1ll;
  __syncthreads();
  __threadfence_system();
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = v23;
      values[i] = v22;
    }
    __syncthreads();
    write_in_order<true>(places, values, 1, owners, owner);
  }
  __threadfence_system();
  __syncthreads();
  long long v26[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v26[c][k] = v15[c][k] + 32ll;
    }
  }
  __syncthreads();
  __threadfence_system();
  float v28[1][4];
  for (int first = 0; first < 16; first += 16) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 128);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const int i = col - first;
        if (i >= 0 && i < 16 && col < 16) {
          places[i] = (col < bounded((p_n + (-v7)))) ? (p_out + v26[c][k]) : nullptr;
          values[i] = v11[c][k];
        }
      }
    }
    __syncthreads();
    change_in_order<Max, true>(places, values, 16, owners, owner);
    __syncthreads();
     {
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          const int i = col - first;
          if (i >= 0 && i < 16 && col < 16) v28[c][k] = (col < bounded((p_n + (-v7)))) ? values[i] : 0.0f;
        }
      }
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v29 = p_out + 32ll;
  __syncthreads();
  __threadfence_system();
  float v30;
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = (v19) ? v29 : nullptr;
      values[i] = 3.0f;
    }
    __syncthreads();
    change_in_order<Max, true>(places, values, 1, owners, owner);
    __syncthreads();
     {
      const int i = 0 - first;
      if (i >= 0 && i < 1) v30 = (v19) ? values[i] : 0.0f;
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v32 = p_out + 33ll;
  __syncthreads();
  __threadfence_system();
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = v32;
      values[i] = v22;
    }
    __syncthreads();
    change_in_order<Max, false>(places, values, 1, owners, owner);
  }
  __threadfence_system();
  __syncthreads();
  long long v35[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v35[c][k] = v15[c][k] + 64ll;
    }
  }
  __syncthreads();
  __threadfence_system();
  float v37[1][4];
  for (int first = 0; first < 16; first += 16) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 128);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const int i = col - first;
        if (i >= 0 && i < 16 && col < 16) {
          places[i] = (col < bounded((p_n + (-v7)))) ? (p_out + v35[c][k]) : nullptr;
          values[i] = v11[c][k];
        }
      }
    }
    __syncthreads();
    change_in_order<Min, true>(places, values, 16, owners, owner);
    __syncthreads();
     {
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          const int i = col - first;
          if (i >= 0 && i < 16 && col < 16) v37[c][k] = (col < bounded((p_n + (-v7)))) ? values[i] : 0.0f;
        }
      }
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v38 = p_out + 64ll;
  __syncthreads();
  __threadfence_system();
  float v39;
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = (v19) ? v38 : nullptr;
      values[i] = 3.0f;
    }
    __syncthreads();
    change_in_order<Min, true>(places, values, 1, owners, owner);
    __syncthreads();
     {
      const int i = 0 - first;
      if (i >= 0 && i < 1) v39 = (v19) ? values[i] : 0.0f;
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v41 = p_out + 65ll;
  __syncthreads();
  __threadfence_system();
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = v41;
      values[i] = v22;
    }
    __syncthreads();
    change_in_order<Min, false>(places, values, 1, owners, owner);
  }
  __threadfence_system();
  __syncthreads();
  long long v44[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      v44[c][k] = v15[c][k] + 96ll;
    }
  }
  __syncthreads();
  __threadfence_system();
  float v46[1][4];
  for (int first = 0; first < 16; first += 16) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 128);
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < 1; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const int i = col - first;
        if (i >= 0 && i < 16 && col < 16) {
          places[i] = (col < bounded((p_n + (-v7)))) ? (p_out + v44[c][k]) : nullptr;
          values[i] = v11[c][k];
        }
      }
    }
    __syncthreads();
    change_in_order<Latter, true>(places, values, 16, owners, owner);
    __syncthreads();
     {
      #pragma unroll
      for (int c = 0; c < 1; ++c) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int col = (c * 32 + tc) * 4 + k;
          const int i = col - first;
          if (i >= 0 && i < 16 && col < 16) v46[c][k] = (col < bounded((p_n + (-v7)))) ? values[i] : 0.0f;
        }
      }
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v47 = p_out + 96ll;
  __syncthreads();
  __threadfence_system();
  float v48;
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = (v19) ? v47 : nullptr;
      values[i] = 3.0f;
    }
    __syncthreads();
    change_in_order<Latter, true>(places, values, 1, owners, owner);
    __syncthreads();
     {
      const int i = 0 - first;
      if (i >= 0 && i < 1) v48 = (v19) ? values[i] : 0.0f;
    }
  }
  __threadfence_system();
  __syncthreads();
  float* const v50 = p_out + 97ll;
  __syncthreads();
  __threadfence_system();
  for (int first = 0; first < 1; first += 1) {
    float** const places = reinterpret_cast<float**>(shared);
    float* const values = reinterpret_cast<float*>(shared + 8);
    __syncthreads();
    const int i = 0 - first;
    if (i >= 0 && i < 1 && threadIdx.x == 0) {
      places[i] = v50;
      values[i] = v22;
    }
    __syncthreads();
    change_in_order<Latter, false>(places, values, 1, owners, owner);
  }
  __threadfence_system();
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_olds + v7 + col), v17[c], 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v21;
    }
    store_wide<4, 4, true>((p_olds + (128ll + v7) + col), x, 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_olds + (256ll + v7) + col), v28[c], 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v30;
    }
    store_wide<4, 4, true>((p_olds + (384ll + v7) + col), x, 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_olds + (512ll + v7) + col), v37[c], 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v39;
    }
    store_wide<4, 4, true>((p_olds + (640ll + v7) + col), x, 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    store_wide<4, 4, true>((p_olds + (768ll + v7) + col), v46[c], 16 - col);
  }
  __syncthreads();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = v48;
    }
    store_wide<4, 4, true>((p_olds + (896ll + v7) + col), x, 16 - col);
  }
  }
}
// 32 threads, cluster of 1, 256 bytes shared

