#pragma once
// The loop nest of a fused group: its axes in memory order, merged where every operand allows it, cut into tiles.

#include <algorithm>
#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// A way memory (or an index pattern) is walked over the domain.
struct Stream {
  Operand::Kind kind = Operand::Kind::Memory;
  int item = -1;
  Layout pattern;     // per domain axis
  int scratch = -1;   // the partial results of a split reduction are in this scratch buffer instead of the item's own
  std::int64_t bytes = 0;  // of an element that is read
  std::int64_t line = 0;  // Operand::line
  bool operator==(const Stream&) const = default;
};

/// One merged axis.
struct Loop {
  std::int64_t extent = 1;
  bool reduced = false;
  std::vector<std::int64_t> strides;  // per stream, in elements
  bool varies = false;  // from size to size (Ladder::varies)
};

struct LoopNest {
  std::vector<Stream> streams;
  int loads = 0;                                        // streams before this number are read, the others written
  /// An item of the group: its place there, its reads, and the streams of its store and of its partial results, when split (-1: none).
  struct Member {
    int item = -1, place = -1;
    std::size_t first_read = 0;
    int store = -1, partial = -1;
  };
  std::vector<Member> members;  // by number
  /// An input of an item: an operand, and its stream where it is memory or an index.
  struct Read {
    Operand operand;
    int stream = -1;
  };
  std::vector<Read> reads;
  std::vector<int> split;  // the reductions that have partial results, by number
  std::vector<Loop> loops;
  bool copies_pairs = false;  // of numbers of 4 bytes, as integers of 8: strides and offsets count pairs

  /// As the program reads and writes what it keeps for an item of that dtype.
  DType moved_as(DType dtype) const { return copies_pairs ? DType::i64 : dtype; }

  // Tiles: the columns come from loop `col`, the rows from loop `row` (-1: none).
  int col = -1, row = -1;
  std::int64_t cols = 1, rows = 1;
  std::int64_t chunks = 1;     // tiles along the reduced loops
  std::int64_t instances = 1;  // tiles along the others

  // A second program combines the partial results of split reductions. This many instances share the chunks or, for reductions across, the tiles
  // along the kept loops. Each takes `share` consecutive ones, or every `splits`-th.
  std::int64_t splits = 1, share = 1;
  bool in_turn = false;  // every `splits`-th
  std::int64_t part_elements = 0;  // of one instance's partial result

  const Member& member(int item) const { return *std::ranges::lower_bound(members, item, {}, &Member::item); }
  const Read& read(int item, std::size_t k) const { return reads[member(item).first_read + k]; }
  std::int64_t step(int loop) const { return loop == col ? cols : loop == row ? rows : 1; }
  std::int64_t count(int loop) const { return (extent(loop) + step(loop) - 1) / step(loop); }
  /// As the tiles of a loop follow it.
  tile::Ladder ladder(const runtime::TilePreference& tiles, int loop) const {
    tile::Ladder out = tiles.ladder;
    if (loop >= 0 && loops[index(loop)].varies) out.same = {};
    return out;
  }
  const Stream& stream(int s) const { return streams[index(s)]; }
  /// Of stream s along a loop, in elements.
  std::int64_t stride(int loop, int s) const { return loops[index(loop)].strides[index(s)]; }
  bool moves(int loop, int s) const { return loop >= 0 && stride(loop, s) != 0; }
  std::int64_t extent(int loop) const { return loops[index(loop)].extent; }
  bool reduced(int loop) const { return loop >= 0 && loops[index(loop)].reduced; }
};

LoopNest make_loop_nest(const Plan& plan, const FusedGroup& group);

/// Sets col, row, cols, rows, chunks and instances. One flat axis always gets the same tile, so that programs over tensors of different
/// sizes are one program.
void choose_tiles(LoopNest& nest, const runtime::TilePreference& tiles);

/// Splits the chunks of a long reduction among enough instances. Adds a stream for the partial results of every reduction (scratch in `plan`). False
/// if no split is needed.
bool split_reduction(Plan& plan, const FusedGroup& group, LoopNest& nest, const runtime::TilePreference& tiles);

/// The same for the reductions across: instances share the tiles along the kept loops.
void split_across(Plan& plan, const FusedGroup& group, LoopNest& nest, const runtime::TilePreference& tiles);

/// The nest that combines the partial results: a reduced loop over them, and the loops that the reductions keep.
LoopNest combining_nest(const LoopNest& nest, const FusedGroup& group);

}  // namespace tegula::compile
