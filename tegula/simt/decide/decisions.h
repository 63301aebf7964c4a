#pragma once
// The decisions about a kernel before any of it is lowered. TEGULA_PRINT=decide shows them for each kernel of a plan.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tegula/simt/analysis.h"
#include "tegula/simt/decide/layout.h"
#include "tegula/simt/decide/products.h"
#include "tegula/simt/decide/schedule.h"
#include "tegula/simt/decide/staged_rows.h"
#include "tegula/simt/kernel/kernel.h"

namespace tegula::gpu {

/// The digits of a float that are left where it is rounded or stored: 8 bits, 11, or all of them.
enum class Digits : std::uint8_t { Brief, Half, All };
/// Returns true if a word of f32 can be computed with fewer digits.
bool has_brief_form(const tile::Instruction& self);

/// Loads that a loop fetches ahead into a ring of stages in shared memory.
struct RingPlan {
  int stages = 0;  // 0: nothing is fetched ahead
  int ahead = 0;   // iterations
  std::set<tile::Id> nearer, further;  // loads that are fetched so far ahead, and one iteration more
  bool waits_first = false;            // an iteration waits for its own before it fetches: less is on its way
  std::size_t stage_bytes = 0;         // of a block
  std::map<tile::Id, std::size_t> places;  // load -> where its part of a stage begins, in bytes
  std::string layout;                      // where in the ring a thread's own bytes lie
  std::vector<tile::Id> addresses;         // scalar words that are computed again for a later iteration
};

/// A sum that a loop carries, of which each thread adds up its own share: the threads bring them together behind the loop.
struct DeferredSum {
  tile::Id parameter = -1, combination = -1;
  std::vector<tile::Id> chain;  // the reductions, first one first
  tile::Id widened = -1;        // the cast of what they leave: the threads' own shares of some tiles are added in that type
  tile::Id scaled = -1, factor = -1;  // carried * factor, to which they are added: shares are multiplied by it, too
  std::int64_t tiles = 1;       // tiles that are added up at a time
};
using DeferredSums = std::vector<std::optional<DeferredSum>>;  // of a loop's carried values

/// A change of a tile's layout: element e in `to` is element e in `from`. The tile has 2^bits elements in `from`.
struct LayoutChange {
  simt::Linear from, to;
  int bits = 0;
};

struct Decisions {
  /// The elements that each thread holds. Read by everything. Measured on an H200 (layout.cpp gives the figures).
  ThreadGrid grid;
  /// Rows in shared memory instead of registers. Read by lower/staged.cpp, sharing.cpp. Measured on an H200 (layout.cpp: worth_staging).
  StagedRows staging;
  /// Digits that words must have, by word. Read by lower/words.cpp. No measurement: stored values have no more digits.
  std::vector<Digits> digits;
  /// Blocks that go over all instances in turn, for sums in a fixed order; 0: one block for each instance. Read by the printer, lower/memory.cpp.
  int walkers = 0;
  /// True if an instance can tell in which order another one does things: it reads what others write, or takes old values of atomic words. Read by
  /// lower/memory.cpp. No measurement.
  bool order_is_seen = false;
  /// True if threads that read the same scalar may get different values: it is written meanwhile. Read by lower/control.cpp. No measurement.
  bool threads_may_differ = false;
  /// Hints of what is only read and only written, by parameter. Read by the printer. H200: weights stay in the L2 beside streams.
  std::vector<simt::KernelParameter::Hint> hints;
  /// Rings by loop. Read by lower/control.cpp, for passes/fetch_ahead. Bytes on their way: measured on an H200 (decide/rings.cpp).
  std::map<tile::Id, RingPlan> rings;
  /// Deferred sums by loop. Read by lower/deferred.cpp. Sixteen numbers to a conversion: conversions cost as much as many additions.
  std::map<tile::Id, DeferredSums> deferred;
  /// Values that lie in registers in another type than they are computed in: loads whose halves stay packed until they are used. Read by
  /// lower/memory.cpp, values.cpp. Half the registers of what is kept behind a reduction.
  std::map<tile::Id, simt::Type> held_as;
  /// Tiles that other threads hold under their new shape, where both layouts are linear. Read by lower/shared.cpp. No measurement: fewer barriers.
  std::map<tile::Id, LayoutChange> changes;

  /// Products that tensor cores do, and where their operands lie. Read by lower/products.cpp, control.cpp. No measurement so far (products.cpp says which
  /// numbers wait for one).
  TensorProducts products;

  /// Words that share a loop, words that are computed again where they are needed, and splits of sums. Read by lower/control.cpp, sharing.cpp,
  /// across.cpp. Splits of sums: measured on an H200.
  Schedule schedule;

  std::size_t ring_bytes() const;
  /// Returns true if the value is taken, vector by vector, from where it lies as it is stored: packed, in shared memory, or in memory itself.
  bool lies_as_stored(tile::Id id) const { return held_as.contains(id) || staging.staged.contains(id) || staging.direct.contains(id); }
};

/// Throws Error when the program uses what cannot be done on the architecture.
Decisions decide(const Analysis& analysis, int architecture);
/// Bytes of shared memory that a block may have.
std::size_t shared_limit(int architecture);

/// Lines "name value unit", for people.
std::string to_string(const Decisions& decisions, const Analysis& analysis);

}  // namespace tegula::gpu
