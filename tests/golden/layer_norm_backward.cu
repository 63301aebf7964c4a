// sum_multiply_subtract_multiply_multiply_sum_etc: tile 1 x 768, 1 x 64 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_multiply_sum_etc {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
  long long s1_0;
  long long n1;
  double c2;
  double c1;
  double c3;
  double c0;
  double c4;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(64, 16) k_sum_multiply_subtract_multiply_multiply_sum_etc(const Arguments_k_sum_multiply_subtract_multiply_multiply_sum_etc a, long long g0, long long g1, long long g2, Failure* failure) {
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
  const float c2 = static_cast<float>(a.c2);
  const float c1 = static_cast<float>(a.c1);
  const float c3 = static_cast<float>(a.c3);
  const float c0 = static_cast<float>(a.c0);
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
  const float v21 = v20 * c2;
  float v26;
  v26 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v26 = fmaf(((v19[c][k] - v21) * c1), (v19[c][k] - v21), v26);
    }
  }
  combine_columns<Sum<float>, 1, 64, 1, 1, false>(&v26, shared + parts + 16);
  const float v27 = v26 * c2;
  const float v28 = v27 + c3;
  const float v29 = rsqrtf(v28);
  const float v30 = v29 * c0;
  float v37[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v37[c][k] = (c4 * (2.0f * ((v19[c][k] - v21) * v30))) * (v19[c][k] - v21);
    }
  }
  float v36;
  v36 = Sum<float>::nothing();
  float v38;
  v38 = Sum<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      v36 = fmaf(c4, (2.0f * ((v19[c][k] - v21) * v30)), v36);
      v38 = Sum<float>::of(v38, v37[c][k]);
    }
  }
  float together36[2];
  together36[0] = v36;
  together36[1] = v38;
  combine_columns<Sum<float>, 1, 64, 1, 2, false>(together36, shared + parts + 32);
  v36 = together36[0];
  v38 = together36[1];
  const float v39 = v38 * c2;
  const float v40 = v30 * v39;
  const float v41 = v30 * v40;
  const float v42 = -v41;
  const float v43 = v36 * c2;
  float v48[3][4];
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 64 + tc) * 4 + k;
      const float v45 = (c4 * (2.0f * ((v19[c][k] - v21) * v30))) - v43;
      const float v47 = fmaf((v19[c][k] - v21), v42, v45);
      v48[c][k] = v30 * v47;
    }
  }
  #pragma unroll
  for (int c = 0; c < 3; ++c) {
    const int col = (c * 64 + tc) * 4;
    store_wide<4, 4>((out1 + (v9 * s1_0) + col), v48[c]);
  }
}
// 64 threads, cluster of 1, 48 bytes shared

