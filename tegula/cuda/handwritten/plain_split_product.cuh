// Text of kernels, as plain_split_product.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

#pragma region Store
__device__ __forceinline__ float finished(int m, int n, float sum@BIAS@) {
#if BIAS
  sum += bias[BIAS_ALONG_M ? m : n];
#endif
  return activation(sum);
}
__device__ __forceinline__ void store_result(float* result, int m, int n, float sum@BIAS@) {
  if (m < M && n < N) result[m + static_cast<long long>(n) * RESULT_LEADING] = finished(m, n, sum@ADDED@);
}
#pragma endregion

// A group of 64 threads holds a whole tile of the result, (TM/8) x (TN/8) elements in each thread, and takes every fourth step of the inner
// axis; the four groups' sums are added in shared memory, then those of the cluster.
//
// Operands lie in shared memory by inner index. Its order is permuted, in both alike, so that lanes that read along the inner axis write to
// different banks.
#pragma region SplitProduct
#define PAD_M (TILE_M + 4)
#define PAD_N (TILE_N + 4)
#define SUMS_M (TILE_M / 8)
#define SUMS_N (TILE_N / 8)

struct alignas(16) Four { float x[4]; };

__device__ inline int place_of(int k) { return k / 32 * 32 + k % 4 * 8 + k / 4 % 8; }

// Lines of an operand from `first` on, inner indices from k0 to `end`, to shared memory: zeros outside.
template <int kLines, bool kAlongInner, bool kWide>
__device__ inline void fill(float* shared, const float* x, int first, int lines, int leading, int k0, int end) {
  constexpr int kPad = kLines + 4, kQuads = kLines * CHUNK / 4;
#pragma unroll
  for (int q = threadIdx.x; q < kQuads; q += 256) {
    // Eight lanes along what is contiguous, the others across.
    int line, k;
    if (kAlongInner) k = (q % 8 + q / (8 * kLines) * 8) * 4, line = q / 8 % kLines;
    else line = q % (kLines / 4) * 4, k = q / (kLines / 4);
    Four value = {};
    if (kAlongInner) {
      const float* from = x + (first + line) * leading + k0 + k;
      if (first + line < lines) {
        if (kWide) {
          if (k0 + k < end) value = *reinterpret_cast<const Four*>(from);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) if (k0 + k + i < end) value.x[i] = from[i];
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) shared[place_of(k + i) * kPad + line] = value.x[i];
    } else {
      const float* from = x + (k0 + k) * leading + first + line;
      if (k0 + k < end) {
        if (kWide) {
          if (first + line < lines) value = *reinterpret_cast<const Four*>(from);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) if (first + line + i < lines) value.x[i] = from[i];
        }
      }
      *reinterpret_cast<Four*>(shared + place_of(k) * kPad + line) = value;
    }
  }
}

#ifdef TEGULA_EMULATED
#define SHARED_FLOATS(count) float* const shared = reinterpret_cast<float*>(tegula_emulated.shared)
#else
#define SHARED_FLOATS(count) __shared__ alignas(16) float shared[count]
#if PARTS > 1
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline float cluster_read(const float* place, int rank) {
  unsigned int here = static_cast<unsigned int>(__cvta_generic_to_shared(place)), there;
  float value;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
  return value;
}
#endif
#endif

extern "C" __global__ void __launch_bounds__(256)@ATTRIBUTES@ split_product(const float* left, const float* right@BIAS@, float* result) {
  SHARED_FLOATS(CHUNK * (PAD_M + PAD_N));
  float* const lefts = shared;
  float* const rights = shared + CHUNK * PAD_M;
  const int part = blockIdx.x % PARTS, tile = blockIdx.x / PARTS;
  const int m0 = tile % TILES_M * TILE_M, n0 = tile / TILES_M % TILES_N * TILE_N;
  const long long batch = tile / (TILES_M * TILES_N);
  left += batch * LEFT_BATCH, right += batch * RIGHT_BATCH, result += batch * RESULT_BATCH;
  const int group = threadIdx.x / 64, tm = threadIdx.x % 8 * SUMS_M, tn = threadIdx.x % 64 / 8 * SUMS_N;

  alignas(16) float sums[SUMS_N][SUMS_M] = {};
  const int begin = part * SLICE, end = begin + SLICE < K ? begin + SLICE : K;
  for (int k0 = begin; k0 < end; k0 += CHUNK) {
    if (k0 > begin) __syncthreads();
    fill<TILE_M, LEFT_INNER, LEFT_WIDE>(lefts, left, m0, M, LEFT_LEADING, k0, end);
    fill<TILE_N, RIGHT_INNER, RIGHT_WIDE>(rights, right, n0, N, RIGHT_LEADING, k0, end);
    __syncthreads();
#pragma unroll 8
    for (int k = group; k < CHUNK; k += 4) {
      alignas(16) float a[SUMS_M], b[SUMS_N];
#pragma unroll
      for (int i = 0; i < SUMS_M; i += 4) *reinterpret_cast<Four*>(a + i) = *reinterpret_cast<const Four*>(lefts + k * PAD_M + tm + i);
#pragma unroll
      for (int j = 0; j < SUMS_N; j += 4) *reinterpret_cast<Four*>(b + j) = *reinterpret_cast<const Four*>(rights + k * PAD_N + tn + j);
#pragma unroll
      for (int j = 0; j < SUMS_N; ++j)
#pragma unroll
        for (int i = 0; i < SUMS_M; ++i) sums[j][i] += a[i] * b[j];
    }
  }

  // The groups' sums, in their order; then the cluster's. Each block finishes its share of the tile.
  __syncthreads();
#pragma unroll
  for (int j = 0; j < SUMS_N; ++j)
#pragma unroll
    for (int i = 0; i < SUMS_M; i += 4)
      *reinterpret_cast<Four*>(shared + group * (TILE_M * TILE_N) + (tn + j) * TILE_M + tm + i) = *reinterpret_cast<const Four*>(&sums[j][i]);
  __syncthreads();
#if PARTS > 1
  for (int e = threadIdx.x; e < TILE_M * TILE_N; e += 256) {
    float sum = shared[e];
#pragma unroll
    for (int g = 1; g < 4; ++g) sum += shared[g * (TILE_M * TILE_N) + e];
    shared[e] = sum;
  }
  cluster_barrier();
#endif
  for (int e = threadIdx.x + part * (TILE_M * TILE_N / PARTS); e < (part + 1) * (TILE_M * TILE_N / PARTS); e += 256) {
#if PARTS > 1
    float sum = cluster_read(shared + e, 0);
#pragma unroll
    for (int rank = 1; rank < PARTS; ++rank) sum += cluster_read(shared + e, rank);
#else
    float sum = shared[e];
#pragma unroll
    for (int g = 1; g < 4; ++g) sum += shared[g * (TILE_M * TILE_N) + e];
#endif
    store_result(result, m0 + e % TILE_M, n0 + e / TILE_M, sum@ADDED@);
  }
#if PARTS > 1
  cluster_barrier();  // nobody leaves before all have read
#endif
}
#pragma endregion
