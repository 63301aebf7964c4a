// Stores that the copy engine does.

#include <algorithm>
#include <optional>

#include "tegula/simt/decide/products.h"
#include "tegula/simt/decide/values.h"
#include "tegula/tile/access_hints.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

/// The map's box as a piece of the tile: as many rows as a piece has, those of the innermost axes first.
std::optional<StoredTile> in_pieces(TensorBox box, int rows_of_tile) {
  StoredTile tile{.box = std::move(box), .axes = {}};
  simt::TensorMap& map = tile.box.map;
  if (!map.inside) map.box_rows = rows_of_tile;
  int left = StoredTile::kRows, all = 1;
  bool fit = map.row_step == 1;
  const auto take = [&](int& size) {
    tile.axes.push_back(size);
    all *= size;
    const int part = std::min(left, size);
    fit = fit && left % part == 0 && size % part == 0;
    size = part, left /= part;
  };
  take(map.box_rows);
  for (simt::TensorMap::Plane& plane : map.planes) {
    fit = fit && plane.step == 1;
    take(plane.box);
  }
  map.pitch = StoredTile::kPitch, map.box_columns = StoredTile::kColumns;
  return fit && left == 1 && all == rows_of_tile ? std::optional(std::move(tile)) : std::nullopt;
}

/// Returns true if the engine takes stores without a hint. H200, bf16, TFLOP/s by threads and by the engine: tiles of 128 x 256 x 64 at 4096³ 653 and 666, b as
/// (N, K) 633 and 661; at 8192³ 671 and 678, 660 and 670; 8192 x 3072 x 768 484 and 533; with a copying warp 463 and 535; 128 x 128 of 256 rows with one 257
/// and 321. Kernels of several products, and those with tiles of more axes, have not been measured.
bool is_faster(const Analysis& a) {
  const auto& all = a.program().instructions;
  const bool is_deep = std::ranges::any_of(all, [](const Instruction& self) { return self.type.shape.rank() > 2; });
  return !is_deep && std::ranges::count(all, Word::Dot, &Instruction::word) == 1;
}

/// Returns true if the program stores there twice, or takes what it has stored: accesses of threads and of the engine have no order there.
bool is_touched_again(const Analysis& a, Id store) {
  const Id root = a.root_of(a[store].operands[0]);
  const auto& all = a.program().instructions;
  for (Id id = 0; id < static_cast<Id>(all.size()); ++id) {
    const Instruction& self = a[id];
    if (self.word == Word::Atomic) return true;
    if (self.word == Word::Load ? id < store : self.word != Word::Store || id == store) continue;
    const Id other = a.root_of(self.operands[0]);
    if (other == root || other < 0) return true;
  }
  return root < 0;
}

}  // namespace

std::map<Id, StoredTile> stored_tiles(const Values& values) {
  const Analysis& a = values.analysis();
  std::map<Id, StoredTile> all;
  if (!values.grid().groups || !a.maps()) return all;
  for (const Id id : a.program().body.body) {
    const Instruction& self = a[id];
    if (self.word != Word::Store) continue;
    const tile::Cache said = tile::AccessHints::of(self).cache_modifier;
    if (said != tile::Cache::Bulk && (said != tile::Cache::Default || !is_faster(a))) continue;
    const tile::Type& type = a.type(self.operands[0]);
    const Shape shape = in_two_axes(type.shape);
    if (values.spread(self.operands[0]) != Spread::Full || !is_half(type.dtype) ||
        shape[1] / values.grid().column_blocks % StoredTile::kColumns != 0)
      continue;
    if (shape[0] % StoredTile::kRows != 0 || is_touched_again(a, id)) continue;
    auto box = box_of(a, id, 1);
    if (auto tile = box ? in_pieces(*std::move(box), static_cast<int>(shape[0])) : std::nullopt) all.emplace(id, *std::move(tile));
  }
  return all;
}

}  // namespace tegula::gpu
