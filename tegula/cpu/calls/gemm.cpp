// A blocked matrix product in the manner of BLIS (Van Zee and van de Geijn, ACM TOMS 2015): panels of A and B are copied so that
// the innermost loop reads both in order; a tile of C stays in registers for a whole block of K.

#include "tegula/cpu/calls/gemm.h"

#include <algorithm>

#include "tegula/cpu/simd/vector_targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/calls/gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tegula/cpu/simd/unroll.h"

#ifndef TEGULA_CPU_GEMM_ONCE
#define TEGULA_CPU_GEMM_ONCE
namespace tegula::host {
namespace {
// Measured: a deep block saves passes over C; then A's rows stay in the second-level cache and B's columns in the third.
constexpr std::int64_t block_depth(std::size_t element) { return static_cast<std::int64_t>(3072 / element); }
constexpr std::int64_t kBlockM = 96, kBlockN = 1024;
constexpr std::int64_t kWidestPanel = 8 * 16;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
}  // namespace
}  // namespace tegula::host
#endif

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {  // other files use some of these names too
namespace hn = hwy::HWY_NAMESPACE;

// Registers decide the tile: 12 x 2 accumulators of 32 registers, 6 x 2 of 16.
#if HWY_MAX_BYTES >= 64
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 6;
#endif

/// The order in which A is read: RowsAdjacent has a_row == 1 (packed, or A transposed), ColumnsAdjacent has a_column == 1.
enum class ReadA { RowsAdjacent, ColumnsAdjacent };

template <class T>
struct Tile {
  std::int64_t k;
  const T* a;
  std::int64_t a_stride;  // between columns (RowsAdjacent) or rows (ColumnsAdjacent)
  const T* b;
  std::int64_t b_row;
  T* c;
  std::int64_t c_row;
  std::int64_t columns;  // valid ones, more than NV - 1 vectors
  bool accumulate, subtract;
};

/// One tile of C: MR rows, NV vectors of columns. Few rows get several partial sums, which hide the latency of the FMA.
template <class T, int MR, int NV, ReadA kRead>
HWY_NOINLINE void tile(const Tile<T>& t) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kSums = MR * NV >= 8 ? 1 : MR * NV >= 4 ? 2 : 4;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(t.columns - (NV - 1) * lanes));
  V sums[kSums][MR][NV];
  TEGULA_UNROLL for (int s = 0; s < kSums; ++s) TEGULA_UNROLL for (int i = 0; i < MR; ++i) TEGULA_UNROLL for (int j = 0; j < NV; ++j)
      sums[s][i][j] = hn::Zero(d);

  const T* a = t.a;
  const T* b = t.b;
  const std::int64_t a_stride = t.a_stride, b_row = t.b_row;
  const auto step = [&](V(&sum)[MR][NV]) HWY_ATTR {
    V row[NV];
    TEGULA_UNROLL for (int j = 0; j + 1 < NV; ++j) row[j] = hn::LoadU(d, b + j * lanes);
    row[NV - 1] = hn::MaskedLoad(mask, d, b + (NV - 1) * lanes);
    TEGULA_UNROLL for (int i = 0; i < MR; ++i) {
      const V x = hn::Set(d, kRead == ReadA::RowsAdjacent ? a[i] : a[i * a_stride]);
      TEGULA_UNROLL for (int j = 0; j < NV; ++j) sum[i][j] = hn::MulAdd(x, row[j], sum[i][j]);
    }
    a += kRead == ReadA::RowsAdjacent ? a_stride : 1;
    b += b_row;
  };
  std::int64_t k = 0;
  for (; k + kSums <= t.k; k += kSums) { TEGULA_UNROLL for (int s = 0; s < kSums; ++s) step(sums[s]); }
  for (; k < t.k; ++k) step(sums[0]);

  TEGULA_UNROLL for (int i = 0; i < MR; ++i) {
    T* c = t.c + i * t.c_row;
    TEGULA_UNROLL for (int j = 0; j < NV; ++j) {
      V sum = sums[0][i][j];
      TEGULA_UNROLL for (int s = 1; s < kSums; ++s) sum = hn::Add(sum, sums[s][i][j]);
      if (j + 1 < NV) {
        if (t.subtract) sum = hn::Neg(sum);
        if (t.accumulate) sum = hn::Add(sum, hn::LoadU(d, c + j * lanes));
        hn::StoreU(sum, d, c + j * lanes);
      } else {
        if (t.subtract) sum = hn::Neg(sum);
        if (t.accumulate) sum = hn::Add(sum, hn::MaskedLoad(mask, d, c + j * lanes));
        hn::BlendedStore(sum, mask, d, c + j * lanes);
      }
    }
  }
}

template <class T, int NV, ReadA kRead>
HWY_INLINE void tile_of_rows(int rows, const Tile<T>& t) {
  switch (rows) {
#if HWY_MAX_BYTES >= 64
    case 12: return tile<T, 12, NV, kRead>(t);
    case 8: return tile<T, 8, NV, kRead>(t);
#else
    case 6: return tile<T, 6, NV, kRead>(t);
#endif
    case 4: return tile<T, 4, NV, kRead>(t);
    case 2: return tile<T, 2, NV, kRead>(t);
    default: return tile<T, 1, NV, kRead>(t);
  }
}

HWY_INLINE int next_rows(std::int64_t left) {
  if (left >= kTileRows) return kTileRows;
  if (kTileRows > 8 && left >= 8) return 8;
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/// Columns of the next panel of B: two vectors, or eight when C has one row and B is streamed.
template <class T>
HWY_INLINE std::int64_t panel_columns(std::int64_t rows) {
  const hn::ScalableTag<T> d;
  return static_cast<std::int64_t>(hn::Lanes(d)) * (rows == 1 ? 8 : 2);
}

/// packed[k][i] = source[i * width_stride + k * depth_stride] for i < width; zeros up to `padded`.
template <class T>
void pack(const T* HWY_RESTRICT source, std::int64_t width_stride, std::int64_t depth_stride, std::int64_t width, std::int64_t depth,
          std::int64_t padded, T* HWY_RESTRICT packed) {
  std::int64_t done = 0;  // columns packed so far
  if (width_stride == 1) {
    for (std::int64_t k = 0; k < depth; ++k) std::copy_n(source + k * depth_stride, width, packed + k * padded);
    done = width;
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    if (depth_stride == 1) {
      const hn::FixedTag<T, 4> d;
      const hn::RepartitionToWide<hn::RebindToUnsigned<decltype(d)>> wide;
      for (; done + 4 <= width; done += 4) {
        const T* s = source + done * width_stride;
        T* to = packed + done;
        std::int64_t k = 0;
        for (; k + 4 <= depth; k += 4, s += 4) {
          const auto r0 = hn::LoadU(d, s), r1 = hn::LoadU(d, s + width_stride);
          const auto r2 = hn::LoadU(d, s + 2 * width_stride), r3 = hn::LoadU(d, s + 3 * width_stride);
          const auto lower01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
          const auto upper01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
          const auto lower23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
          const auto upper23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
          hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, lower01, lower23)), d, to + k * padded);
          hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, lower01, lower23)), d, to + (k + 1) * padded);
          hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, upper01, upper23)), d, to + (k + 2) * padded);
          hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, upper01, upper23)), d, to + (k + 3) * padded);
        }
        for (; k < depth; ++k, ++s) {
          for (std::int64_t i = 0; i < 4; ++i) to[k * padded + i] = s[i * width_stride];
        }
      }
    }
  }
#endif
  for (; done < width; ++done) {
    for (std::int64_t k = 0; k < depth; ++k) packed[k * padded + done] = source[done * width_stride + k * depth_stride];
  }
  if (padded == width) return;
  for (std::int64_t k = 0; k < depth; ++k) std::fill(packed + k * padded + width, packed + (k + 1) * padded, T(0));
}

/// c[n] = (or +=) sum over k of a[k] * b[n * b_column + k]: both vectors contiguous, four columns at a time.
template <class T>
void dot_products(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::int64_t b_column, std::int64_t columns, std::int64_t k,
                  T* HWY_RESTRICT c, bool accumulate, bool subtract) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t n = 0; n < columns; n += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, columns - n);
    const T* column[4];
    for (std::int64_t j = 0; j < 4; ++j) column[j] = b + (n + std::min(j, count - 1)) * b_column;
    V sums[2][4];
    TEGULA_UNROLL for (int j = 0; j < 4; ++j) sums[0][j] = sums[1][j] = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= k; i += 2 * lanes) {
      const V x = hn::LoadU(d, a + i), y = hn::LoadU(d, a + i + lanes);
      TEGULA_UNROLL for (int j = 0; j < 4; ++j) {
        sums[0][j] = hn::MulAdd(x, hn::LoadU(d, column[j] + i), sums[0][j]);
        sums[1][j] = hn::MulAdd(y, hn::LoadU(d, column[j] + i + lanes), sums[1][j]);
      }
    }
    for (; i < k; i += lanes) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, k - i)));
      const V x = hn::MaskedLoad(mask, d, a + i);
      TEGULA_UNROLL for (int j = 0; j < 4; ++j) { sums[0][j] = hn::MulAdd(x, hn::MaskedLoad(mask, d, column[j] + i), sums[0][j]); }
    }
    for (int j = 0; j < count; ++j) {
      T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0][j], sums[1][j])));
      if (subtract) sum = -sum;
      c[n + j] = accumulate ? c[n + j] + sum : sum;
    }
  }
}

template <class T>
struct Block {
  std::int64_t m0, n0, k0, rows, columns, depth;
};

/// Rows [m0, m0 + rows) against the panels of one block of B.
template <class T>
void multiply_block(const Gemm<T>& g, const Block<T>& block, bool pack_a, const T* b, std::int64_t b_row, std::int64_t b_panel,
                    T* packed_a) {
  const std::int64_t wide = panel_columns<T>(g.m);
  const std::int64_t lanes = panel_columns<T>(2) / 2;
  const T* a = g.a + block.m0 * g.a_row + block.k0 * g.a_column;
  if (pack_a) {
    T* to = packed_a;
    for (std::int64_t i = 0; i < block.rows;) {
      const int rows = next_rows(block.rows - i);
      pack(a + i * g.a_row, g.a_row, g.a_column, rows, block.depth, rows, to);
      to += rows * block.depth;
      i += rows;
    }
  }
  for (std::int64_t j = 0; j < block.columns; j += wide) {
    const std::int64_t columns = std::min(wide, block.columns - j);
    for (std::int64_t part = 0; part < columns;) {
      // A wide panel that is not full is taken apart into pairs of vectors and a last single one.
      const std::int64_t vectors = (columns - part + lanes - 1) / lanes;
      const int taken = vectors >= 8 ? 8 : vectors >= 2 ? 2 : 1;
      Tile<T> t{.k = block.depth,
                .a = nullptr,
                .a_stride = 0,
                .b = b + j / wide * b_panel + part,
                .b_row = b_row,
                .c = nullptr,
                .c_row = g.c_row,
                .columns = std::min(columns - part, taken * lanes),
                .accumulate = g.accumulate || block.k0 > 0,
                .subtract = g.subtract};
      const T* panel = packed_a;
      for (std::int64_t i = 0; i < block.rows;) {
        const int rows = next_rows(block.rows - i);
        t.a = pack_a ? panel : a + i * g.a_row;
        t.c = g.c + (block.m0 + i) * g.c_row + block.n0 + j + part;
        const bool adjacent = pack_a || g.a_row == 1;
        t.a_stride = pack_a ? rows : adjacent ? g.a_column : g.a_row;
        if (taken == 8) {
          adjacent ? tile<T, 1, 8, ReadA::RowsAdjacent>(t) : tile<T, 1, 8, ReadA::ColumnsAdjacent>(t);
        } else if (taken == 2) {
          adjacent ? tile_of_rows<T, 2, ReadA::RowsAdjacent>(rows, t) : tile_of_rows<T, 2, ReadA::ColumnsAdjacent>(rows, t);
        } else {
          adjacent ? tile_of_rows<T, 1, ReadA::RowsAdjacent>(rows, t) : tile_of_rows<T, 1, ReadA::ColumnsAdjacent>(rows, t);
        }
        panel += rows * block.depth;
        i += rows;
      }
      part += taken * lanes;
    }
  }
}

std::int64_t row_panel(std::int64_t n) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  return std::min(panel_columns<float>(1), round_up(n, lanes));
}

/// One row of C, and B in panels.
template <class T>
void multiply_panels(const Gemm<T>& g, T* scratch) {
  const std::int64_t wide = panel_columns<T>(1), width = g.b_panel / g.k;
  const bool pack_a = g.a_row != 1 && g.a_column != 1;
  for (std::int64_t n0 = 0; n0 < g.n; n0 += kBlockN) {
    for (std::int64_t k0 = 0; k0 < g.k; k0 += block_depth(sizeof(T))) {
      const Block<T> block{0, n0, k0, 1, std::min(kBlockN, g.n - n0), std::min(block_depth(sizeof(T)), g.k - k0)};
      multiply_block(g, block, pack_a, g.b + n0 / wide * g.b_panel + k0 * width, width, g.b_panel, scratch);
    }
  }
}

template <class T>
void multiply(const Gemm<T>& g, T* scratch) {
  if (g.b_panel != 0) return multiply_panels(g, scratch);
  if (g.b_column != 1 && g.b_row == 1 && g.m <= 3 && (g.a_column == 1 || g.k == 1)) {
    for (std::int64_t i = 0; i < g.m; ++i)
      dot_products(g.a + i * g.a_row, g.b, g.b_column, g.n, g.k, g.c + i * g.c_row, g.accumulate, g.subtract);
    return;
  }
  const std::int64_t wide = panel_columns<T>(g.m);
  const std::int64_t block_k = std::min(g.k, block_depth(sizeof(T))), block_m = std::min(g.m, kBlockM);
  // A copy pays if the copied operand is read several times.
  const bool pack_b = g.b_column != 1 || (g.m > 4 * kTileRows && g.n > wide);
  const bool pack_a = !(g.a_row == 1 || g.a_column == 1) || (g.n > 4 * wide && g.m > 1);
  T* packed_b = scratch;
  T* packed_a = scratch + block_k * round_up(std::min(g.n, kBlockN), kWidestPanel);
  for (std::int64_t n0 = 0; n0 < g.n; n0 += kBlockN) {
    const std::int64_t columns = std::min(kBlockN, g.n - n0);
    for (std::int64_t k0 = 0; k0 < g.k; k0 += block_k) {
      const std::int64_t depth = std::min(block_k, g.k - k0);
      const T* b = g.b + k0 * g.b_row + n0 * g.b_column;
      if (pack_b) {
        for (std::int64_t j = 0; j < columns; j += wide) {
          pack(b + j * g.b_column, g.b_column, g.b_row, std::min(wide, columns - j), depth, wide, packed_b + j * depth);
        }
      }
      for (std::int64_t m0 = 0; m0 < g.m; m0 += block_m) {
        const Block<T> block{m0, n0, k0, std::min(block_m, g.m - m0), columns, depth};
        if (pack_b) multiply_block(g, block, pack_a, static_cast<const T*>(packed_b), wide, wide * depth, packed_a);
        else multiply_block(g, block, pack_a, b, g.b_row, wide, packed_a);
      }
    }
  }
}

void gemm_f32(const Gemm<float>& g, void* scratch) { multiply(g, static_cast<float*>(scratch)); }
void gemm_f64(const Gemm<double>& g, void* scratch) { multiply(g, static_cast<double*>(scratch)); }

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
namespace {
HWY_EXPORT(gemm_f32);
HWY_EXPORT(gemm_f64);
HWY_EXPORT(row_panel);

template <class T>
void fill_zero(const Gemm<T>& g) {
  for (std::int64_t i = 0; i < g.m; ++i) std::fill_n(g.c + i * g.c_row, g.n, T(0));
}
}  // namespace

std::size_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t element) {
  const std::int64_t depth = std::min(k, block_depth(element));
  const std::int64_t elements = depth * (round_up(std::min(n, kBlockN), kWidestPanel) + std::min(m, kBlockM));
  return static_cast<std::size_t>(round_up(elements * static_cast<std::int64_t>(element), 64));
}

std::int64_t gemm_panel_columns(std::int64_t n) { return HWY_DYNAMIC_DISPATCH(row_panel)(n); }

void gemm(const Gemm<float>& g, void* scratch) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0 && g.accumulate) return;
  if (g.k == 0) fill_zero(g);
  else HWY_DYNAMIC_DISPATCH(gemm_f32)(g, scratch);
  if (!g.epilogue.empty()) apply_epilogue(g.epilogue, g.c, g.m, g.n, g.c_row);
}

void gemm(const Gemm<double>& g, void* scratch) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0 && g.accumulate) return;
  if (g.k == 0) fill_zero(g);
  else HWY_DYNAMIC_DISPATCH(gemm_f64)(g, scratch);
  if (!g.epilogue.empty()) apply_epilogue(g.epilogue, g.c, g.m, g.n, g.c_row);
}

}  // namespace tegula::host
#endif
