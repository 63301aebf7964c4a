// Loads and stores through tiles of offsets, tiles made of indices and boxes, and Assert.

#include <algorithm>
#include <cstring>

#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

/// True if the axis has axes inside it. The rank is at most kMaxAxes; the bound is stated for GCC, which unrolls the recursions below and otherwise
/// warns of accesses beyond the arrays.
bool has_inner(int axis, int last) { return axis < std::min(last, kMaxAxes - 1); }

struct Bounds {
  std::int64_t low, high;
};
template <class S>
Bounds bounds(const S& step, const Slot* slots, int axis) {
  const std::int64_t low = step.low[axis] < 0 ? 0 : std::max<std::int64_t>(slots[step.low[axis]].integer, 0);
  const std::int64_t high = step.high[axis] < 0 ? step.size[axis] : std::min<std::int64_t>(slots[step.high[axis]].integer, step.size[axis]);
  return {low, std::max(low, high)};
}

/// The addresses at which a row begins.
struct Row {
  std::byte *tile, *memory;
  const std::byte *offset, *mask;
};

/// Calls f(row, count) for every row along the last axis, inside the box. Rank is at least 1.
template <class F>
void for_rows(const GatherStep& step, const Slot* slots, F&& f) {
  const std::byte* mask = step.mask < 0 ? nullptr : slots[step.mask].pointer;
  const Row start{slots[step.tile].pointer, slots[step.base].pointer, slots[step.offset].pointer, mask};
  const auto walk = [&](auto&& self, int axis, Row row) -> void {
    const auto [low, high] = bounds(step, slots, axis);
    const std::int64_t stride = slots[step.stride[axis]].integer;
    const auto advance = [&](std::int64_t steps) {
      row.tile += steps * step.tile_stride[axis];
      row.memory = shifted(row.memory, steps * stride);
      row.offset += steps * step.offset_stride[axis];
      if (row.mask != nullptr) row.mask += steps * step.mask_stride[axis];
    };
    advance(low);
    if (!has_inner(axis, step.rank - 1)) {
      if (high > low) f(row, high - low);
      return;
    }
    for (std::int64_t i = low; i < high; ++i, advance(1)) self(self, axis + 1, row);
  };
  walk(walk, 0, start);
}

/// One row: with vectors when the whole row has one offset and one mask element, else element by element.
void move_row(const GatherStep& step, const Row& row, std::int64_t stride, std::int64_t count) {
  const int last = step.rank - 1;
  const MoveRows& rows = *step.rows;
  if (step.offset_stride[last] != 0 || (row.mask != nullptr && step.mask_stride[last] != 0)) {
    rows.indexed(row.tile, step.tile_stride[last], row.memory, stride, row.offset, step.offset_stride[last], step.scale, row.mask,
                 step.mask_stride[last], count);
    return;
  }
  if (row.mask != nullptr && *row.mask == std::byte{0}) return;
  std::byte* memory = shifted(row.memory, *reinterpret_cast<const std::int64_t*>(row.offset) * step.scale);
  if (stride == rows.memory_bytes && step.tile_stride[last] == rows.tile_bytes) {
    rows.to_memory ? rows.dense(memory, row.tile, count) : rows.dense(row.tile, memory, count);
  } else {
    rows.to_memory ? rows.strided(memory, stride, row.tile, step.tile_stride[last], count)
                   : rows.strided(row.tile, step.tile_stride[last], memory, stride, count);
  }
}

/// True if each row of a tile of two axes is a line in memory somewhere else.
bool moves_lines(const GatherStep& step) {
  return step.rank == 2 && step.offset_stride[0] != 0 && step.offset_stride[1] == 0 && (step.mask < 0 || step.mask_stride[1] == 0);
}

/// move() of lines. The cache is asked for lines that come later: no processor foresees where they lie.
void load_lines(const GatherStep& step, Frame& frame) {
  constexpr std::int64_t kAhead = 8, kCacheLine = 64;
  const Slot* const slots = frame.slots;
  const auto [top, bottom] = bounds(step, slots, 0);
  const auto [first, last] = bounds(step, slots, 1);
  const std::int64_t count = last - first, stride = slots[step.stride[1]].integer, bytes = count * step.rows->memory_bytes;
  if (count <= 0) return;
  const auto row = [&](std::int64_t i) {
    return Row{slots[step.tile].pointer + i * step.tile_stride[0] + first * step.tile_stride[1],
               shifted(slots[step.base].pointer, i * slots[step.stride[0]].integer + first * stride),
               slots[step.offset].pointer + i * step.offset_stride[0],
               step.mask < 0 ? nullptr : slots[step.mask].pointer + i * step.mask_stride[0]};
  };
  const bool dense = stride == step.rows->memory_bytes;
  for (std::int64_t i = top; i < bottom; ++i) {
    if (const Row next = row(i + kAhead); dense && i + kAhead < bottom && (next.mask == nullptr || *next.mask != std::byte{0})) {
      const std::byte* const line = shifted(next.memory, *reinterpret_cast<const std::int64_t*>(next.offset) * step.scale);
      for (std::int64_t k = 0; k < bytes; k += kCacheLine) __builtin_prefetch(line + k);
    }
    move_row(step, row(i), stride, count);
  }
}

const Step* move(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const GatherStep*>(at);
  const std::int64_t stride = frame.slots[step.stride[step.rank - 1]].integer;
  for_rows(step, frame.slots, [&](const Row& row, std::int64_t count) { move_row(step, row, stride, count); });
  return following(step);
}

}  // namespace

const Step* load_gather(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const GatherStep*>(at);
  if (step.fill >= 0) {
    std::int64_t count = 1;
    for (int i = 0; i < step.rank; ++i) count *= step.size[i];
    step.fill_rows->repeat(frame.slots[step.tile].pointer, &frame.slots[step.fill], count);
  }
  if (!moves_lines(step)) return move(at, frame);
  load_lines(step, frame);
  return following(step);
}

const Step* store_scatter(const Step* at, Frame& frame) { return move(at, frame); }

const Step* add_scatter(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const GatherStep*>(at);
  const int last = step.rank - 1;
  const std::int64_t stride = frame.slots[step.stride[last]].integer;
  for_rows(step, frame.slots, [&](const Row& row, std::int64_t count) {
    step.rows->accumulate(row.tile, step.tile_stride[last], row.memory, stride, row.offset, step.offset_stride[last], step.scale, row.mask,
                          step.mask_stride[last], count);
  });
  return following(step);
}

const Step* write_indices(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const IndexStep*>(at);
  const Slot* slots = frame.slots;
  auto* out = reinterpret_cast<std::int64_t*>(slots[step.out].pointer);
  const int last = step.rank - 1;
  // Integers wrap around.
  using Wrapping = std::uint64_t;
  const auto number = [&](int slot) { return static_cast<Wrapping>(slots[slot].integer); };
  const Wrapping stride = number(step.stride[last]), scale = static_cast<Wrapping>(step.scale);
  const auto walk = [&](auto&& self, int axis, Wrapping base, const std::byte* offset) -> void {
    if (has_inner(axis, last)) {
      for (std::int64_t i = 0; i < step.size[axis]; ++i) {
        self(self, axis + 1, base + static_cast<Wrapping>(i) * number(step.stride[axis]), offset + i * step.offset_stride[axis]);
      }
      return;
    }
    const std::int64_t count = step.size[last];
    if (step.offset < 0) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(base + static_cast<Wrapping>(i) * stride);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<Wrapping>(*reinterpret_cast<const std::int64_t*>(offset + i * step.offset_stride[last]));
        out[i] = static_cast<std::int64_t>(base + static_cast<Wrapping>(i) * stride + at * scale);
      }
    }
    out += count;
  };
  walk(walk, 0, number(step.base), step.offset < 0 ? nullptr : slots[step.offset].pointer);
  return following(step);
}

const Step* write_box(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const IndexStep*>(at);
  std::byte* out = frame.slots[step.out].pointer;
  const int last = step.rank - 1;
  const auto walk = [&](auto&& self, int axis, bool inside) -> void {
    const auto [low, high] = bounds(step, frame.slots, axis);
    if (has_inner(axis, last)) {
      for (std::int64_t i = 0; i < step.size[axis]; ++i) self(self, axis + 1, inside && i >= low && i < high);
      return;
    }
    const std::int64_t count = step.size[last];
    std::fill_n(out, count, std::byte{0});
    if (inside && high > low) std::fill_n(out + low, high - low, std::byte{1});
    out += count;
  };
  walk(walk, 0, true);
  return following(step);
}

const Step* mark_equal(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const MarkStep*>(at);
  const std::int64_t base = frame.slots[step.base].integer;
  const std::byte* in = frame.slots[step.in].pointer;
  std::byte* out = frame.slots[step.out].pointer;
  std::memset(out, 0, static_cast<std::size_t>(step.rows * step.columns));
  for (std::int64_t row = 0; row < step.rows; ++row, in += step.in_row, out += step.columns) {
    // Unsigned, so that an index before the first column is beyond the last one.
    const auto column = static_cast<std::uint64_t>(*reinterpret_cast<const std::int64_t*>(in)) - static_cast<std::uint64_t>(base);
    if (column < static_cast<std::uint64_t>(step.columns)) out[column] = std::byte{1};
  }
  return following(step);
}

const Step* check(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const AssertStep*>(at);
  const std::byte* condition = frame.slots[step.condition].pointer;
  const auto* value = reinterpret_cast<const std::int64_t*>(frame.slots[step.value].pointer);
  for (std::int64_t i = 0; i < step.count; ++i) {
    if (condition[i] != std::byte{0}) continue;
    Launch& launch = *frame.launch;
    if (!launch.failed.exchange(true) && launch.failure != nullptr && launch.failure->id < 0) {
      runtime::report(launch.failure, step.id, value[i * step.value_advances]);
    }
    return nullptr;  // the rest of this instance relies on the assertion
  }
  return following(step);
}

}  // namespace tegula::host
