#include "tegula/cuda/handwritten/plain_split_product.h"

#include <algorithm>
#include <charconv>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_cluster_product.h"
#include "tegula/cuda/handwritten/plain_source.h"
#include "tegula/cuda/handwritten/plain_tensor_product.h"

namespace tegula::gpu {
namespace {

constexpr double kSmall = 1e9;            // operations
constexpr int kThreads = 256;
constexpr int kChunk = 128;               // of the inner axis in shared memory at once
constexpr std::int64_t kBlocks = 264;     // more parts than this keep no card busier

constexpr const char* kStore = R"(
__device__ __forceinline__ float finished(int m, int n, float sum@BIAS@) {
#if BIAS
  sum += bias[BIAS_ALONG_M ? m : n];
#endif
  return activation(sum);
}
__device__ __forceinline__ void store_result(float* result, int m, int n, float sum@BIAS@) {
  if (m < M && n < N) result[m + static_cast<long long>(n) * RESULT_LEADING] = finished(m, n, sum@ADDED@);
}
)";

// A group of 64 threads holds a whole tile of the result, (TM/8) x (TN/8) elements in each thread, and takes every fourth step of the inner
// axis; the four groups' sums are added in shared memory, then those of the cluster.
//
// Operands lie in shared memory by inner index. Its order is permuted, in both alike, so that lanes that read along the inner axis write to
// different banks.
constexpr const char* kKernel = R"(
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
#define SHARED_FLOATS(count) float* const shared = reinterpret_cast<float*>(emulated::current->block->shared.data())
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
)";

}  // namespace

std::string SplitChoice::text() const {
  const std::string tile = std::to_string(tile_m) + "x" + std::to_string(tile_n);
  const std::string share = parts > 1 || warps == 0 ? " parts " + std::to_string(parts) : "";
  return warps > 0 ? "tensor cores " + tile + " warps " + std::to_string(warps) + share : "own " + tile + share;
}

std::optional<SplitChoice> SplitChoice::from(const std::string& text) {
  for (const auto& [m, n] : {std::pair{16, 8}, {16, 16}, {32, 16}, {32, 32}}) {
    for (const int warps : {4, 8, 16}) {
      if (const SplitChoice choice{m, n, 1, warps}; choice.text() == text) return choice;
    }
  }
  if (const SplitChoice choice{64, 64, 8, 4}; choice.text() == text) return choice;
  for (const int m : {32, 64}) {
    for (const int parts : {1, 2, 4, 8}) {
      if (const SplitChoice choice{m, 32, parts}; choice.text() == text) return choice;
    }
  }
  return std::nullopt;
}

std::vector<SplitChoice> split_choices(const runtime::Matmul& d, const BlasProduct& p, int architecture) {
  std::vector<SplitChoice> choices;
  if (d.dtype != f32 || p.empty() || p.k == 0 || p.offsets.size() != 1 || p.operations() > kSmall) return choices;
  constexpr std::int64_t kLongest = std::int64_t{1} << 28;  // offsets within an operand are 32 bits wide
  for (const BlasMatrix* m : {&p.left, &p.right}) {
    if (m->leading * std::max(m->columns, m->rows) > kLongest) return choices;
  }
  if (d.arithmetic == runtime::Arithmetic::TF32) {
    choices = cluster_choices(p, architecture);
    for (const SplitChoice& choice : tensor_choices(p)) choices.push_back(choice);
    return choices;
  }
  // As many parts as there is room for, and half of that; where the tiles alone fill the card, larger ones.
  SplitChoice choice;
  while (architecture >= 90 && choice.parts < 8 && tiles_of(p, choice) * choice.parts * 2 <= kBlocks && p.k >= 64 * choice.parts)
    choice.parts *= 2;
  choices.push_back(choice);
  if (choice.parts > 1) choices.push_back({.parts = choice.parts / 2});
  else if (p.m > 32) choices.push_back({.tile_m = 64});
  return choices;
}

std::int64_t tiles_of(const BlasProduct& p, const SplitChoice& choice) {
  return divide_up(p.m, choice.tile_m) * divide_up(p.n, choice.tile_n) * p.batch;
}

std::string cluster_attribute(int blocks) { return blocks > 1 ? " __cluster_dims__(" + std::to_string(blocks) + ", 1, 1)" : ""; }

void define_operand(PlainSource& source, const std::string& name, const BlasMatrix& x, bool along_inner) {
  const std::int64_t contiguous = x.rows;
  source.define(name + "_LEADING", x.leading), source.define(name + "_BATCH", x.batch_stride);
  source.define(name + "_INNER", along_inner);
  source.define(name + "_WIDE", x.leading % 4 == 0 && x.batch_stride % 4 == 0 && contiguous % 4 == 0);
}

void add_product(PlainSource& source, const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice, const char* kernel,
                 const std::string& attributes) {
  source.define("M", p.m), source.define("N", p.n), source.define("K", p.k);
  source.define("TILE_M", choice.tile_m), source.define("TILE_N", choice.tile_n);
  source.define("TILES_M", divide_up(p.m, choice.tile_m)), source.define("TILES_N", divide_up(p.n, choice.tile_n));
  define_operand(source, "LEFT", p.left, p.left.transposed);
  define_operand(source, "RIGHT", p.right, !p.right.transposed);
  source.define("RESULT_LEADING", p.result.leading), source.define("RESULT_BATCH", p.result.batch_stride);
  source.define("BIAS", d.bias), source.define("BIAS_ALONG_M", p.swapped);
  activation_function(source, d.activation);
  const std::vector<std::pair<std::string, std::string>> table{
      {"ATTRIBUTES", attributes}, {"BIAS", d.bias ? ", const float* bias" : ""}, {"ADDED", d.bias ? ", bias" : ""}};
  source.add(kStore, table);
  source.add(kernel, table);
}

PlainKernel split_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice) {
  if (choice.warps > 0) return choice.is_large() ? cluster_product_kernel(d, p, choice) : tensor_product_kernel(d, p, choice);
  PlainSource source(d.dtype, {});
  // Within `parts` slices of the inner axis, in whole chunks of 32 so that both operands stay aligned.
  const std::int64_t slice = divide_up(divide_up(p.k, choice.parts), 32) * 32;
  const std::int64_t chunk = std::min<std::int64_t>(slice, choice.tile_m + choice.tile_n > 64 ? kChunk / 2 : kChunk);
  source.define("PARTS", choice.parts), source.define("SLICE", slice);
  // The groups' sums share the memory.
  const std::int64_t needed = divide_up(4 * choice.tile_m * choice.tile_n, choice.tile_m + choice.tile_n + 8);
  source.define("CHUNK", std::max(chunk, divide_up(needed, 32) * 32));
  add_product(source, d, p, choice, kKernel, cluster_attribute(choice.parts));
  return {"split_product", source.text(), tiles_of(p, choice) * choice.parts, kThreads};
}

}  // namespace tegula::gpu
