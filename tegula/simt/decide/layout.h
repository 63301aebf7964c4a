#pragma once
// The layout of a tile: the thread that holds each element.
//
// A program has one grid of threads over its two-dimensional tile of R rows and C columns. A thread holds, in registers,
//   v[r][c][k]: row r * row_threads + tr, column (c * columns_across + tc) * vector + k
// so that neighbours read neighbouring vectors. Tiles of one row or one column are slices of it and lie in every thread that would
// need them. Any other shape is spread flat: v[c] is element c * threads + thread, in row-major order.

#include <cstdint>
#include <vector>

#include "tegula/core/shape.h"
#include "tegula/runtime/call_description.h"
#include "tegula/simt/card.h"

namespace tegula::gpu {

enum class Spread : std::uint8_t {
  Uniform,  // one element, the same in all threads:  v
  Row,      // R rows of one column:                  v[r]
  Column,   // one row of C columns:                  v[c][k]
  Full,     // R x C:                                 v[r][c][k]
  Flat,     // anything else:                         v[c]
};

/// A tile of more axes as rows and columns: all axes but the last one together are rows.
Shape in_two_axes(const Shape& shape);

/// The number of threads and the elements that each holds. `vector` is a power of two. Below a warp column_threads and row_threads are powers of two
/// too, above it a row of threads is a number of whole warps.
struct ThreadGrid {
  std::int64_t rows = 1, columns = 1;  // of the tile
  int vector = 1;  // neighbouring columns that a thread holds
  int row_threads = 1, column_threads = 1;
  int cluster = 1;  // blocks that share the columns of one tile
  int row_blocks = 1, column_blocks = 1;  // of a cluster, which have so many parts of the tile: of fragments
  bool parts_of_terms = false;  // behind the loop of products, whose iterations the blocks do between them, each for all of the tile
  int row_steps = 1, column_steps = 1;  // how often a thread comes back
  bool staged = false;  // the row lies in shared memory, see staged_rows.h; nothing is held in registers
  int ahead = 0;  // steps of a staged row whose vectors of what meets every row are read before the last exchange
  int resident = 0;  // blocks that a multiprocessor should hold at a time; 0: as many as there is room for
  bool fragments = false;  // threads hold the tile as tensor cores leave it: row_threads is 8 to a warp, column_threads 4
  int column_warps = 1;  // of fragments: warps beside each other, each with 4 column threads
  bool groups =
      false;  // of fragments: four warps have 64 rows together, as wgmma has them; else 8 rows of each warp lie below those of another
  std::vector<std::int64_t> widths = {};  // of fragments: columns of other tiles of as many rows, spread alike
  bool lines_are_rows = false;  // of fragments: a line of as many elements as there are rows and columns has one for each row
  bool merges_axes = false;  // of fragments: tiles of more than two axes are held as in_two_axes
  bool reduces = false;  // columns are reduced: work goes on behind barriers, and what is held meanwhile costs

  int threads() const { return row_threads * column_threads; }
  /// The row that a thread's own number `tr` is added to: r / 2 * row_tile() + r % 2 * row_half().
  int row_half() const { return groups ? 8 : row_threads; }
  int row_tile() const { return 2 * row_threads; }
  int columns_across() const { return column_threads * cluster; }
  /// Blocks that have parts of the tile, and the rows and columns of each.
  int parts() const { return row_blocks * column_blocks; }
  std::int64_t rows_of_part() const { return rows / row_blocks; }
  std::int64_t columns_of_part() const { return columns / column_blocks; }
  bool rows_fit() const { return rows == std::int64_t{row_steps} * row_threads * row_blocks; }
  bool columns_fit() const { return columns == std::int64_t{column_steps} * columns_across() * vector * column_blocks; }

  Spread spread_of(const Shape& shape) const;
  /// Vectors of a row of a Full tile that a thread holds.
  int column_steps_of(const Shape& shape) const;
  /// Elements a thread holds of a tile of this shape.
  std::int64_t held(const Shape& shape) const;
};

/// The inputs of the choice.
struct TileUse {
  std::int64_t rows = 1, columns = 1;
  int vector = 1;  // the widest useful access, in elements
  bool reduces_columns = false;  // across a row
  bool reduces_rows = false;
  bool repeats_columns = false;  // one row of numbers meets all rows: worth keeping for many
  bool leaves_the_grid = false;  // something goes through shared memory as a whole: no cluster
  int element_bytes = 4;  // of the widest numbers held
  int most_blocks = 1;  // that can share a row
  int staged_bytes = 0;  // per column of staged rows; 0: nothing can be staged
  int direct_loads = 0;  // beside what would be staged
  int direct_bytes = 0;  // per column of the direct loads
  bool computes = false;  // functions of many instructions
  int full_loads = 0;  // of the whole tile
  bool beside_next = false;  // the next launch begins while this one runs
};

/// True if a plain product has so few results that a sum in a tile program is faster (runtime::Candidate::programs_are_faster): a library call costs
/// a few microseconds in any case.
bool programs_are_faster(const runtime::Matmul& description);

/// True if rows are better staged than held in registers, if both are possible.
bool worth_staging(const TileUse& use);
/// Throws nothing; a cluster larger than 1 needs sm_90.
ThreadGrid choose_threads(const TileUse& use);

}  // namespace tegula::gpu
