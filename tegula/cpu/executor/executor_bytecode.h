#pragma once
// The bytecode of a tile program on the CPU, and the state it runs on.
//
// A kernel is an array of steps. A step is a struct that begins with the address of the function that runs it, followed by its own
// operands; that function returns the next step. Operands are indices of slots: 8-byte registers of one thread. A scalar lives in
// its slot; a tile lives in scratch memory (or in the user's memory, when nothing needs it copied) and its slot holds its address.
// The same step serves both: if a scalar is used as a tile, a second slot holds the address of the first.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/runtime/device.h"
#include "tegula/tile/ir.h"

namespace tegula::host {

union Slot {
  std::int64_t integer;  // i64; i32 sign-extended; u32 with zeros; u64 its bits; booleans 0 or 1
  double f64;
  float f32;
  std::byte* pointer;
};

/// Returns the address, moved by a number of bytes. Not pointer arithmetic: a base belongs to element 0 of a block also where the box forbids that
/// element, and may then lie outside of every object.
template <class T>
T* shifted(T* address, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes));
}

/// The state shared by the threads of one launch.
struct Launch {
  runtime::Failure* failure = nullptr;
  std::atomic<bool> failed{false};
  bool streaming = false;
  bool prefetch = false;  // the loads come from beyond the caches
};

/// The state of one thread.
struct Frame {
  Slot* slots = nullptr;
  Launch* launch = nullptr;
  // Memory that the next instance will probably read: fetched a few lines at a time while the steps of this one run.
  struct Ahead {
    const std::byte *next, *end;
  };
  static constexpr int kMostAhead = 8;
  Ahead ahead[kMostAhead] = {};
  int ahead_count = 0;
  int lines_per_step = 0;
};

struct Step;
using Run = const Step* (*)(const Step*, Frame&);
struct Step {
  Run run = nullptr;
};

template <class S>
const Step* following(const S& step) {
  static_assert(sizeof(S) % 8 == 0);
  return reinterpret_cast<const Step*>(reinterpret_cast<const std::byte*>(&step) + sizeof(S));
}
inline const Step* at_distance(const Step& step, std::int64_t bytes) {
  return reinterpret_cast<const Step*>(reinterpret_cast<const std::byte*>(&step) + bytes);
}

/// Slots of up to three integer scalars, and of the result.
struct ScalarStep : Step {
  std::int32_t out = 0, a = 0, b = 0, c = 0;
};

/// An elementwise word over rows x columns. Each operand advances by `row` bytes from row to row, and inside a row by one element or not at all.
struct MapStep : Step {
  std::int32_t rows = 0, columns = 0;  // slots
  std::int32_t out = 0;  // slots of addresses, like in[]
  std::int32_t in[4] = {};
  std::int32_t out_row = 0;
  std::int32_t row[4] = {};
  std::int32_t advances[4] = {};  // 1: along the row; 0: one value per row
  std::int32_t attribute = 0;  // Narrow: the stored type
};

/// A loop. In a While `index` counts, and `begin` is true if there is another iteration.
struct LoopStep : Step {
  std::int32_t index = 0, begin = 0, end = 0, step = 0;
  std::int64_t distance = 0;  // begin: to the step after the loop; end: back to the body
};

/// Steps run strip by strip over tiles of `total` elements. `count`: slot of the length of this strip, `index`: of its number.
struct StripStep : Step {
  static constexpr int kMostTiles = 12;
  std::int32_t count = 0, index = 0;
  std::int64_t length = 0, total = 0;
  std::int64_t distance = 0;  // end: back to the first step
  std::int32_t tile[kMostTiles] = {};  // slots of the tiles that move on
  std::int32_t bytes[kMostTiles] = {};  // by how much
  std::int32_t tiles = 0;
  std::int32_t unused = 0;
};

/// Goes `distance` bytes when slot `condition` is 0 (or always, when condition is -1).
struct JumpStep : Step {
  std::int64_t distance = 0;
  std::int64_t condition = -1;
};

struct MoveRows;

inline constexpr int kMaxAxes = 5;
inline constexpr int kMaxProtected = 8;

/// A tile moved between scratch and memory whose elements are base + Σ index·stride, restricted to a box of indices.
struct BlockStep : Step {
  const MoveRows* rows = nullptr;
  const MoveRows* fill_rows = nullptr;  // Load: of the tile's own dtype
  std::int32_t rank = 0;
  std::int32_t base = 0;  // slot: address of element 0
  std::int32_t stride[kMaxAxes] = {};  // slots: bytes between neighbours in memory
  std::int32_t low[kMaxAxes] = {}, high[kMaxAxes] = {};  // slots: bounds of the index, -1 for none
  std::int32_t size[kMaxAxes] = {};  // slots: extents of the tile
  std::int64_t tile_stride[kMaxAxes] = {};  // bytes in the tile
  std::int32_t tile = 0;  // slot: the tile's address
  std::int32_t home = 0;  // slot: the scratch that belongs to the tile
  std::int32_t fill = -1;  // Load: slot of the value outside the box; -1: those elements stay
  std::int32_t in_place = 0;  // Load: the tile may lie in the user's memory. Store: the value may have been computed there
  std::int32_t last = -1;  // Load: slot of the address of the load before, for guessing the next
  std::int32_t unused = 0;
  // Store: tiles that lie in the user's memory and are read later. They move home before that memory is overwritten.
  std::int32_t protected_count = 0;
  std::int32_t protected_tile[kMaxProtected] = {}, protected_home[kMaxProtected] = {};
  std::int32_t protected_bytes[kMaxProtected] = {};  // slots
  std::uint32_t spared = 0;  // bit i: protected tile i may be overwritten if it is exactly the stored tile
};

/// Like BlockStep where element (i…) is at base + offset[i…]·scale + Σ index·stride and the mask is a tile or a box.
struct GatherStep : Step {
  const MoveRows* rows = nullptr;
  const MoveRows* fill_rows = nullptr;
  std::int32_t rank = 0;
  std::int32_t base = 0;
  std::int32_t offset = 0;  // slot: address of an i64 tile
  std::int32_t mask = -1;  // slot: address of a boolean tile; -1 for none
  std::int32_t stride[kMaxAxes] = {};  // slots
  std::int32_t low[kMaxAxes] = {}, high[kMaxAxes] = {};  // slots or -1
  std::int64_t size[kMaxAxes] = {};
  std::int64_t offset_stride[kMaxAxes] = {}, mask_stride[kMaxAxes] = {}, tile_stride[kMaxAxes] = {};  // bytes
  std::int64_t scale = 0;
  std::int32_t tile = 0;
  std::int32_t fill = -1;  // Load: slot of the value of masked-off elements; -1: those elements stay
};

/// Changes one element in memory; the value, what it is compared with (or null) and what was there before (or null) are of the compute type.
using Change = void (*)(std::byte* memory, const std::byte* value, const std::byte* compared, std::byte* old);

/// Element after element, with what was there before. The value's strides are the tile's.
struct AtomicStep : GatherStep {
  Change change = nullptr;
  std::int32_t compared = -1, old = -1;  // slots of addresses
  std::int64_t bytes = 0;  // of an element of `old`, which is dense
  std::int64_t compared_stride[kMaxAxes] = {};
};

/// Writes base + offset·scale + Σ index·stride into an i64 tile (offset = -1: none), or a box into a boolean tile.
struct IndexStep : Step {
  std::int32_t rank = 0;
  std::int32_t base = 0;
  std::int32_t offset = -1;
  std::int32_t out = 0;
  std::int32_t stride[kMaxAxes] = {};  // slots
  std::int32_t low[kMaxAxes] = {}, high[kMaxAxes] = {};  // slots or -1
  std::int64_t size[kMaxAxes] = {};
  std::int64_t offset_stride[kMaxAxes] = {};  // bytes
  std::int64_t scale = 0;
};

/// Booleans of rows x columns: true where the value of the row is `base` plus the column.
struct MarkStep : Step {
  std::int32_t base = 0;  // slot
  std::int32_t in = 0, out = 0;  // slots of addresses: i64, boolean
  std::int32_t unused = 0;
  std::int64_t rows = 0, columns = 0, in_row = 0;  // in_row: bytes
};

/// Along the middle axis of a dense (outer, length, inner) tile.
struct AcrossStep : Step {
  std::int32_t in = 0, out = 0;
  std::int32_t outer = 0;  // slot
  std::int32_t scratch = -1;  // slot of an address: two lines of 16 bytes per element
  std::int64_t length = 0, inner = 0;
  std::int32_t descending = 0;
  std::int32_t count = -1;  // Reduce in strips: slot of the length of this strip,
  std::int32_t strip = -1;  // slot of the strip's number; after the first strip the result is combined with the previous one;
  std::int32_t total = -1;  // and of the sum of floats so far, in f64
  std::int32_t ordered = 0;  // Sort, ArgSort: the number of elements, from the first on, that have to be in order; 0: all
};

struct DotStep : Step {
  std::int32_t a = 0, b = 0, accumulator = 0, out = 0;  // slots of addresses
  std::int64_t rows = 0, columns = 0, inner = 0, products = 1;
};

struct RandomStep : Step {
  std::int32_t seed = 0;  // slot of the value
  std::int32_t index = 0;  // slot of an address; or, with consecutive, of the first index itself
  std::int32_t out = 0;
  std::int32_t consecutive = 0;
  std::int64_t count = 0;
};

struct AssertStep : Step {
  std::int32_t condition = 0, value = 0;  // slots of addresses
  std::int64_t count = 0;
  std::int64_t value_advances = 0;
  std::int64_t id = 0;
};

/// Gather: elements of a dense (outer, length, inner) tile at `count` places of each line. Histogram: counts of `length` numbers, `places` is the mask.
struct PickStep : Step {
  std::int32_t in = 0, places = -1, out = 0, unused = 0;  // slots of addresses
  std::int64_t outer = 1, length = 0, inner = 1, count = 0;
};

/// InlineAsm, element by element through its fallback; Print of the first elements.
struct TextStep : Step {
  static constexpr std::size_t kMost = 16;
  const tile::Text* text = nullptr;  // of Print: the label, and the line
  std::int32_t operands = 0, result = 0;  // how many; its dtype
  std::int64_t count = 0;
  std::int32_t in[kMost] = {}, advances[kMost] = {}, dtype[kMost] = {};  // slots of addresses
  std::int32_t out = 0;
  std::int32_t ids[3] = {};  // slots of the instance
};

inline void fetch_ahead(Frame& frame) {
  constexpr std::int64_t kLine = 64;
  Frame::Ahead& ahead = frame.ahead[frame.ahead_count - 1];
  for (int i = 0; i < frame.lines_per_step && ahead.next < ahead.end; ++i, ahead.next += kLine) __builtin_prefetch(ahead.next);
  if (ahead.next >= ahead.end) --frame.ahead_count;
}

/// Runs from `step` to the end.
inline void run_steps(const Step* step, Frame& frame) {
  while (step != nullptr) {
    step = step->run(step, frame);
    if (frame.ahead_count > 0) fetch_ahead(frame);
  }
}

}  // namespace tegula::host
