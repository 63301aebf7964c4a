// weighted_rows: tile 2 x 40008, 1 x 256 threads in each of 8 blocks, vectors of 8
struct Arguments_k_weighted_rows {
  BFloat16* in0;
  BFloat16* in1;
  long long* in2;
  BFloat16* out3;
  float* out4;
  long long s0_0;
};
extern "C" __global__ void __launch_bounds__(256, 6) __cluster_dims__(8, 1, 1) k_weighted_rows(const Arguments_k_weighted_rows a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  constexpr int held = 1664;  // of rows
  const int block = cluster_rank();
  const int tr = static_cast<int>(threadIdx.x) / 256, tc = block * 256 + static_cast<int>(threadIdx.x) % 256;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x / 8;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  long long* const in2 = lasting(a.in2);
  BFloat16* const out3 = passing(a.out3);
  float* const out4 = passing(a.out4);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  if (threadIdx.x == 0) {
    begin_exchange(shared + parts + 512);
    begin_exchange(shared + parts + 1552);
  }
  cluster_arrive();
  const long long v8 = id0;
  const long long v9 = v8 * 2ll;
  Wide<BFloat16, 8>* const row19 = reinterpret_cast<Wide<BFloat16, 8>*>(shared + held) + threadIdx.x;
  #pragma unroll 1
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 2048 + tc) * 8;
    if (col < 40008) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = r;
        copy_async((in0 + (v9 * s0_0) + row * s0_0 + col), row19[(r * 3 + c) * 256]);
      }
    }
  }
  float v20[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    v20[r] = Max<float>::nothing();
  }
  await_copies();
  #pragma unroll 1
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 2048 + tc) * 8;
    if (col < 40008) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = r;
        const Wide<BFloat16, 8> x19 = row19[(r * 3 + c) * 256];
        v20[r] = Max<float>::of(v20[r], of_vector<Max<float>>(x19));
      }
    }
  }
  cluster_wait();
  combine_columns<Max<float>, 1, 256, 8, 2, false>(v20, shared + parts, shared + parts + 512);
  long long v32[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    v32[r] = widen(*((in2 + v9 + row)));
  }
  float v24[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    v24[r] = Sum<float>::nothing();
  }
  float v26[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    v26[r] = Sum<float>::nothing();
  }
  #pragma unroll 1
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 2048 + tc) * 8;
    if (col < 40008) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = r;
        const Wide<BFloat16, 8> x19 = row19[(r * 3 + c) * 256];
        const int first = col;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
          const int col = first + k;
          v24[r] = Sum<float>::of(v24[r], (quick_exp2((element_of(x19, k) - v20[r]))));
          v26[r] = fmaf(element_of(x19, k), element_of(x19, k), v26[r]);
        }
      }
    }
  }
  Wide<BFloat16, 8> ahead39[2];
  #pragma unroll
  for (int c = 0; c < 2; ++c) {
    const int col = (c * 2048 + tc) * 8;
    if (col < 40008) load_wide<8, 8>((in1 + col), ahead39[c]);
  }
  float together24[4];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    together24[0 + r] = v24[r];
    together24[2 + r] = v26[r];
  }
  combine_columns<Sum<float>, 1, 256, 8, 4, false>(together24, shared + parts + 528, shared + parts + 1552);
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    v24[r] = together24[0 + r];
    v26[r] = together24[2 + r];
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 2048 + tc) * 8;
    if (col < 40008) {
      Wide<BFloat16, 8> x39;
      if (c < 2) x39 = ahead39[c]; else load_wide<8, 8>(steady<true>((in1 + col)), x39);
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = r;
        const Wide<BFloat16, 8> x19 = row19[(r * 3 + c) * 256];
        float x[8];
        const int first = col;
        if (static_cast<unsigned int>(place_of(v32[r]) - first) < 8u) {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = first + k;
            x[k] = (((element_of(x19, k) * ((quick_exp2((element_of(x19, k) - v20[r]))) * reciprocal(v24[r]) * reach(v24[r]))) * element_of(x39, k)) - ((col == place_of(v32[r])) ? 1.0f : 0.0f));
          }
        }
        else {
          #pragma unroll
          for (int k = 0; k < 8; ++k) {
            const int col = first + k;
            x[k] = (((element_of(x19, k) * ((quick_exp2((element_of(x19, k) - v20[r]))) * reciprocal(v24[r]) * reach(v24[r]))) * element_of(x39, k)) - ((false) ? 1.0f : 0.0f));
          }
        }
        store_rows<8, 8>((out3 + (v9 * s0_0) + row * s0_0 + col), x);
      }
    }
  }
  cluster_barrier();
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = r;
    if (tc == 0) narrow(static_cast<float>(v26[r]), *((out4 + v9 + row)));
  }
}
// 256 threads, cluster of 8, 26240 bytes shared

