// Loads and stores of blocks: every address is a base plus a stride per axis, and a box excludes elements.

#include <algorithm>
#include <cstring>
#include <utility>

#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

struct Axis {
  std::int64_t count, memory, tile;  // strides in bytes
};

/// True if the whole block is inside its box, and memory holds it as the tile would.
bool lies_in_memory(const BlockStep& step, const Slot* slots) {
  for (int i = 0; i < step.rank; ++i) {
    const std::int64_t size = slots[step.size[i]].integer;
    if (step.high[i] >= 0 && slots[step.high[i]].integer < size) return false;
    if (step.low[i] >= 0 && slots[step.low[i]].integer > 0) return false;
    if (slots[step.stride[i]].integer != step.tile_stride[i] && size > 1) return false;
  }
  return true;
}

/// The part of a block that is inside its box.
struct Region {
  Axis axes[kMaxAxes];
  int rank = 0;
  std::byte* memory = nullptr;
  std::int64_t tile_offset = 0;
  bool full = true, empty = false;

  Region(const BlockStep& step, const Slot* slots) : rank(step.rank), memory(slots[step.base].pointer) {
    for (int i = 0; i < rank; ++i) {
      const std::int64_t size = slots[step.size[i]].integer, stride = slots[step.stride[i]].integer;
      const std::int64_t low = step.low[i] < 0 ? 0 : std::max<std::int64_t>(slots[step.low[i]].integer, 0);
      const std::int64_t high = step.high[i] < 0 ? size : std::min(slots[step.high[i]].integer, size);
      axes[i] = {high - low, stride, step.tile_stride[i]};
      full = full && high - low == size;
      empty = empty || high <= low;
      memory = shifted(memory, low * stride);
      tile_offset += low * step.tile_stride[i];
    }
  }

  /// Leaves out axes of one element and joins neighbours that run through without a jump.
  void simplify() {
    int kept = 0;
    for (int i = 0; i < rank; ++i) {
      if (axes[i].count == 1) continue;
      Axis& last = axes[kept - (kept > 0)];
      if (kept > 0 && last.memory == axes[i].memory * axes[i].count && last.tile == axes[i].tile * axes[i].count) {
        last = {last.count * axes[i].count, axes[i].memory, axes[i].tile};
      } else {
        axes[kept++] = axes[i];
      }
    }
    rank = kept;
  }

  /// The first and the last byte of memory that is touched.
  std::pair<const std::byte*, const std::byte*> range(std::int64_t element_bytes) const {
    const std::byte *first = memory, *last = memory + element_bytes - 1;
    for (int i = 0; i < rank; ++i) {
      const std::int64_t reach = (axes[i].count - 1) * axes[i].memory;
      (reach < 0 ? first : last) += reach;
    }
    return {first, last};
  }

  Axis take(int i) {
    const Axis axis = axes[i];
    for (; i + 1 < rank; ++i) axes[i] = axes[i + 1];
    --rank;
    return axis;
  }

  template <class F>
  void for_rest(std::byte* tile, F&& f) const {
    const Axis one{1, 0, 0};
    const Axis a = rank > 2 ? axes[rank - 3] : one, b = rank > 1 ? axes[rank - 2] : one, c = rank > 0 ? axes[rank - 1] : one;
    for (std::int64_t i = 0; i < a.count; ++i) {
      for (std::int64_t j = 0; j < b.count; ++j) {
        std::byte* m = memory + i * a.memory + j * b.memory;
        std::byte* t = tile + i * a.tile + j * b.tile;
        for (std::int64_t k = 0; k < c.count; ++k, m += c.memory, t += c.tile) f(m, t);
      }
    }
  }
};

/// Moves the region, along the axis (or the two axes) that suits the strides best.
void move(Region& region, std::byte* tile, const MoveRows& rows, bool streaming) {
  region.simplify();
  const std::int64_t memory_bytes = rows.memory_bytes, tile_bytes = rows.tile_bytes;
  const auto find = [&](auto&& fits) {
    for (int i = region.rank - 1; i >= 0; --i) {
      if (fits(region.axes[i])) return i;
    }
    return -1;
  };
  if (region.rank == 0) {
    rows.strided(rows.to_memory ? region.memory : tile, 0, rows.to_memory ? tile : region.memory, 0, 1);
    return;
  }
  if (const int i = find([&](const Axis& a) { return a.memory == memory_bytes && a.tile == tile_bytes; }); i >= 0) {
    const std::int64_t count = region.take(i).count;
    const auto copy = rows.to_memory && streaming ? rows.streaming : rows.dense;
    if (rows.to_memory) region.for_rest(tile, [&](std::byte* m, std::byte* t) { copy(m, t, count); });
    else region.for_rest(tile, [&](std::byte* m, std::byte* t) { copy(t, m, count); });
    return;
  }
  const int repeats =
      find([&](const Axis& a) { return rows.to_memory ? a.tile == 0 && a.memory == memory_bytes : a.memory == 0 && a.tile == tile_bytes; });
  if (repeats >= 0) {
    const std::int64_t count = region.take(repeats).count;
    if (rows.to_memory) region.for_rest(tile, [&](std::byte* m, std::byte* t) { rows.repeat(m, t, count); });
    else region.for_rest(tile, [&](std::byte* m, std::byte* t) { rows.repeat(t, m, count); });
    return;
  }
  int down = find([&](const Axis& a) { return a.memory == memory_bytes && a.count > 3; });
  int along = find([&](const Axis& a) { return a.tile == tile_bytes && a.count > 3; });
  if (down >= 0 && along >= 0) {
    const Axis r = region.axes[down], c = region.axes[along];
    region.take(std::max(down, along)), region.take(std::min(down, along));
    region.for_rest(tile, [&](std::byte* m, std::byte* t) { rows.transposed(t, r.tile, m, c.memory, r.count, c.count); });
    return;
  }
  int longest = 0;
  for (int i = 1; i < region.rank; ++i) {
    if (region.axes[i].count > region.axes[longest].count) longest = i;
  }
  const Axis axis = region.take(longest);
  if (rows.to_memory) region.for_rest(tile, [&](std::byte* m, std::byte* t) { rows.strided(m, axis.memory, t, axis.tile, axis.count); });
  else region.for_rest(tile, [&](std::byte* m, std::byte* t) { rows.strided(t, axis.tile, m, axis.memory, axis.count); });
}

std::int64_t elements(const BlockStep& step, const Slot* slots) {
  std::int64_t count = 1;
  for (int i = 0; i < step.rank; ++i) count *= slots[step.size[i]].integer;
  return count;
}

/// Fills what the region leaves out of a tile: what is before and behind it, where its elements lie beside each other; else all.
void fill_outside(const BlockStep& step, const Slot* slots, const Region& region, std::byte* tile) {
  const MoveRows& rows = *step.fill_rows;
  const std::int64_t all = elements(step, slots), first = region.tile_offset / rows.tile_bytes;
  std::int64_t count = 1, span = 1;
  for (int i = 0; i < region.rank; ++i) {
    count *= region.axes[i].count;
    span += (region.axes[i].count - 1) * region.axes[i].tile / rows.tile_bytes;
  }
  const bool together = !region.empty && count == span;
  const auto fill = [&](std::int64_t begin, std::int64_t end) {
    if (begin < end) rows.repeat(tile + begin * rows.tile_bytes, &slots[step.fill], end - begin);
  };
  fill(0, together ? first : all);
  if (together) fill(first + count, all);
}

/// Moves tiles home that lie in memory which is about to be overwritten.
void protect(const BlockStep& step, Slot* slots, const Region& region) {
  if (step.protected_count == 0 || region.empty) return;
  const auto [first, last] = region.range(step.rows->memory_bytes);
  for (std::int32_t i = 0; i < step.protected_count; ++i) {
    std::byte*& tile = slots[step.protected_tile[i]].pointer;
    std::byte* home = slots[step.protected_home[i]].pointer;
    const std::int64_t bytes = slots[step.protected_bytes[i]].integer;
    if (tile == home || last < tile || first >= tile + bytes) continue;
    if ((step.spared >> i & 1) != 0 && tile == region.memory) continue;
    std::memcpy(home, tile, static_cast<std::size_t>(bytes));
    tile = home;
  }
}

/// Notes where the next load of this step will probably read: as far from this one as this one is from the last.
void guess_next(const BlockStep& step, Frame& frame) {
  constexpr std::int64_t kFarthest = 1 << 20;
  if (step.last < 0) return;
  std::byte* base = frame.slots[step.base].pointer;
  Slot& last = frame.slots[step.last];
  const std::int64_t distance = frame.slots[step.base].integer - last.integer;
  last.pointer = base;
  if (distance == 0 || distance > kFarthest || distance < -kFarthest || frame.ahead_count == Frame::kMostAhead) return;
  const std::byte* next = shifted(base, distance);
  frame.ahead[frame.ahead_count++] = {next, shifted(next, elements(step, frame.slots) * step.rows->memory_bytes)};
}

}  // namespace

const Step* load_block(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const BlockStep*>(at);
  Slot* slots = frame.slots;
  if (frame.launch->prefetch) guess_next(step, frame);
  if (step.in_place && lies_in_memory(step, slots)) {
    slots[step.tile].pointer = slots[step.base].pointer;
    return following(step);
  }
  Region region(step, slots);
  std::byte* tile = slots[step.home].pointer;
  slots[step.tile].pointer = tile;
  if (!region.full && step.fill >= 0) fill_outside(step, slots, region, tile);
  if (!region.empty) move(region, tile + region.tile_offset, *step.rows, false);
  return following(step);
}

const Step* store_block(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const BlockStep*>(at);
  Slot* slots = frame.slots;
  if (step.in_place && slots[step.tile].pointer == slots[step.base].pointer && lies_in_memory(step, slots)) return following(step);
  Region region(step, slots);
  if (region.empty) return following(step);
  protect(step, slots, region);
  move(region, slots[step.tile].pointer + region.tile_offset, *step.rows, frame.launch->streaming);
  return following(step);
}

const Step* aim_store(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const BlockStep*>(at);
  Slot* slots = frame.slots;
  const bool direct = step.in_place && !frame.launch->streaming && lies_in_memory(step, slots);
  if (direct && step.protected_count > 0) protect(step, slots, Region(step, slots));
  slots[step.tile].pointer = slots[direct ? step.base : step.home].pointer;
  return following(step);
}

}  // namespace tegula::host
