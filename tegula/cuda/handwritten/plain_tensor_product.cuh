// Text of kernels, as plain_tensor_product.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

// Lanes (g, t) = (lane / 4, lane % 4). A lane holds, of every line it has, four neighbours of the inner axis from 4t on: its slots of two
// products in a row. A lane's lines of a tile are free as well: neighbours where lines are neighbours in memory (place 8 of g * n +
// i), every eighth where the inner axis is (g + 8 * i), so that it reads whole vectors either way.
#pragma region TensorProduct
#define GROUPS_M (TILE_M / 8)
#define GROUPS_N (TILE_N / 8)
#define TILE (TILE_M * TILE_N)

template <int kCount>
struct alignas(4 * kCount) Neighbours { float x[kCount]; };

template <int kGroups, bool kAlongInner>
__device__ inline int line_of(int g, int i) { return kAlongInner ? g + 8 * i : g * kGroups + i; }

// x[i][q]: element k + q of line i of lane group g. kWhole: no line is outside. Outside there are zeros, read without a branch so that many loads are under way at once.
template <int kGroups, bool kAlongInner, bool kWide, bool kWhole>
__device__ inline void fetch(float (&x)[kGroups][4], const float* from, int first, int lines, int leading, int k, int g) {
#pragma unroll
  for (int o = 0; o < (kAlongInner ? kGroups : 4); ++o) {
    constexpr int kCount = kAlongInner ? 4 : kGroups;  // that lie side by side
    const int line = first + (kAlongInner ? line_of<kGroups, true>(g, o) : g * kGroups), inner = kAlongInner ? k : k + o;
    const int at = kAlongInner ? line * leading + inner : inner * leading + line;
    Neighbours<kCount> found;
    if (kWide) {
      const bool inside = (kWhole || line < lines) && (K % (16 * WARPS * TOGETHER) == 0 || inner < K);
      found = *reinterpret_cast<const Neighbours<kCount>*>(from + (inside ? at : 0));
#pragma unroll
      for (int i = 0; i < kCount; ++i) found.x[i] = inside ? found.x[i] : 0.0f;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const bool inside = line + (kAlongInner ? 0 : i) < lines && inner + (kAlongInner ? i : 0) < K;
        const float one = from[inside ? at + i : 0];
        found.x[i] = inside ? one : 0.0f;
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) (kAlongInner ? x[o][i] : x[i][o]) = found.x[i];
  }
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1) tensor_product(const float* left, const float* right@BIAS@, float* result) {
  __shared__ float share[WARPS * TILE];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, tile = blockIdx.x;
  const int m0 = tile % TILES_M * TILE_M, n0 = tile / TILES_M % TILES_N * TILE_N;
  const long long batch = tile / (TILES_M * TILES_N);
  left += batch * LEFT_BATCH, right += batch * RIGHT_BATCH, result += batch * RESULT_BATCH;

  float sum[GROUPS_M / 2][GROUPS_N][4] = {};
#pragma unroll 1
  for (int first = 0; first < ROUNDS; first += TOGETHER) {
    float a[TOGETHER][GROUPS_M][4], b[TOGETHER][GROUPS_N][4];
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      const int k = ((first + r) * WARPS + warp) * 16 + t * 4;
      fetch<GROUPS_M, LEFT_INNER, LEFT_WIDE, M % TILE_M == 0>(a[r], left, m0, M, LEFT_LEADING, k, g);
      fetch<GROUPS_N, RIGHT_INNER, RIGHT_WIDE, N % TILE_N == 0>(b[r], right, n0, N, RIGHT_LEADING, k, g);
    }
    __syncwarp();  // the compiler starts no product before all loads are under way
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
#pragma unroll
        for (int i = 0; i < GROUPS_M; ++i) a[r][i][q] = rounded(a[r][i][q]);
#pragma unroll
        for (int j = 0; j < GROUPS_N; ++j) b[r][j][q] = rounded(b[r][j][q]);
      }
#pragma unroll
      for (int i = 0; i < GROUPS_M / 2; ++i) {
#pragma unroll
        for (int j = 0; j < GROUPS_N; ++j) {
          product(sum[i][j], a[r][2 * i][0], a[r][2 * i + 1][0], a[r][2 * i][1], a[r][2 * i + 1][1], b[r][j][0], b[r][j][1]);
          product(sum[i][j], a[r][2 * i][2], a[r][2 * i + 1][2], a[r][2 * i][3], a[r][2 * i + 1][3], b[r][j][2], b[r][j][3]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < GROUPS_M / 2; ++i) {
#pragma unroll
    for (int j = 0; j < GROUPS_N; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int m = line_of<GROUPS_M, LEFT_INNER>(g, 2 * i + e / 2), n = line_of<GROUPS_N, RIGHT_INNER>(2 * t + e % 2, j);
        share[warp * TILE + n * TILE_M + m] = sum[i][j][e];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int e = threadIdx.x; e < TILE; e += WARPS * 32) {
    float total = share[e];
#pragma unroll
    for (int other = 1; other < WARPS; ++other) total += share[other * TILE + e];
    store_result(result, m0 + e % TILE_M, n0 + e / TILE_M, total@ADDED@);
  }
}
#pragma endregion
