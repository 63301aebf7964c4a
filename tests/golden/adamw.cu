// add_cast_pow_subtract_divide_cast_pow_subtract_etc: tile 1 x 1, 1 x 32 threads, vectors of 1
struct Arguments_k_add_cast_pow_subtract_divide_cast_pow_subtract_etc {
  double* in0;
  long long* out1;
  float* out2;
  float* out3;
  long long c0;
  long long c5;
  double c6;
  double c7;
  double c8;
  double c9;
  long long p_chunks;
};
struct Set_k_add_cast_pow_subtract_divide_cast_pow_subtract_etc {
  long long first_instance;
  long long grid[3];
  Arguments_k_add_cast_pow_subtract_divide_cast_pow_subtract_etc a;
};
extern "C" __global__ void __launch_bounds__(32) k_add_cast_pow_subtract_divide_cast_pow_subtract_etc(const Set_k_add_cast_pow_subtract_divide_cast_pow_subtract_etc* sets, int count, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  // The last set that begins at or before this instance.
  const long long place = blockIdx.x;
  int set = 0;
  for (int low = 0, high = count; low < high;) {
    const int middle = (low + high) / 2;
    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;
    else high = middle;
  }
  const auto& a = sets[set].a;
  const long long instance = place - sets[set].first_instance;
  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  double* const in0 = lasting(a.in0);
  long long* const out1 = passing(a.out1);
  float* const out2 = passing(a.out2);
  float* const out3 = passing(a.out3);
  const long long c0 = static_cast<long long>(a.c0);
  const long long c5 = static_cast<long long>(a.c5);
  const double c6 = static_cast<double>(a.c6);
  const double c7 = static_cast<double>(a.c7);
  const double c8 = static_cast<double>(a.c8);
  const double c9 = static_cast<double>(a.c9);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  // the user's line
  const long long v10 = c0 + c5;
  const double v11 = widen(*(in0));
  const double v12 = static_cast<double>(v10);
  const double v13 = pow(c6, v12);
  const double v14 = c7 - v13;
  const double v15 = v11 / v14;
  const float v16 = static_cast<float>(v15);
  const double v17 = pow(c8, v12);
  const double v18 = c9 - v17;
  const double v19 = rsqrt(v18);
  const float v20 = static_cast<float>(v19);
  __syncthreads();
  if (threadIdx.x == 0) narrow(static_cast<long long>(v10), *(out1));
  if (threadIdx.x == 0) narrow(static_cast<float>(v16), *(out2));
  if (threadIdx.x == 0) narrow(static_cast<float>(v20), *(out3));
}
// 32 threads, cluster of 1, 0 bytes shared

// multiply_subtract_cast: tile 1 x 1, 1 x 32 threads, vectors of 1
struct Arguments_k_multiply_subtract_cast {
  double* in0;
  float* out1;
  double c10;
  double c11;
  long long p_chunks;
};
struct Set_k_multiply_subtract_cast {
  long long first_instance;
  long long grid[3];
  Arguments_k_multiply_subtract_cast a;
};
extern "C" __global__ void __launch_bounds__(32) k_multiply_subtract_cast(const Set_k_multiply_subtract_cast* sets, int count, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 32, tc = static_cast<int>(threadIdx.x) % 32;
  (void)tr, (void)tc, (void)failure;
  // The last set that begins at or before this instance.
  const long long place = blockIdx.x;
  int set = 0;
  for (int low = 0, high = count; low < high;) {
    const int middle = (low + high) / 2;
    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;
    else high = middle;
  }
  const auto& a = sets[set].a;
  const long long instance = place - sets[set].first_instance;
  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  double* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const double c10 = static_cast<double>(a.c10);
  const double c11 = static_cast<double>(a.c11);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const double v4 = widen(*(in0));
  // the user's line
  const double v5 = c10 * v4;
  const double v6 = c11 - v5;
  const float v7 = static_cast<float>(v6);
  __syncthreads();
  if (threadIdx.x == 0) narrow(static_cast<float>(v7), *(out1));
}
// 32 threads, cluster of 1, 0 bytes shared

// multiply_multiply_multiply_add_multiply_multiply_etc: tile 1 x 512, 1 x 128 threads, vectors of 4
struct Arguments_k_multiply_multiply_multiply_add_multiply_multiply_etc {
  float* in0;
  float* in1;
  float* in2;
  float* in3;
  float* in4;
  float* out5;
  float* out6;
  float* out7;
  long long n0;
  double c17;
  double c18;
  double c2;
  double c19;
  double c20;
  double c4;
  double c21;
  long long p_chunks;
  long long tiles0;
};
struct Set_k_multiply_multiply_multiply_add_multiply_multiply_etc {
  long long first_instance;
  long long grid[3];
  Arguments_k_multiply_multiply_multiply_add_multiply_multiply_etc a;
};
extern "C" __global__ void __launch_bounds__(128) k_multiply_multiply_multiply_add_multiply_multiply_etc(const Set_k_multiply_multiply_multiply_add_multiply_multiply_etc* sets, int count, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 128, tc = static_cast<int>(threadIdx.x) % 128;
  (void)tr, (void)tc, (void)failure;
  // The last set that begins at or before this instance.
  const long long place = blockIdx.x;
  int set = 0;
  for (int low = 0, high = count; low < high;) {
    const int middle = (low + high) / 2;
    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;
    else high = middle;
  }
  const auto& a = sets[set].a;
  const long long instance = place - sets[set].first_instance;
  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const in2 = lasting(a.in2);
  float* const in3 = lasting(a.in3);
  float* const in4 = lasting(a.in4);
  float* const out5 = passing(a.out5);
  float* const out6 = passing(a.out6);
  float* const out7 = passing(a.out7);
  const long long n0 = static_cast<long long>(a.n0);
  const float c17 = static_cast<float>(a.c17);
  const float c18 = static_cast<float>(a.c18);
  const float c2 = static_cast<float>(a.c2);
  const float c19 = static_cast<float>(a.c19);
  const float c20 = static_cast<float>(a.c20);
  const float c4 = static_cast<float>(a.c4);
  const float c21 = static_cast<float>(a.c21);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long v15 = id0;
  const long long v18 = v15 * 512ll;
  // the user's line
  const float v21 = c18 * c2;
  float v23[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    load_wide<4, 4>((in2 + v18 + col), v23[c]);
  }
  const float v26 = c20 * c4;
  float v31[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    load_wide<4, 4>((in0 + v18 + col), v31[c]);
  }
  const float v32 = widen(*(in1));
  const float v34 = widen(*(in4));
  const float v37 = widen(*(in3));
  float v25[1][4];
  float v29[1][4];
  float v41[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 128 + tc) * 4 + k;
      const float v24 = c17 * v23[c][k];
      v25[c][k] = v21 + v24;
      const float v27 = v23[c][k] * v23[c][k];
      const float v28 = c19 * v27;
      v29[c][k] = v26 + v28;
      const float v33 = v31[c][k] * v32;
      const float v35 = v34 * v25[c][k];
      const float v36 = sqrtf(v29[c][k]);
      const float v38 = v36 * v37;
      const float v39 = v38 + c21;
      const float v40 = v35 / v39;
      v41[c][k] = v33 - v40;
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4>((out5 + v18 + col), v25[c]);
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4>((out6 + v18 + col), v29[c]);
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4>((out7 + v18 + col), v41[c]);
  }
}
// 128 threads, cluster of 1, 0 bytes shared

