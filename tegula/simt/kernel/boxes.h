#pragma once
// Statements of a kernel (kernel.h): boxes of tensors that the copy engine (TMA) brings into shared memory, and takes from there, while threads compute. Counters
// (mbarriers) of 8 bytes say what has arrived.

#include <cstddef>
#include <optional>

#include "tegula/simt/kernel/expression.h"

namespace tegula::simt {

/// A counter's phase, the first one of parity 0, ends when `arrivals` threads have arrived and the bytes that they said are expected have come.
struct BeginCounters {
  Expression place;  // of the first one
  int count = 1;
  int arrivals = 1;
};
struct EndCounters {  // they are plain memory again
  Expression place;
  int count = 1;
};
struct ExpectBytes {  // arrives, too
  Expression counter;
  std::size_t bytes = 0;
};
/// Lets whoever awaits the phase overwrite what the thread read before. `block`: at the counter in the same place of the cluster's block of that number; else of
/// the own one.
struct Arrive {
  Expression counter;
  std::optional<Expression> block = {};
};
/// Copies the box of the map that begins at (x, y) of a plane to `place`. Where a coordinate is negative the thread itself reads what the program says: rows
/// that begin `stride` elements apart, below the limits, from pointer + y * stride + x on, of the plane that begins at `pointer`. No coordinate of a map that
/// is `inside` is negative: pointer, limits and stride are not read. With `blocks`, of which bit b is the cluster's block b, the box comes to the same place in the
/// memory of each of these, and counts at the counter in the same place there (multicast).
struct CopyBox {
  int map = 0;  // of Kernel::maps
  int box_columns = 0, box_rows = 0, pitch = 128;  // the same of it, rows of all planes
  bool inside = false;  // the same
  Expression place, counter, pointer, x, y, columns, rows, stride;
  Expressions planes;  // which one, along each of the map's further axes
  unsigned blocks = 0;  // 0: the own one
};
struct AwaitBytes {  // until the counter's phase of that parity has ended
  Expression counter, parity;
};
/// Stores the box from `place` to (x, y) of a plane of the map; memory outside of the tensor stays unchanged. Numbers are those of CopyBox, and where
/// a coordinate is negative the thread itself writes what the program says. The copy engine reads `place` at some time until the thread awaits it, and sees
/// what threads wrote there before they fenced it (FenceTiles) and met.
struct StoreBox {
  int map = 0;
  int box_columns = 0, box_rows = 0, pitch = 128;
  bool inside = false;
  Expression place, pointer, x, y, columns, rows, stride;
  Expressions planes;
};
/// The thread's StoreBoxes since the last one of these are a group.
struct CloseStores {};
struct AwaitStores {  // until what all but the thread's last groups store has been read: it may be written to
  int unfinished = 0;
};

}  // namespace tegula::simt
