// Tails cost what they hold: when a program stores only the first rows of a tile, only these rows are computed and loaded.
//
// The last instance of a grid has a tile that is partly beyond the end, and the small parameters of a multi-tensor optimiser step
// fill a fraction of one. Their stores have a box whose bound on the first axis is known when the instance begins. The bound is
// handed back from readers to what they read: a tile's limit is the one bound that all its readers agree on.

#include <algorithm>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

constexpr int kOpen = -2;  // no reader seen
constexpr int kWhole = -1;

class Limits {
 public:
  Limits(const std::vector<Tile>& tiles, std::vector<Item>& items, const std::vector<Slot>& slots)
      : tiles_(tiles),
        items_(items),
        slots_(slots),
        limits_(tiles.size(), kOpen) {}

  /// The limit of every tile: the slot of the number of rows, or kWhole.
  const std::vector<int>& find() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (auto item = items_.rbegin(); item != items_.rend(); ++item) visit(*item);
    }
    return limits_;
  }

  static std::int64_t rows(const Tile& tile) { return tile.shape[0]; }

  /// The limit of a result goes over to the operands that have the same rows.
  bool passes_on(const Item& item) const {
    if (item.writes.empty()) return false;
    const Tile& out = tile(item.writes.back());
    if (rows(out) < 2) return false;
    if (item.kind == Item::Kind::Map) {
      const auto& step = item.as<MapStep>();
      const std::int64_t loops = slots_[static_cast<std::size_t>(step.rows)].integer;
      return loops == 1 || loops % rows(out) == 0;
    }
    if (item.kind == Item::Kind::Across) return slots_[static_cast<std::size_t>(item.as<AcrossStep>().outer)].integer % rows(out) == 0;
    return false;
  }

 private:
  const Tile& tile(int t) const { return tiles_[static_cast<std::size_t>(t)]; }

  void lower(int t, int limit) {
    int& current = limits_[static_cast<std::size_t>(t)];
    if (limit == kOpen || current == limit || current == kWhole) return;
    current = current == kOpen ? limit : kWhole;
    changed_ = true;
  }

  std::int64_t number(int slot) const { return slots_[static_cast<std::size_t>(slot)].integer; }

  /// True if row i of the result (or of the stored tile) depends on row i of tile t and on no other.
  bool row_by_row(const Item& item, int t) const {
    const std::int64_t bytes = tile(t).bytes();
    if (item.kind == Item::Kind::Store) {
      const auto& step = item.as<BlockStep>();
      return rows(tile(t)) == number(step.size[0]) && step.tile_stride[0] * number(step.size[0]) == bytes;
    }
    const Tile& out = tile(item.writes.back());
    if (rows(tile(t)) != rows(out)) return false;
    if (item.kind == Item::Kind::Across) return true;
    const auto& step = item.as<MapStep>();
    for (std::size_t k = 0; k < 4; ++k) {
      if (step.in[k] != tile(t).slot) continue;
      const bool aligned = number(step.rows) == 1 ? step.advances[k] != 0 && numel(tile(t).shape) == numel(out.shape)
                                                  : step.row[k] * number(step.rows) == bytes;
      if (!aligned) return false;
    }
    return true;
  }

  void visit(const Item& item) {
    int limit = kWhole;
    if (item.kind == Item::Kind::Store && item.limit >= 0) limit = item.limit;
    else if (passes_on(item)) limit = limits_[static_cast<std::size_t>(item.writes.back())];
    for (const int t : item.reads) lower(t, limit >= 0 && !row_by_row(item, t) ? kWhole : limit);
    for (std::size_t i = 0; i + 1 < item.writes.size(); ++i) lower(item.writes[i], kWhole);
  }

  const std::vector<Tile>& tiles_;
  std::vector<Item>& items_;
  const std::vector<Slot>& slots_;
  std::vector<int> limits_;
  bool changed_ = false;
};

}  // namespace

void Compiler::limit_rows() {
  auto& items = state_.levels.back().body;
  Limits limits(state_.tiles, items, state_.slots);
  const std::vector<int> found = limits.find();
  const auto times = [&](int limit, std::int64_t factor) { return slot_of(multiply({false, 0, limit, 2}, known(factor))); };
  for (Item& item : items) {
    if (item.kind == Item::Kind::Store && item.limit >= 0 && found[static_cast<std::size_t>(item.reads[0])] == item.limit) {
      auto& step = item.as<BlockStep>();
      step.size[0] = item.limit;
      step.high[0] = -1;
    }
    if (item.writes.empty()) continue;
    const Tile& tile = state_.tiles[static_cast<std::size_t>(item.writes.back())];
    const int limit = found[static_cast<std::size_t>(item.writes.back())];
    if (limit < 0) continue;
    if (item.kind == Item::Kind::Load) {
      item.as<BlockStep>().size[0] = limit;
    } else if (limits.passes_on(item) && item.kind == Item::Kind::Map) {
      auto& step = item.as<MapStep>();
      const std::int64_t rows = state_.slots[static_cast<std::size_t>(step.rows)].integer;
      int& count = rows == 1 ? step.columns : step.rows;
      count = times(limit, state_.slots[static_cast<std::size_t>(count)].integer / tile.shape[0]);
    } else if (limits.passes_on(item) && item.kind == Item::Kind::Across) {
      auto& step = item.as<AcrossStep>();
      step.outer = times(limit, state_.slots[static_cast<std::size_t>(step.outer)].integer / tile.shape[0]);
    }
  }
  for (std::size_t t = 0; t < found.size(); ++t) {
    Tile& tile = state_.tiles[t];
    if (found[t] >= 0) tile.live_bytes = times(found[t], tile.bytes() / tile.shape[0]);
  }
}

}  // namespace tegula::host
