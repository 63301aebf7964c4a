#include "tegula/simt/decide/layout.h"

#include <algorithm>
#include <bit>

#include "tegula/core/divide.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kElementsOfThread = 16;     // four accesses of 16 bytes in flight
constexpr std::int64_t kElementsOfSmallTile = 512;  // cut so that many threads share little work
constexpr std::int64_t kElementsOfWarpRow = 1024;  // rows up to here are reduced by one warp, without barriers
constexpr std::int64_t kBytesOfBlockRow = 32768 * 4;
// The load that keeps a GPU's memory busy: some 64 KiB under way to every multiprocessor, in several blocks, so that some load
// while others compute (measured on an H200: 48 KiB reach 0.83 of the copy bandwidth, 64 KiB 0.93).
constexpr std::int64_t kBytesOfThread = 64, kResidentThreads = 1024;
constexpr std::int64_t kBytesInRegisters = 32 * 1024, kBytesBesideOthers = 15 * 1024,  // longer rows are staged
    kBytesOfFewThreads = 24 * 1024;
constexpr std::int64_t kSharedBytes = 224 * 1024;
constexpr std::int64_t kSharingThreads = 256, kSharingThreadsOfProcessor = 1536, kThreadsOfProcessor = 2048;
constexpr std::int64_t kRegistersOfProcessor = 65536;
constexpr std::int64_t kRegistersOfThread = 16, kRegistersOfRow = 8;  // that the last pass over staged rows takes
constexpr int kMaxThreads = 1024, kWarp = 32;
// Tiles of so many vectors of a thread leave half of a multiprocessor's registers to the next launch: it asks for its own part meanwhile.
constexpr std::int64_t kVectorsBesideNext = 6, kBlocksBesideNext = 2;

int power_of_two_from(std::int64_t n) { return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)))); }

/// The number of warps, at most `most` and at least half of that, that shares so many vectors with the fewest places left empty.
int warps_for(std::int64_t vectors, std::int64_t most) {
  most = std::min<std::int64_t>(most, kMaxThreads / kWarp);
  const auto empty = [&](std::int64_t warps) { return divide_up(vectors, warps * kWarp) * warps * kWarp - vectors; };
  std::int64_t best = most;
  for (std::int64_t warps = most - 1; 2 * warps >= most; --warps)
    if (empty(warps) < empty(best)) best = warps;
  return static_cast<int>(best);
}

/// Rows that several blocks share. Six blocks to a multiprocessor, so that some load while others wait for each other or compute.
ThreadGrid staged_cluster(const TileUse& use) {
  ThreadGrid grid;
  grid.rows = grid.row_steps = static_cast<int>(use.rows);
  grid.columns = use.columns;
  grid.vector = use.vector;
  grid.reduces = grid.staged = true;
  const std::int64_t bytes = use.columns * use.staged_bytes;
  grid.cluster = std::min(use.most_blocks, power_of_two_from(divide_up(bytes, kStagedBytesOfShare)));
  // Clusters of sixteen leave some multiprocessors empty.
  if (grid.cluster > kMostBlocksOfRow && bytes <= 2 * kMostBlocksOfRow * kStagedBytesOfShare && use.rows == 2)
    grid.cluster = kMostBlocksOfRow;
  const std::int64_t vectors = divide_up(use.columns / use.vector, grid.cluster);
  const int fewer = use.rows > 2 ? 2 : 1;  // divisor of the threads, each with more registers
  const std::int64_t most = (bytes > grid.cluster * kStagedBytesOfShare ? 2 : 1) * kSharingThreads / fewer;
  grid.column_threads = static_cast<int>(std::min<std::int64_t>(most, divide_up(vectors, kWarp) * kWarp));
  grid.column_steps = static_cast<int>(divide_up(vectors, grid.column_threads));
  const std::int64_t held = std::int64_t{grid.column_steps} * grid.column_threads * use.vector * use.staged_bytes;
  grid.resident =
      static_cast<int>(std::clamp<std::int64_t>(kSharedBytes / held, 1, kSharingThreadsOfProcessor / (fewer * grid.column_threads)));
  if (use.rows > 1 && use.direct_bytes > 0) {
    const std::int64_t registers = kRegistersOfProcessor / (grid.resident * grid.column_threads) / 8 * 8;
    const std::int64_t free = std::min<std::int64_t>(registers, 255) - kRegistersOfThread - kRegistersOfRow * use.rows;
    grid.ahead = static_cast<int>(std::clamp<std::int64_t>(free * 4 / (use.direct_bytes * use.vector), 0, grid.column_steps));
  }
  return grid;
}

/// Nothing of the row's length is held, so there is room for all threads of a multiprocessor. Six short rows, 256 threads each, keep memory
/// busier than four with 512: more of them are at different places of their work.
ThreadGrid staged_row(const TileUse& use) {
  ThreadGrid grid;
  grid.columns = use.columns;
  grid.vector = use.vector;
  grid.reduces = grid.staged = true;
  const std::int64_t bytes = use.columns * use.staged_bytes, vectors = use.columns / use.vector;
  const bool short_row = bytes <= kBytesOfFewThreads;
  const std::int64_t most = short_row ? kSharingThreads : bytes > kBytesInRegisters ? kMaxThreads : kMaxThreads / 2;
  grid.column_threads = static_cast<int>(std::min<std::int64_t>(most, divide_up(vectors, kWarp) * kWarp));
  grid.resident =
      static_cast<int>(std::min<std::int64_t>((short_row ? kSharingThreadsOfProcessor : kThreadsOfProcessor) / most, kSharedBytes / bytes));
  grid.column_steps = static_cast<int>(divide_up(vectors, grid.column_threads));
  return grid;
}

}  // namespace

Shape in_two_axes(const Shape& shape) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows *= shape[axis];
  return {rows, shape.back()};
}

Spread ThreadGrid::spread_of(const Shape& shape) const {
  if (numel(shape) == 1) return Spread::Uniform;
  if (merges_axes && shape.rank() > 2) return spread_of(in_two_axes(shape));
  if (shape.rank() == 1 && lines_are_rows && shape[0] == rows) return Spread::Row;
  if (shape.rank() == 1) return shape[0] == columns ? Spread::Column : shape[0] == rows ? Spread::Row : Spread::Flat;
  if (shape.rank() != 2) return Spread::Flat;
  const bool all_rows = shape[0] == rows, all_columns = shape[1] == columns;
  if (all_rows && std::ranges::find(widths, shape[1]) != widths.end()) return Spread::Full;
  if (all_rows && all_columns) return rows == 1 ? Spread::Column : columns == 1 ? Spread::Row : Spread::Full;
  if (all_rows && shape[1] == 1) return Spread::Row;
  if (shape[0] == 1 && all_columns) return Spread::Column;
  return Spread::Flat;
}

int ThreadGrid::column_steps_of(const Shape& shape) const {
  return fragments ? static_cast<int>(shape.back() / (std::int64_t{column_threads} * vector * column_blocks)) : column_steps;
}

std::int64_t ThreadGrid::held(const Shape& shape) const {
  switch (spread_of(shape)) {
    case Spread::Uniform: return 1;
    case Spread::Row: return row_steps;
    case Spread::Column: return std::int64_t{column_steps} * vector;
    case Spread::Full: return std::int64_t{row_steps} * column_steps_of(shape) * vector;
    default: return divide_up(numel(shape), threads());
  }
}

// Beside one weight only rows so short that six fit on a multiprocessor with room left: in bf16 8192 columns run at 0.96 of the copy bandwidth
// instead of 0.92, 12288 at 0.96 instead of 0.97.
bool worth_staging(const TileUse& use) {
  const std::int64_t bytes = use.columns * use.staged_bytes;
  const bool beside = use.rows == 1 && use.direct_loads > 0 && bytes > kBytesBesideOthers;
  return bytes > kBytesInRegisters || (beside && (use.direct_loads > 1 || bytes < kBytesOfFewThreads));
}

bool programs_are_faster(const runtime::Matmul& d) {
  const bool plain = d.epilogue.is_empty() && !d.multiplies_codes();
  const std::int64_t results = numel(d.c.layout.shape), terms = d.a.layout.shape.back();
  return plain && results > 0 && terms > 0 &&
         static_cast<double>(results * terms) <= (terms <= 128 ? costs().few_terms_product : costs().many_terms_product);
}

ThreadGrid choose_threads(const TileUse& use) {
  const std::int64_t row_bytes = use.columns * use.staged_bytes;
  if (worth_staging(use)) return use.rows == 1 && row_bytes <= kStagedBytesOfBlock ? staged_row(use) : staged_cluster(use);
  ThreadGrid grid;
  grid.rows = use.rows;
  grid.columns = use.columns;
  grid.reduces = use.reduces_columns;
  grid.vector = std::min(use.vector, power_of_two_from(use.columns));
  const bool tall = use.repeats_columns && !use.reduces_rows && !use.reduces_columns;
  std::int64_t held = (tall ? 2 : 1) * kElementsOfThread * 4 / std::max(use.element_bytes, 4);
  if (use.rows * use.columns <= kElementsOfSmallTile) held = 1;
  else if (use.staged_bytes > 0) held = kBytesOfThread / use.staged_bytes;
  else if (use.computes && !use.reduces_columns && !use.reduces_rows && use.rows == 1)
    held = 4 * grid.vector;  // the longer a thread works, the less its start counts
  const std::int64_t per_thread = std::max<std::int64_t>(grid.vector, held);
  const std::int64_t bytes = use.rows * use.columns * use.element_bytes;
  if (use.reduces_columns && bytes > kBytesOfBlockRow && !use.leaves_the_grid)
    grid.cluster = std::min({use.most_blocks, kMostBlocksOfRow, power_of_two_from(divide_up(bytes, kBytesOfBlockRow))});
  const std::int64_t vectors = divide_up(divide_up(use.columns, grid.vector), grid.cluster);
  const std::int64_t loaded = use.rows * use.columns * std::max(use.full_loads, 1);
  const bool beside_next =
      use.beside_next && use.reduces_rows && loaded <= kVectorsBesideNext * grid.vector * kMaxThreads / kBlocksBesideNext;
  const std::int64_t most = beside_next ? kMaxThreads / kBlocksBesideNext : kMaxThreads;
  const std::int64_t wanted = std::clamp<std::int64_t>(divide_up(use.rows * use.columns, per_thread * grid.cluster), kWarp, most);
  std::int64_t across = std::min(wanted, vectors);
  if (use.reduces_columns && use.rows >= 4 && use.columns <= kElementsOfWarpRow) across = std::min<std::int64_t>(across, kWarp);
  grid.column_threads = across <= kWarp ? power_of_two_from(across) : kWarp * warps_for(vectors, divide_up(across, kWarp));
  if (grid.column_threads >= kWarp) {
    grid.row_threads = static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(1, wanted / grid.column_threads), use.rows));
  } else {
    // A block is at least one warp; what has nothing to do repeats rows or columns that are outside.
    grid.row_threads = std::min(power_of_two_from(wanted) / grid.column_threads, power_of_two_from(use.rows));
    if (grid.threads() < kWarp) {
      if (use.rows > 1) grid.row_threads = kWarp / grid.column_threads;
      else grid.column_threads = kWarp;
    }
  }
  grid.row_steps = static_cast<int>(divide_up(use.rows, grid.row_threads));
  grid.row_threads = grid.column_threads >= kWarp ? static_cast<int>(divide_up(use.rows, grid.row_steps)) : grid.row_threads;
  grid.column_steps = static_cast<int>(divide_up(use.columns, std::int64_t{grid.columns_across()} * grid.vector));
  if (beside_next && grid.threads() == most) grid.resident = kBlocksBesideNext;
  if (use.staged_bytes > 0 && grid.threads() > kWarp) grid.resident = static_cast<int>(divide_up(kResidentThreads, grid.threads()));
  return grid;
}

}  // namespace tegula::gpu
