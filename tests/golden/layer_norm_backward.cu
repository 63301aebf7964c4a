// sum_multiply_multiply_negate_multiply_add_etc: tile 1 x 768, 1 x 64 threads, vectors of 4
struct Arguments_k_sum_multiply_multiply_negate_multiply_add_etc {
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
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(64, 16) k_sum_multiply_multiply_negate_multiply_add_etc(const Arguments_k_sum_multiply_multiply_negate_multiply_add_etc a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int tr = static_cast<int>(threadIdx.x) / 64, tc = static_cast<int>(threadIdx.x) % 64;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s1_0 = static_cast<long long>(a.s1_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const float c2 = static_cast<float>(a.c2);
  const float c3 = static_cast<float>(a.c3);
  const float c4 = static_cast<float>(a.c4);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v9 = id0;
  float v19[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    load_wide<4, 4>((in0 + (v9 * s0_0) + col), v19[c]);
  }
  float v20;
  v20 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v20 = Sum<float>::of(v20, v19[c][k]);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v20, shared + parts);
  // the user's line
  const float v21 = v20 * c0;
  const float v22 = v21 * c1;
  const float v23 = -v22;
  float v27;
  v27 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v27 = fmaf((fmaf(v19[c][k], c1, v23)), (fmaf(v19[c][k], c1, v23)), v27);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v27, shared + parts + 16);
  const float v30 = v27 * c0;
  const float v31 = v30 + c2;
  const float v32 = rsqrtf(v31);
  const float v33 = v32 * c1;
  float v40[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v40[c][k] = (c3 * (2.0f * ((v19[c][k] - v21) * v33))) * (fmaf(v19[c][k], c1, v23));
    }
  }
  float v39;
  v39 = Sum<float>::nothing();
  float v41;
  v41 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v39 = fmaf(c3, (2.0f * ((v19[c][k] - v21) * v33)), v39);
      v41 = Sum<float>::of(v41, v40[c][k]);
    }
  }
  float together39[2];
  together39[0] = v39;
  together39[1] = v41;
  combine_columns<Sum<float>, 1, 64, 1, 2, false>(together39, shared + parts + 32);
  v39 = together39[0];
  v41 = together39[1];
  const float v42 = v41 * c0;
  const float v43 = v42 * c4;
  const float v44 = v33 * v43;
  const float v45 = v33 * v44;
  const float v46 = -v45;
  const float v47 = v39 * c0;
  float v52[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      const float v49 = (c3 * (2.0f * ((v19[c][k] - v21) * v33))) - v47;
      const float v51 = fmaf((v19[c][k] - v21), v46, v49);
      v52[c][k] = v33 * v51;
    }
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    store_wide<4, 4>((out1 + (v9 * s1_0) + col), v52[c]);
  }
}
// 64 threads, cluster of 1, 48 bytes shared

