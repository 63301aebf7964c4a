// cast_max_subtract_exp_sum_log_equal_where_etc: tile 1 x 32768, 1 x 1024 threads, vectors of 8
struct Arguments_k_cast_max_subtract_exp_sum_log_equal_where_etc {
  BFloat16* in0;
  long long* in1;
  long long* in3;
  float* out4;
  BFloat16* out5;
  long long n0;
  long long s0_0;
  long long s5_0;
  long long n1;
  double c0;
  double c1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(1024, 2) k_cast_max_subtract_exp_sum_log_equal_where_etc(const Arguments_k_cast_max_subtract_exp_sum_log_equal_where_etc a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  constexpr int held = 384;  // of rows
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = lasting(a.in0);
  long long* const in1 = lasting(a.in1);
  long long* const in3 = lasting(a.in3);
  float* const out4 = passing(a.out4);
  BFloat16* const out5 = passing(a.out5);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s5_0 = static_cast<long long>(a.s5_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v10 = id0;
  Wide<BFloat16, 8>* const row21 = reinterpret_cast<Wide<BFloat16, 8>*>(shared + held) + threadIdx.x;
  #pragma unroll 2
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 1024 + tc) * 8;
    copy_async((in0 + (v10 * s0_0) + col), row21[c * 1024]);
  }
  // the user's line
  float v22;
  v22 = Max<float>::nothing();
  await_copies();
  #pragma unroll 2
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x21 = row21[c * 1024];
    v22 = Max<float>::of(v22, of_vector<Max<float>>(x21));
  }
  combine_columns<Max<float>, 1, 1024, 1, 1, false>(&v22, shared + parts);
  const long long v28 = widen(*((in1 + v10)));
  const long long v34 = widen(*((in3 + v10)));
  float v26;
  v26 = Sum<float>::nothing();
  float v32;
  v32 = Sum<float>::nothing();
  #pragma unroll 2
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x21 = row21[c * 1024];
    const int first = col;
    if (static_cast<unsigned int>(place_of(v28) - first) < 8u) {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        v26 = Sum<float>::of(v26, (quick_exp((element_of(x21, k) - v22))));
        v32 = Sum<float>::of(v32, ((col == place_of(v28)) ? (element_of(x21, k) - v22) : c0));
      }
    }
    else {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        v26 = Sum<float>::of(v26, (quick_exp((element_of(x21, k) - v22))));
        v32 = Sum<float>::of(v32, ((false) ? (element_of(x21, k) - v22) : c0));
      }
    }
  }
  float together26[2];
  together26[0] = v26;
  together26[1] = v32;
  combine_columns<Sum<float>, 1, 1024, 1, 2, false>(together26, shared + parts + 128);
  v26 = together26[0];
  v32 = together26[1];
  const float v35 = logf(v26);
  const float v36 = v35 - v32;
  const bool v37 = v34 >= 0ll;
  const bool v38 = v34 < 32768ll;
  const bool v39 = v37 && v38;
  if (threadIdx.x == 0 && !v39) report(failure, 0, v34);
  const float v41 = -c1;
  const float v44 = c1 / v26;
  #pragma unroll 2
  for (int c = 0; c < 4; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x21 = row21[c * 1024];
    float x[8];
    const int first = col;
    if (static_cast<unsigned int>(place_of(v28) - first) < 8u) {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        x[k] = (((col == place_of(v28)) ? v41 : 0.0f) + (v44 * (quick_exp((element_of(x21, k) - v22)))));
      }
    }
    else {
      #pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int col = first + k;
        x[k] = (((false) ? v41 : 0.0f) + (v44 * (quick_exp((element_of(x21, k) - v22)))));
      }
    }
    store_wide<8, 8>((out5 + (v10 * s5_0) + col), x);
  }
  if (threadIdx.x == 0 && !v39) report(failure, 16, v34);
  if (threadIdx.x == 0) narrow(static_cast<float>(v36), *((out4 + v10)));
}
// 1024 threads, cluster of 1, 65920 bytes shared

// sum_divide: tile 1 x 64, 1 x 32 threads, vectors of 4
struct Arguments_k_sum_divide {
  float* in0;
  float* out1;
  long long n0;
  double c0;
  long long p_chunks;
  long long tiles0;
};
extern "C" __global__ void __launch_bounds__(32) k_sum_divide(const Arguments_k_sum_divide a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const float c0 = static_cast<float>(a.c0);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  float v6[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 32 + tc) * 4;
    load_wide<4, 4, true>((in0 + col), v6[c], 64 - col, 0.0f);
  }
  float v7;
  v7 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 32 + tc) * 4 + k;
      if (col < 64) v7 = Sum<float>::of(v7, v6[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 32, 1, 1, false>(&v7, nullptr);
  // the user's line
  const float v8 = v7 / c0;
  const float v9 = v8;
  if (threadIdx.x == 0) narrow(static_cast<float>(v9), *(out1));
}
// 32 threads, cluster of 1, 0 bytes shared

