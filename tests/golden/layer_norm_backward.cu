// sum_multiply_subtract_multiply_sum_multiply_etc: tile 5 x 768, 8 x 32 threads, vectors of 4
struct Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_0b3032962918df9b {
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
extern "C" __global__ void __launch_bounds__(256) k_sum_multiply_subtract_multiply_sum_multiply_etc_0b3032962918df9b(const Arguments_k_sum_multiply_subtract_multiply_sum_multiply_etc_0b3032962918df9b a, long long g0, long long g1, long long g2, Failure* failure) {
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
  const long long v14 = id0;
  const long long v17 = v14 * 5ll;
  float v29[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      load_wide<4, 4, true>((in0 + (v17 * s0_0) + row * s0_0 + col), v29[r][c], row < bounded((n0 + (-v17))) && row < 5 ? 4 : 0, 0.0f);
    }
  }
  float v30[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v30[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v30[r] = Sum<float>::of(v30[r], v29[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v30, nullptr);
  float v31[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    // the user's line
    v31[r] = v30[r] * c0;
  }
  float v33[1][6][4];
  float v34[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v33[r][c][k] = v29[r][c][k] - v31[r];
        v34[r][c][k] = v33[r][c][k] * v33[r][c][k];
      }
    }
  }
  float v35[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v35[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v35[r] = Sum<float>::of(v35[r], v34[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v35, nullptr);
  float v36[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v36[r] = v30[r] * c4;
  }
  float v39[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const float v38 = v29[r][c][k] - v36[r];
        v39[r][c][k] = v38 * v38;
      }
    }
  }
  float v40[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v40[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v40[r] = Sum<float>::of(v40[r], v39[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v40, nullptr);
  float v43[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    const float v41 = v35[r] * c1;
    const float v42 = v41 + c2;
    v43[r] = rsqrtf(v42);
  }
  float v45[1][6][4];
  float v48[1][6][4];
  float v49[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        v45[r][c][k] = v33[r][c][k] * v43[r];
        const float v47 = 2.0f * v45[r][c][k];
        v48[r][c][k] = c3 * v47;
        v49[r][c][k] = v48[r][c][k] * v45[r][c][k];
      }
    }
  }
  float v50[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v50[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v50[r] = Sum<float>::of(v50[r], v49[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v50, nullptr);
  float v51[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v51[r] = Sum<float>::nothing();
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        if (row < 5) v51[r] = Sum<float>::of(v51[r], v48[r][c][k]);
      }
    }
  }
  combine_columns<Sum<float>, 8, 32, 1, 1>(v51, nullptr);
  float v54[1];
  float v55[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    const float v52 = v40[r] * c5;
    const float v53 = v52 + c6;
    v54[r] = rsqrtf(v53);
    v55[r] = v51[r] * c8;
  }
  float v58[1];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    v58[r] = v50[r] * c7;
  }
  float v63[1][6][4];
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int col = (c * 32 + tc) * 4 + k;
        const float v57 = v48[r][c][k] - v55[r];
        const float v60 = v45[r][c][k] * v58[r];
        const float v61 = v57 - v60;
        v63[r][c][k] = v54[r] * v61;
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 1; ++r) {
    const int row = r * 8 + tr;
    #pragma unroll
    for (int c = 0; c < 6; ++c) {
      const int col = (c * 32 + tc) * 4;
      if (row < bounded((n0 + (-v17))) && row < 5) store_wide<4, 4>((out1 + (v17 * s1_0) + row * s1_0 + col), v63[r][c]);
    }
  }
}
// 256 threads, cluster of 1, 0 bytes shared

