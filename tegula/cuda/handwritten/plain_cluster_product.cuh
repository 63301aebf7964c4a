// Text of kernels, as plain_cluster_product.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

// The tensor cores' rows are the result's columns (N), so that the pairs of neighbours a lane gets lie side by side in memory (along M).
//
// An operand lies in shared memory as it does in memory. Its lines are padded so that the eight lanes of a group and the four of a quad read
// from 32 banks: by 4 where the inner axis is contiguous, else by 8. The sums of a tile lie by columns, each turned by 8 places more than the
// one before, for the same reason.
#pragma region ClusterProduct
struct alignas(16) Four { float x[4]; };
struct alignas(8) Two { float x[2]; };

#ifdef TEGULA_EMULATED
#define SHARED float* const shared = reinterpret_cast<float*>(tegula_emulated.shared)
template <int kBytes>
inline void copy_later(float* to, const float* from, bool inside) {
  for (int i = 0; i < kBytes / 4; ++i) to[i] = inside ? from[i] : 0.0f;
}
inline void end_group() {}
template <int kGroups>
inline void await_groups() {}
#else
#define SHARED extern __shared__ Four fours[]; float* const shared = reinterpret_cast<float*>(fours)
template <int kBytes>
__device__ __forceinline__ void copy_later(float* to, const float* from, bool inside) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = inside ? kBytes : 0;  // what is not read becomes zero
  if (kBytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most kGroups groups are under way.
template <int kGroups>
__device__ __forceinline__ void await_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory"); }
#if PARTS > 1
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ Four cluster_read(const Four* place, int rank) {
  unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(place)), there;
  Four value;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x[0]), "=f"(value.x[1]), "=f"(value.x[2]), "=f"(value.x[3]) : "r"(there) : "memory");
  return value;
}
#endif
#endif

// Returns the place of (line, inner index) of an operand.
template <int kPitch, bool kAlongInner>
__device__ __forceinline__ int place_of(int line, int k) { return kAlongInner ? line * kPitch + k : k * kPitch + line; }

// Asks for STEP inner indices from k0 on of kLines lines from `first` on: zeros outside.
template <int kLines, int kPitch, bool kAlongInner, bool kWide>
__device__ __forceinline__ void ask(float* to, const float* from, int first, int lines, int leading, int k0, int end) {
  constexpr int kQuads = kLines * STEP / 4;
#pragma unroll
  for (int base = 0; base < kQuads; base += THREADS) {
    const int q = base + threadIdx.x;
    if (kQuads % THREADS != 0 && q >= kQuads) break;
    const int line = kAlongInner ? q / (STEP / 4) : q % (kLines / 4) * 4, k = kAlongInner ? q % (STEP / 4) * 4 : q / (kLines / 4);
    const int at = kAlongInner ? (first + line) * leading + k0 + k : (k0 + k) * leading + first + line;
    float* const place = to + place_of<kPitch, kAlongInner>(line, k);
    if (kWide) {
      const bool inside = first + line < lines && k0 + k < end;
      copy_later<16>(place, from + (inside ? at : 0), inside);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool inside = first + line + (kAlongInner ? 0 : i) < lines && k0 + k + (kAlongInner ? i : 0) < end;
        copy_later<4>(place + i, from + (inside ? at + i : 0), inside);
      }
    }
  }
}

#define LEFT_PITCH (LEFT_INNER ? STEP + 4 : TILE_M + 8)
#define RIGHT_PITCH (RIGHT_INNER ? STEP + 4 : TILE_N + 8)
#define LEFT_FLOATS (LEFT_INNER ? TILE_M * LEFT_PITCH : STEP * LEFT_PITCH)

extern "C" __global__ void __launch_bounds__(THREADS, 1)@ATTRIBUTES@ cluster_product(const float* left, const float* right@BIAS@, float* result) {
  SHARED;
  const int part = blockIdx.x % PARTS, tile = blockIdx.x / PARTS;
  const int m0 = tile % TILES_M * TILE_M, n0 = tile / TILES_M % TILES_N * TILE_N;
  const long long batch = tile / (TILES_M * TILES_N);
  left += batch * LEFT_BATCH, right += batch * RIGHT_BATCH, result += batch * RESULT_BATCH;
  const int begin = part * SLICE, end = begin + SLICE < K ? begin + SLICE : K;
  // A warp's part of the tile, and which of the GROUPS that take turns along the inner axis it is in.
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int group = warp % GROUPS, wm = warp / GROUPS % (TILE_M / 32) * 32, wn = warp / GROUPS / (TILE_M / 32) * 32;

  const auto request = [&](int step) {
    if (step < STEPS) {
      float* const to = shared + step % SLOTS * SLOT;
      ask<TILE_M, LEFT_PITCH, LEFT_INNER, LEFT_WIDE>(to, left, m0, M, LEFT_LEADING, begin + step * STEP, end);
      ask<TILE_N, RIGHT_PITCH, RIGHT_INNER, RIGHT_WIDE>(to + LEFT_FLOATS, right, n0, N, RIGHT_LEADING, begin + step * STEP, end);
    }
    end_group();
  };
#pragma unroll 1
  for (int step = 0; step < AHEAD; ++step) request(step);
  float sum[2][4][4] = {};
#pragma unroll UNROLL
  for (int step = 0; step < STEPS; ++step) {
    await_groups<AHEAD - 1>();
    __syncthreads();
    request(step + AHEAD);  // over what all have done with
    const float* const lefts = shared + step % SLOTS * SLOT;
    const float* const rights = lefts + LEFT_FLOATS;
#pragma unroll
    for (int turn = 0; turn < STEP / 8; turn += GROUPS) {
      const int k = (turn + group) * 8 + t;
      float rows[2][4], columns[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) rows[i][e] = rounded(rights[place_of<RIGHT_PITCH, RIGHT_INNER>(wn + i * 16 + g + e % 2 * 8, k + e / 2 * 4)]);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) columns[j][e] = rounded(lefts[place_of<LEFT_PITCH, LEFT_INNER>(wm + j * 8 + g, k + e * 4)]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) product(sum[i][j], rows[i][0], rows[i][1], rows[i][2], rows[i][3], columns[j][0], columns[j][1]);
      }
    }
  }

  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int m = wm + j * 8 + 2 * t, n = wn + i * 16 + g + e * 8;
        *reinterpret_cast<Two*>(shared + (group * TILE_N + n) * TILE_M + (m + 8 * n) % TILE_M) = Two{{sum[i][j][2 * e], sum[i][j][2 * e + 1]}};
      }
    }
  }
#if PARTS > 1
  cluster_barrier();
#else
  __syncthreads();
#endif
  // Each block finishes its share of the tile.
  constexpr int kShare = TILE_M * TILE_N / 4 / PARTS;
#pragma unroll
  for (int base = 0; base < kShare; base += THREADS) {
    const int q = base + threadIdx.x + part * kShare, m = q % (TILE_M / 4) * 4, n = q / (TILE_M / 4);
    if (kShare % THREADS != 0 && base + threadIdx.x >= kShare) break;
    Four sums[PARTS * GROUPS];
#pragma unroll
    for (int other = 0; other < PARTS * GROUPS; ++other) {
      const Four* const place = reinterpret_cast<const Four*>(shared + (other % GROUPS * TILE_N + n) * TILE_M + (m + 8 * n) % TILE_M);
#if PARTS > 1
      sums[other] = cluster_read(place, other / GROUPS);
#else
      sums[other] = *place;
#endif
    }
    Four total = sums[0];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int other = 1; other < PARTS * GROUPS; ++other) total.x[i] += sums[other].x[i];
    }
#if RESULT_WIDE
    if (m0 + m >= M || n0 + n >= N) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) total.x[i] = finished(m0 + m + i, n0 + n, total.x[i]@ADDED@);
    *reinterpret_cast<Four*>(result + m0 + m + static_cast<long long>(n0 + n) * RESULT_LEADING) = total;
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) store_result(result, m0 + m + i, n0 + n, total.x[i]@ADDED@);
#endif
  }
#if PARTS > 1
  cluster_barrier();  // nobody leaves before all have read
#endif
}
#pragma endregion
