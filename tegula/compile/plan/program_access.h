#pragma once
// The memory accesses of a tile program: its loads, stores and atomic additions in order, with keys that compare their places.

#include <algorithm>
#include <vector>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// A load, store or atomic word. Two of them are at the same element of every instance, every turn of a loop and every lane when `place`
/// and `mask` agree: those are numbers of the expressions, in which integers that the launch passes stand as their values.
struct ProgramAccess {
  tile::Word word = tile::Word::Load;
  int parameter = -1;  // whose pointer; -1: that of one of several …
  std::uint64_t place = 0, mask = 0;
  std::uint64_t varies = 0;  // a bit for each axis of the grid (the lowest three) and each loop on which the place depends
  std::uint64_t inside = 0;  // a bit for each loop that it is in
  std::vector<int> among = {};  // … of these
  bool may_be(int other) const { return parameter == other || std::ranges::find(among, other) != among.end(); }
};

/// All accesses in program order; a loop's body is listed once.
std::vector<ProgramAccess> accesses(const tile::Program& program, const std::vector<Reference>& arguments);

/// True if parameter `written` may share memory with parameter `read` in one launch over `grid`: each element is loaded before it is
/// stored, by the same instance in the same turn.
bool reads_before_it_writes(const std::vector<ProgramAccess>& all, int written, int read, const std::array<std::int64_t, 3>& grid);

/// True if the program needs the old contents of a parameter's memory: its first access there is no store.
bool needs_contents(const std::vector<ProgramAccess>& all, int parameter);

}  // namespace tegula::compile
