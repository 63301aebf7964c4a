// scans: tile 5 x 37, 5 x 32 threads, vectors of 1
struct Arguments_k_scans {
  float* in0;
  float* out1;
  long long* out2;
};
extern "C" __global__ void __launch_bounds__(160) k_scans(const Arguments_k_scans a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  long long* const out2 = passing(a.out2);
  float v13[1][2][1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        v13[r][c][k] = col < 37 ? widen(*((in0 + row * 37ll + col))) : 0.0f;
      }
    }
  }
  float v15[1][2][1];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const float* const scanned = scan_shared<Max<float>>(tile, tile + 185, 185, 5, 37);
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) v15[r][c][k] = scanned[(row * 37 + col)];
        }
      }
    }
  }
  float v16[1][2][1];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const float* const scanned = scan_shared<Sum<float>>(tile, tile + 185, 185, 5, 37);
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) v16[r][c][k] = scanned[(row * 37 + col)];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) narrow(static_cast<float>((v16[r][c][k] + v15[r][c][k])), *((out1 + row * 37ll + col)));
      }
    }
  }
  Placed<float> b20[2][1];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 1; ++k) {
      const int col = (c * 32 + tc);
      b20[c][k] = Best<float, false>::nothing();
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) b20[c][k] = Best<float, false>::of(b20[c][k], {v13[r][c][k], row});
      }
    }
  }
  combine_rows<Best<float, false>, 5, 32, 2>(&b20[0][0], shared);
  long long v20[2][1];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    #pragma unroll
    for (int k = 0; k < 1; ++k) {
      const int col = (c * 32 + tc);
      v20[c][k] = b20[c][k].at;
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) narrow(static_cast<long long>(v20[c][k]), *((out2 + row * 37ll + col)));
      }
    }
  }
  float v24[1][2][1];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const float* const scanned = scan_shared<Max<float>>(tile, tile + 185, 185, 37, 1);
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) v24[r][c][k] = scanned[(row * 37 + col)];
        }
      }
    }
  }
  float v25[1][2][1];
   {
    float* const tile = reinterpret_cast<float*>(shared);
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) tile[(row * 37 + col)] = v13[r][c][k];
        }
      }
    }
    __syncthreads();
    const float* const scanned = scan_shared<Sum<float>>(tile, tile + 185, 185, 37, 1);
    #pragma unroll
    for (int r = 0; r < 1; ++r) {
      const int row = r * 5 + tr;
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        #pragma unroll
        for (int k = 0; k < 1; ++k) {
          const int col = (c * 32 + tc);
          if (col < 37) v25[r][c][k] = scanned[(row * 37 + col)];
        }
      }
    }
  }
  __syncthreads();
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) narrow(static_cast<float>((v25[r][c][k] + v24[r][c][k])), *((out1 + 185ll + row * 37ll + col)));
      }
    }
  }
  Placed<float> b30[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    b30[r] = Best<float, true>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) b30[r] = Best<float, true>::of(b30[r], {v13[r][c][k], col});
      }
    }
  }
  combine_columns<Best<float, true>, 5, 32, 1, 1, false>(b30, nullptr);
  long long v30[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    v30[r] = b30[r].at;
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 5 + tr;
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      #pragma unroll
      for (int k = 0; k < 1; ++k) {
        const int col = (c * 32 + tc);
        if (col < 37) narrow(static_cast<long long>(v30[r]), *((out2 + 185ll + row * 37ll + col)));
      }
    }
  }
}
// 160 threads, cluster of 1, 2560 bytes shared

