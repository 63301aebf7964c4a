#pragma once
// Finds the products of tiles that tensor cores do, and the places of their operands.
//
// The sums of such a product are the program's tile: threads hold it as the fragments of mma have it (ThreadGrid::fragments). Operands lie in shared
// memory as they are stored, in rows of 16-byte pieces, of which eight below each other lie in different banks; they are copied there without passing
// registers where they come from memory, ahead of a loop's iterations where their addresses follow from its counter.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/simt/decide/boxes.h"
#include "tegula/simt/decide/layout.h"
#include "tegula/tile/ir.h"

namespace tegula::gpu {

class Values;

constexpr int kStepBytes = 32;  // of a row of an operand, that one mma takes

/// A tile in shared memory. Piece p of row r lies where piece p ^ ((r >> shift()) & mask()) would.
struct SwizzledTile {
  int rows = 0, pieces = 0;  // pieces of 16 bytes in a row
  bool strips = false;  // 8 pieces of all rows, then the next 8: what wgmma takes
  int pitch() const { return strips && pieces > 8 ? 128 : 16 * pieces; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(16 * pieces); }
  int shift() const { return pieces >= 8 ? 0 : pieces == 4 ? 1 : 2; }
  int mask() const { return (pieces < 8 ? pieces : 8) - 1; }
};

/// A load that goes straight into shared memory.
struct CopiedTile {
  SwizzledTile tile;
  int along = 1;  // axis, of two (layout.h: in_two_axes), whose neighbours lie side by side, in memory and in the rows of the tile
  int wide = 1;  // elements of one copy
  std::size_t place = 0;  // from the begin of the ring; of what a loop fetches ahead, of a stage
  tile::Id loop = -1;  // that fetches it ahead
  std::optional<TensorBox> box;  // the copy engine brings it
  int map = -1;  // then: of TensorProducts::maps
  tile::Id last = -1;  // of a ring whose tiles come apart: the last product that reads it
  /// Of blocks of a cluster that have parts of the sums: elements of the own part of the load's tile, along `along` or the other axis; 0: each needs all of it.
  std::int64_t part = 0;
  bool part_along = false;
  int shares = 1;  // then: as many bring a share of it each, which comes to all of them
  /// Shares are strips if there are as many, else rows.
  bool shares_strips() const { return shares > 1 && strips_of() % shares == 0; }
  int strips_of() const { return tile.pieces * 16 / tile.pitch(); }
  int rows_of_share() const { return shares_strips() ? tile.rows : tile.rows / shares; }
};

/// A store whose tile the copy engine takes from shared memory. Each warp leaves its rows there, in pieces.
struct StoredTile {
  static constexpr int kRows = 16, kColumns = 64, kPitch = 128;  // of a piece, halves; bytes
  static constexpr int kPieces = 2;  // of a warp at a time, where a ring is filled meanwhile
  static constexpr std::size_t kBytes = std::size_t{kRows} * kPitch;
  TensorBox box;
  std::vector<int> axes;  // sizes of the tile's axes that are rows, the innermost first: of the map's rows, of its planes
  int map = -1;  // of TensorProducts::maps
};

/// The axis of the load's tile along which copied elements are neighbours.
inline int axis_along(const Shape& shape, const CopiedTile& copied) { return shape.rank() > 2 ? shape.rank() - 1 : copied.along; }

struct Operand {
  tile::Id value = -1;  // the tile in shared memory
  bool copied = false;  // it is a CopiedTile; else threads write it
  bool in_registers = false;  // its fragments are registers of the threads: the sums of another product, as pairs
  bool by_terms = false;  // its rows are terms of the sums, which ldmatrix transposes
  bool swapped = false;  // axes of `value` and of what lies there: written the other way round
  SwizzledTile tile;
  std::size_t place = 0;  // in the scratch, of what is written; among the tiles where four warps multiply together
};
struct Product {
  DType dtype = DType::bf16;  // in which it multiplies
  bool late = false;  // of warps that multiply as a group: an iteration's products end beside the next one's
  bool behind = false;  // the same, in turn: it is begun in the next iteration, behind the product `ahead`
  tile::Id ahead = -1;
  Operand left, right;
};

/// The tiles that a loop copies ahead for all threads of the block.
struct TileRingPlan {
  int stages = 0;
  int late = 0;  // stages that are still read when an iteration's copies begin, beside that of the one before
  std::size_t place = 0, stage_bytes = 0;
  bool boxes = false;  // the copy engine brings all of it
  std::size_t counters = 0;  // then: the place of the counters of what has arrived
  bool apart = false;  // then: each tile has such counters, and is asked for as soon as its last product of an iteration is over
  std::vector<tile::Id> loads, addresses;  // scalars that are computed again for a later iteration

  /// Bytes of the counters of the loads before this one.
  std::size_t counters_before(tile::Id load) const {
    return 8 * static_cast<std::size_t>(stages * (std::ranges::find(loads, load) - loads.begin()));
  }
};

struct TensorProducts {
  std::map<tile::Id, Product> all;  // by Dot
  std::map<tile::Id, CopiedTile> copied;  // by load
  std::set<tile::Id> absorbed;  // Transposes of these loads
  std::map<tile::Id, TileRingPlan> rings;  // by loop
  std::vector<simt::TensorMap> maps;
  std::map<tile::Id, tile::Id>
      in_place;  // by Dot: the value whose registers it adds to; and of what such a one adds to, computed from that value alone
  bool fit_groups = true;  // wgmma can do all of them
  bool copies_apart = false;  // a warp of its own copies for the others
  bool stays = false;  // then: blocks stay for several instances
  bool turns = false;  // then: groups of four warps multiply in turn
  bool behind = false;  // then: there is a Product::behind
  std::size_t rows_place = 0, rows_bytes = 0;  // of blocks that stay: among the tiles, what warps store halves as whole rows through
  bool parts_fit = true;  // blocks of a cluster can have parts of the sums (ThreadGrid::parts)
  std::map<tile::Id, StoredTile> stored;  // by Store
  std::size_t stored_place = 0;  // of blocks that stay: among the tiles, the pieces of warps; of others: of a ring
  std::size_t bytes = 0;  // of shared memory: what is copied
  std::size_t scratch_bytes = 0;  // the same of what is written
};

/// The Dots that tensor cores of the architecture do, and the dtype that they multiply in.
std::map<tile::Id, DType> tensor_products(const tile::Program& program, int architecture);
/// Terms of a product of floats of 8 bits that four warps' products add up by themselves, with fewer digits than f32 has (language/products.h:
/// max_num_imprecise_acc); 0: all of them.
std::int64_t imprecise_terms(const tile::Instruction& dot);
/// The shape of the largest of them; nothing where there is none.
std::optional<Shape> shape_of_products(const tile::Program& program, int architecture);
/// Columns of the others that have as many rows: threads hold them alike. None where columns are reduced, which other threads would hold.
std::vector<std::int64_t> widths_of_products(const tile::Program& program, const Shape& sums, int architecture);
/// Returns true if tiles of more than two axes can lie as rows and columns: nothing looks across their axes or turns them, they come from memory, go there, or
/// are rows and columns again.
bool merges_axes(const tile::Program& program);
/// The hint of their loops (num_warps, tile/language/control.h), as a power of two; 0: there is none.
int warps_wanted(const tile::Program& program, int architecture);
/// `groups`: four warps multiply together. Threads for a tile of sums: one warp has 16 rows or more and 16 columns or more. `wanted`: warps; 0: as many as the sums
/// need. `parts`: of blocks of a cluster.
struct TileParts {
  int rows = 1, columns = 1;
  bool by_terms = false;  // each block adds up terms of its own for all of the sums, and has its part behind the loop
  int count() const { return rows * columns; }
};
ThreadGrid fragment_grid(const tile::Program& program, const Shape& sums, std::vector<std::int64_t> widths = {}, bool groups = false,
                         int wanted = 0, const TileParts& parts = {});
TensorProducts decide_products(const Values& values, int architecture);
/// roles.cpp: decides whether a warp of its own copies the tiles of the products' loop, whether blocks stay, and whether groups multiply in turn. That warp's
/// values must follow from parameters, the instance and the counter, and the others must need each other nowhere in the loop.
void decide_roles(const Values& values, TensorProducts& products);

/// roles.cpp: a word that a thread does by itself, or that nothing is lowered to where products take their operands from shared memory.
bool is_own(tile::Word word);
/// shared_terms.cpp: how the sums of the program's only product are cut for blocks of a cluster, if a warp of its own copies for each: where the loop asks for it
/// (num_ctas beside warp_specialize). The longer side is cut. With num_ctas
/// alone the blocks do the loop's iterations between them, and the columns are cut behind it.
TileParts parts_of_sums(const tile::Program& program, const Shape& sums, int architecture);
/// Whether that is possible: blocks stay, each operand is a box of a matrix that is cut, or that can come in shares, and all that is stored is cut as the sums are;
/// for terms, nothing but the loop's sum, which begins with zeros, comes of it, and what stands behind is done element by element.
bool parts_fit(const Values& values, const TensorProducts& products);
/// stored.cpp: the stores that ask for it (tile::Cache::Bulk), or do not say how and are faster so, whose tiles the copy engine can take: boxes of halves that threads hold as four warps' products
/// have them, of which nothing is read behind.
std::map<tile::Id, StoredTile> stored_tiles(const Values& values);

}  // namespace tegula::gpu
