// sum_multiply_subtract_multiply_sum_multiply_etc: tile 4 x 768, 4 x 32 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_929543a235b74828 {
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
extern "C" __global__ void __launch_bounds__(128) k_sum_multiply_subtract_multiply_sum_multiply_etc_929543a235b74828(const Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_929543a235b74828 a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
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
  const long long v16 = v13 * 4ll;
  float v26[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      load_wide<4, 4>((in0 + (v16 * s0_0) + row * s0_0 + col), v26[r][c]);
    }
  }
  float v27[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v27[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v27[r] = Sum<float>::of(v27[r], v26[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 4, 32, 1, 1, false>(v27, nullptr);
  float v28[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    // the user's line
    v28[r] = v27[r] * c0;
  }
  float v33[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v33[r] = v27[r] * c4;
  }
  float v32[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v32[r] = Sum<float>::nothing();
  }
  float v37[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v37[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v32[r] = Sum<float>::of(v32[r], ((v26[r][c][k] - v28[r]) * (v26[r][c][k] - v28[r])));
        v37[r] = Sum<float>::of(v37[r], ((v26[r][c][k] - v33[r]) * (v26[r][c][k] - v33[r])));
      }
    }
  }
  float together32[2];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    together32[0 + r] = v32[r];
    together32[1 + r] = v37[r];
  }
  combine_columns<Sum<float>, 4, 32, 1, 2, false>(together32, nullptr);
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v32[r] = together32[0 + r];
    v37[r] = together32[1 + r];
  }
  float v40[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    const float v38 = v32[r] * c1;
    const float v39 = v38 + c2;
    v40[r] = rsqrtf(v39);
  }
  float v46[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const float v42 = (v26[r][c][k] - v28[r]) * v40[r];
        const float v44 = 2.0f * v42;
        const float v45 = c3 * v44;
        v46[r][c][k] = v45 * v42;
      }
    }
  }
  float v47[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v47[r] = Sum<float>::nothing();
  }
  float v48[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v48[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v47[r] = Sum<float>::of(v47[r], v46[r][c][k]);
        v48[r] = Sum<float>::of(v48[r], (c3 * (2.0f * ((v26[r][c][k] - v28[r]) * v40[r]))));
      }
    }
  }
  float together47[2];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    together47[0 + r] = v47[r];
    together47[1 + r] = v48[r];
  }
  combine_columns<Sum<float>, 4, 32, 1, 2, false>(together47, nullptr);
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v47[r] = together47[0 + r];
    v48[r] = together47[1 + r];
  }
  float v51[1];
  float v52[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    const float v49 = v37[r] * c5;
    const float v50 = v49 + c6;
    v51[r] = rsqrtf(v50);
    v52[r] = v48[r] * c8;
  }
  float v55[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    v55[r] = v47[r] * c7;
  }
  float v60[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const float v54 = (c3 * (2.0f * ((v26[r][c][k] - v28[r]) * v40[r]))) - v52[r];
        const float v57 = ((v26[r][c][k] - v28[r]) * v40[r]) * v55[r];
        const float v58 = v54 - v57;
        v60[r][c][k] = v51[r] * v58;
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 4 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      store_wide<4, 4>((out1 + (v16 * s1_0) + row * s1_0 + col), v60[r][c]);
    }
  }
}
// 128 threads, cluster of 1, 0 bytes shared

