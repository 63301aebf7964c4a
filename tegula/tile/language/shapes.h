#pragma once
// Words that move the elements of tiles.

#include <functional>
#include <utility>
#include <vector>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

/// x[…, index, …] along an axis: index has x's rank, and x's sizes or smaller ones along the other axes. Positions outside of the axis give 0.
Tile gather(TileArg x, TileArg index, int axis);
/// x with its axes in another order: permute(x, {2, 0, 1}).
Tile permute(TileArg x, const std::vector<int>& order);
/// The elements begin … begin + count - 1 of an axis.
Tile slice(TileArg x, int axis, std::int64_t begin, std::int64_t count);
Tile flip(TileArg x, int axis);
/// One behind the other along an axis.
Tile cat(TileArg a, TileArg b, int axis = 0);
/// A new last axis of size 2: a, b.
Tile join(TileArg a, TileArg b);
/// The two halves of a last axis of size 2.
std::pair<Tile, Tile> split(TileArg x);
/// a[0], b[0], a[1], b[1], … along the last axis.
Tile interleave(TileArg a, TileArg b);
/// The k largest along the last axis, in descending order.
Tile topk(TileArg x, std::int64_t k);
/// i32: how often each of 0 … bins - 1 comes in x, of any shape; what lies outside counts nowhere. Where a mask is given, of those elements alone.
Tile histogram(TileArg x, std::int64_t bins);
Tile histogram(TileArg x, std::int64_t bins, TileArg mask);
/// a (B, M, K) times b (B, K, N), product by product: dot, of nothing else.
Tile batched_dot(TileArg a, TileArg b);
/// New row and column of (i, j) in a table of size_i x size_j whose groups of size_g rows are walked through column by column.
std::pair<Tile, Tile> swizzle2d(TileArg i, TileArg j, TileArg size_i, TileArg size_j, TileArg size_g);

// Reductions and scans by a function of two tiles, which must be associative. It is recorded for tiles of several sizes.
using Combine = std::function<Tile(Tile, Tile)>;
using CombineSeveral = std::function<std::vector<Tile>(const std::vector<Tile>&, const std::vector<Tile>&)>;
Tile reduce(TileArg x, int axis, const Combine& combine, Axis kept = Axis::Drop);
std::vector<Tile> reduce(const std::vector<Tile>& xs, int axis, const CombineSeveral& combine, Axis kept = Axis::Drop,
                         Line where = Line::current());
enum class Direction : std::uint8_t { Forward, Reverse };
Tile associative_scan(TileArg x, int axis, const Combine& combine, Direction direction = Direction::Forward);
std::vector<Tile> associative_scan(const std::vector<Tile>& xs, int axis, const CombineSeveral& combine,
                                   Direction direction = Direction::Forward, Line where = Line::current());
Tile xor_sum(TileArg x, int axis, Axis kept = Axis::Drop);
/// The greatest (least) element and where it is: of equals the first.
std::pair<Tile, Tile> max_with_indices(TileArg x, int axis, Axis kept = Axis::Drop);
std::pair<Tile, Tile> min_with_indices(TileArg x, int axis, Axis kept = Axis::Drop);

}  // namespace tegula::tile
