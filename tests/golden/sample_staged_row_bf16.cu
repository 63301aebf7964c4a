// weighted_softmax: tile 1 x 20000, 1 x 1024 threads, vectors of 8
struct Arguments_k_weighted_softmax {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* out2;
  float* out3;
  long long s0_0;
};
extern "C" __global__ void __launch_bounds__(1024, 2) k_weighted_softmax(const Arguments_k_weighted_softmax a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  constexpr int held = 384;  // of rows
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  BFloat16* const in1 = lasting(a.in1);
  BFloat16* const out2 = passing(a.out2);
  float* const out3 = passing(a.out3);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long v5 = id0;
  const long long v7 = v5 * s0_0;
  Wide<BFloat16, 8>* const row10 = reinterpret_cast<Wide<BFloat16, 8>*>(shared + held) + threadIdx.x;
  #pragma unroll 2
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 1024 + tc) * 8;
    if (col < 20000) {
      copy_async((in0 + v7 + col), row10[c * 1024]);
    }
  }
  float v11;
  v11 = Max<float>::nothing();
  await_copies();
  #pragma unroll 2
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 1024 + tc) * 8;
    if (col < 20000) {
      const Wide<BFloat16, 8> x10 = row10[c * 1024];
      v11 = Max<float>::of(v11, of_vector<Max<float>>(x10));
    }
  }
  combine_columns<Max<float>, 1, 1024, 1, 1, false>(&v11, shared + parts);
  float v15;
  v15 = Sum<float>::nothing();
  float v17;
  v17 = Sum<float>::nothing();
  #pragma unroll 2
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 1024 + tc) * 8;
    if (col < 20000) {
      const Wide<BFloat16, 8> x10 = row10[c * 1024];
      const int first = col;
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        v15 = Sum<float>::of(v15, (quick_exp2((element_of(x10, k) - v11))));
        v17 = fmaf(element_of(x10, k), element_of(x10, k), v17);
      }
    }
  }
  float together15[2];
  together15[0] = v15;
  together15[1] = v17;
  combine_columns<Sum<float>, 1, 1024, 1, 2, false>(together15, shared + parts + 128);
  v15 = together15[0];
  v17 = together15[1];
  #pragma unroll 2
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 1024 + tc) * 8;
    if (col < 20000) {
      const Wide<BFloat16, 8> x10 = row10[c * 1024];
      Wide<BFloat16, 8> x19;
      load_wide<8, 8>(steady<true>((in1 + col)), x19);
      float x[8];
      const int first = col;
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        x[k] = ((element_of(x10, k) * ((quick_exp2((element_of(x10, k) - v11))) * reciprocal(v15) * reach(v15))) * element_of(x19, k));
      }
      store_wide<8, 8>((out2 + v7 + col), x);
    }
  }
  const float v27 = v17;
  float* const v28 = out3 + v5;
  if (threadIdx.x == 0) narrow(static_cast<float>(v27), *(v28));
}
// 1024 threads, cluster of 1, 40448 bytes shared

