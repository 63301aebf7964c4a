#pragma once
// The order in which the words of a program become statements.
//
// Words that work element by element wait until something else needs one of them, and share a loop then. Some are not kept at all: they are computed
// again wherever they are needed. Reductions over one tile wait for each other, so that they share a loop and the way across the threads.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tegula/simt/decide/values.h"

namespace tegula::gpu {

struct Decisions;

/// Words that share a loop over what a thread holds.
struct SharedLoop {
  Spread spread{};
  std::int64_t count = 0;  // elements of the tile, of flat ones
  std::vector<tile::Id> ids;  // in order; what is computed again elsewhere is none of them
  std::set<tile::Id> kept;  // that have registers behind the loop; the others live in it
};

/// Reductions that go together.
struct SharedReductions {
  std::vector<tile::Id> ids;
  int parts = 1;  // sums beside each other in a thread
  bool by_rows = false;  // which of them follows the row, else the element
};

struct Step {
  enum class Kind : std::uint8_t {
    Word,  // `id` on its own; its regions have steps of their own
    Loop,  // loops[index]
    Reductions,  // reductions[index]
    Leave,  // a stopped thread leaves
  };
  Kind kind = Kind::Word;
  tile::Id id = -1;
  std::size_t index = 0;
};

struct Schedule {
  std::map<const tile::Region*, std::vector<Step>> steps;
  std::vector<SharedLoop> loops;
  std::vector<SharedReductions> reductions;
  /// Values that are computed again wherever they are needed: from which values that are held, in how many words.
  struct Recipe {
    int words = 0;
    std::set<tile::Id> held;
  };
  std::map<tile::Id, Recipe> recipes;
};

/// `decisions`: all others.
Schedule schedule_of(const Values& values, const Decisions& decisions);

/// True if the reduction compares halves that are still packed, in whole vectors.
bool compares_halves(const Values& values, const Decisions& decisions, tile::Id reduce);
/// True if four random words come from one counter (Philox) and are therefore made together.
bool counts_in_fours(const Values& values, tile::Id random_bits);

}  // namespace tegula::gpu
