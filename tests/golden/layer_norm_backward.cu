// sum_multiply_subtract_multiply_sum_multiply_etc: tile 1 x 768, 1 x 64 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_0396d30e2eb2572f {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long n1;
  double c0;
  double c1;
  double c2;
  double c3;
  double c4;
  double c5;
  double c6;
  double c7;
  double c8;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(64, 16) k_sum_multiply_subtract_multiply_sum_multiply_etc_0396d30e2eb2572f(const Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_0396d30e2eb2572f a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  float* const in0 = a.in0;
  float* const out1 = a.out1;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const float c2 = static_cast<float>(a.c2);
  const float c3 = static_cast<float>(a.c3);
  const float c4 = static_cast<float>(a.c4);
  const float c5 = static_cast<float>(a.c5);
  const float c6 = static_cast<float>(a.c6);
  const float c7 = static_cast<float>(a.c7);
  const float c8 = static_cast<float>(a.c8);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v13 = id0;
  float v23[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>((in0 + (v13 * s0_0) + col), v23[c]);
  }
  float v24;
  v24 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v24 = Sum<float>::of(v24, v23[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v24, shared + parts);
  // the user's line
  const float v25 = v24 * c0;
  const float v30 = v24 * c4;
  float v29;
  v29 = Sum<float>::nothing();
  float v34;
  v34 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v29 = Sum<float>::of(v29, ((v23[c][k] - v25) * (v23[c][k] - v25)));
      v34 = Sum<float>::of(v34, ((v23[c][k] - v30) * (v23[c][k] - v30)));
    }
  }
  float together29[2];
  together29[0] = v29;
  together29[1] = v34;
  combine_columns<Sum<float>, 1, 64, 1, 2, false>(together29, shared + parts + 16);
  v29 = together29[0];
  v34 = together29[1];
  const float v35 = v29 * c1;
  const float v36 = v35 + c2;
  const float v37 = rsqrtf(v36);
  float v43[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      const float v39 = (v23[c][k] - v25) * v37;
      const float v41 = 2.0f * v39;
      const float v42 = c3 * v41;
      v43[c][k] = v42 * v39;
    }
  }
  const float v46 = v34 * c5;
  const float v47 = v46 + c6;
  const float v48 = rsqrtf(v47);
  float v44;
  v44 = Sum<float>::nothing();
  float v45;
  v45 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v44 = Sum<float>::of(v44, v43[c][k]);
      v45 = Sum<float>::of(v45, (c3 * (2.0f * ((v23[c][k] - v25) * v37))));
    }
  }
  float together44[2];
  together44[0] = v44;
  together44[1] = v45;
  combine_columns<Sum<float>, 1, 64, 1, 2, false>(together44, shared + parts + 32);
  v44 = together44[0];
  v45 = together44[1];
  const float v49 = v45 * c8;
  const float v52 = v44 * c7;
  float v57[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      const float v51 = (c3 * (2.0f * ((v23[c][k] - v25) * v37))) - v49;
      const float v54 = ((v23[c][k] - v25) * v37) * v52;
      const float v55 = v51 - v54;
      v57[c][k] = v48 * v55;
    }
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    store_wide<4, 4>((out1 + (v13 * s1_0) + col), v57[c]);
  }
}
// 64 threads, cluster of 1, 48 bytes shared

