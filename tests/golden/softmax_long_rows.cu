// max: tile 1 x 262144, 1 x 1024 threads in each of 8 blocks, vectors of 4
struct Arguments_k_max {
  float* in0;
  float* out1;
  long long n0;
  long long s0_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(1024) __cluster_dims__(8, 1, 1) k_max(const Arguments_k_max a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  const int block = cluster_rank();
  const int tr = static_cast<int>(threadIdx.x) / 1024, tc = block * 1024 + static_cast<int>(threadIdx.x) % 1024;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x / 8;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const out1 = passing(a.out1);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  if (threadIdx.x == 0) {
    begin_exchange(shared + parts + 1024);
  }
  cluster_arrive();
  const long long v3 = id0;
  float v13[8][4];
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 8192 + tc) * 4;
    load_wide<4, 4>((in0 + (v3 * s0_0) + col), v13[c]);
  }
  float v14;
  v14 = Max<float>::nothing();
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 8192 + tc) * 4 + k;
      v14 = Max<float>::of(v14, v13[c][k]);
    }
  }
  cluster_wait();
  combine_columns<Max<float>, 1, 1024, 8, 1, false>(&v14, shared + parts, shared + parts + 1024);
  if (threadIdx.x == 0 && block == 0) narrow(static_cast<float>(v14), *((out1 + v3)));
}
// 1024 threads, cluster of 8, 1040 bytes shared

// subtract_exp_sum: tile 1 x 262144, 1 x 512 threads in each of 16 blocks, vectors of 4
struct Arguments_k_subtract_exp_sum {
  float* in0;
  float* in1;
  float* out2;
  float* out3;
  long long n0;
  long long s0_0;
  long long s2_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(512, 3) __cluster_dims__(16, 1, 1) k_subtract_exp_sum(const Arguments_k_subtract_exp_sum a, long long g0, long long g1, long long g2, Failure* failure) {
  TEGULA_SHARED;
  constexpr int parts = 0;  // of reductions, in shared
  constexpr int held = 1152;  // of rows
  const int block = cluster_rank();
  const int tr = static_cast<int>(threadIdx.x) / 512, tc = block * 512 + static_cast<int>(threadIdx.x) % 512;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x / 16;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  float* const out3 = passing(a.out3);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s2_0 = static_cast<long long>(a.s2_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  if (threadIdx.x == 0) {
    begin_exchange(shared + parts + 1024);
  }
  cluster_arrive();
  const long long v6 = id0;
  Wide<float, 4>* const row16 = reinterpret_cast<Wide<float, 4>*>(shared + held) + threadIdx.x;
  #pragma unroll 2
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 8192 + tc) * 4;
    copy_async((in0 + (v6 * s0_0) + col), row16[c * 512]);
  }
  const float v18 = widen(*((in1 + v6)));
  // the user's line
  float v22;
  v22 = Sum<float>::nothing();
  await_copies();
  #pragma unroll 2
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 8192 + tc) * 4;
    const Wide<float, 4> x16 = row16[c * 512];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      v22 = Sum<float>::of(v22, (expf((element_of(x16, k) - v18))));
    }
  }
  cluster_wait();
  combine_columns<Sum<float>, 1, 512, 16, 1, false>(&v22, shared + parts, shared + parts + 1024);
  #pragma unroll 2
  for (int c = 0; c < 8; ++c) {
    const int col = (c * 8192 + tc) * 4;
    const Wide<float, 4> x16 = row16[c * 512];
    float x[4];
    const int first = col;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = first + k;
      x[k] = (expf((element_of(x16, k) - v18)));
    }
    store_wide<4, 4>((out2 + (v6 * s2_0) + col), x);
  }
  cluster_barrier();
  if (threadIdx.x == 0 && block == 0) narrow(static_cast<float>(v22), *((out3 + v6)));
}
// 512 threads, cluster of 16, 66688 bytes shared

// divide: tile 1 x 512, 1 x 128 threads, vectors of 4
struct Arguments_k_divide {
  float* in0;
  float* in1;
  float* out2;
  long long n0;
  long long s0_0;
  long long s2_0;
  long long n1;
  long long p_chunks;
  long long tiles0;
  long long tiles1;
};
extern "C" __global__ void __launch_bounds__(128) k_divide(const Arguments_k_divide a, long long g0, long long g1, long long g2, Failure* failure) {
  const int tr = static_cast<int>(threadIdx.x) / 128, tc = static_cast<int>(threadIdx.x) % 128;
  (void)tr, (void)tc, (void)failure;
  const long long instance = blockIdx.x;
  const long long id0 = instance, id1 = 0, id2 = 0;
  (void)id0, (void)id1, (void)id2;
  float* const in0 = lasting(a.in0);
  float* const in1 = lasting(a.in1);
  float* const out2 = passing(a.out2);
  const long long n0 = static_cast<long long>(a.n0);
  const long long s0_0 = static_cast<long long>(a.s0_0);
  const long long s2_0 = static_cast<long long>(a.s2_0);
  const long long n1 = static_cast<long long>(a.n1);
  const long long p_chunks = static_cast<long long>(a.p_chunks);
  const long long tiles0 = static_cast<long long>(a.tiles0);
  const long long tiles1 = static_cast<long long>(a.tiles1);
  const long long v6 = id0;
  const long long v7 = remainder_short(v6, tiles1);
  const long long v8 = divided_short(v6, tiles1);
  const long long v11 = v7 * 512ll;
  float v21[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    load_wide<4, 4>((in0 + ((v8 * s0_0) + v11) + col), v21[c]);
  }
  const float v23 = widen(*((in1 + v8)));
  float v25[1][4];
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int col = (c * 128 + tc) * 4 + k;
      // the user's line
      v25[c][k] = quotient(v21[c][k], v23);
    }
  }
  #pragma unroll
  for (int c = 0; c < 1; ++c) {
    const int col = (c * 128 + tc) * 4;
    store_wide<4, 4>((out2 + ((v8 * s2_0) + v11) + col), v25[c]);
  }
}
// 128 threads, cluster of 1, 0 bytes shared

