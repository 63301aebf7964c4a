// cast_sum_multiply_subtract_multiply_sum_multiply_etc: tile 1 x 65536, 1 x 1024 threads, vectors of 8
struct Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_4f48fe13f38c678c {
  BFloat16* in0;
  BFloat16* in1;
  BFloat16* in2;
  BFloat16* out3;
  long long n0;
  long long s0_0;
  long long s3_0;
  long long n1;
  double c0;
  double c1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(1024, 1) k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_4f48fe13f38c678c(const Arguments_k_cast_sum_multiply_subtract_multiply_sum_multiply_etc_4f48fe13f38c678c a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  constexpr int held = 256;  // of rows
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  long long id0 = instance, id1 = 0, id2 = 0;
  if (g1 * g2 != 1) id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * g1);
  (void)id0, (void)id1, (void)id2;
  BFloat16* const in0 = a.in0;
  BFloat16* const in1 = a.in1;
  BFloat16* const in2 = a.in2;
  BFloat16* const out3 = a.out3;
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s3_0 = static_cast<long long>(a.s3_0);
  const long long n1 = static_cast<long long>(a.n1);
  const float c0 = static_cast<float>(a.c0);
  const float c1 = static_cast<float>(a.c1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v8 = id0;
  Wide<BFloat16, 8>* const row18 = reinterpret_cast<Wide<BFloat16, 8>*>(shared + held) + threadIdx.x;
  #pragma unroll 4
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 1024 + tc) * 8;
    copy_async((in0 + (v8 * s0_0) + col), row18[c * 1024]);
  }
  // the user's line
  float v19;
  v19 = Sum<float>::nothing();
  await_copies();
  #pragma unroll 4
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x18 = row18[c * 1024];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = first + k;
      v19 = Sum<float>::of(v19, widen(x18.x[k]));
    }
  }
  combine_columns<Sum<float>, 1, 1024, 1, 1, false>(&v19, shared + parts);
  const float v20 = v19 * c0;
  float v24;
  v24 = Sum<float>::nothing();
  #pragma unroll 4
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x18 = row18[c * 1024];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = first + k;
      v24 = Sum<float>::of(v24, ((widen(x18.x[k]) - v20) * (widen(x18.x[k]) - v20)));
    }
  }
  combine_columns<Sum<float>, 1, 1024, 1, 1, false>(&v24, shared + parts + 128);
  const float v25 = v24 * c0;
  const float v26 = v25 + c1;
  const float v27 = rsqrtf(v26);
  #pragma unroll 4
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 1024 + tc) * 8;
    const Wide<BFloat16, 8> x18 = row18[c * 1024];
    Wide<BFloat16, 8> x31;
    load_wide<8, 8>((in1 + col), x31);
    Wide<BFloat16, 8> x34;
    load_wide<8, 8>((in2 + col), x34);
    float x[8];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int col = first + k;
      x[k] = ((((widen(x18.x[k]) - v20) * v27) * widen(x31.x[k])) + widen(x34.x[k]));
    }
    store_wide<8, 8>((out3 + (v8 * s3_0) + col), x);
  }
}
// 1024 threads, cluster of 1, 131328 bytes shared

