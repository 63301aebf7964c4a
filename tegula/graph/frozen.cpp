#include "tegula/graph/frozen.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "tegula/graph/trace.h"

namespace tegula {
namespace {

/// Scatters a cell's number over 64 bits (splitmix64: Steele, Lea and Flood, 2014).
std::uint64_t scattered(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The frozen cells of the process, by their numbers, which are never reused. Every set of frozen cells that has existed has a number, so that
/// its trace is used again when the same cells are frozen again: in turns, as the networks of a GAN may be.
struct FrozenCells {
  std::mutex mutex;
  std::unordered_set<std::uint32_t> cells;
  std::unordered_map<std::uint32_t, std::uint32_t> wholes;  // number of a part -> number of its whole
  std::uint64_t hash = 0;  // of the current set
  std::unordered_map<std::uint64_t, int> numbers{{0, 0}};  // hash of a set -> its number
  std::shared_ptr<int> number = std::make_shared<int>(0);  // the number of the current set

  static FrozenCells& instance() {
    static FrozenCells* const cells = new FrozenCells;  // for threads that outlive main, too
    return *cells;
  }
  std::uint32_t number_of(const Cell& cell) const {
    const auto found = wholes.find(cell.number());
    return found == wholes.end() ? cell.number() : found->second;
  }
};

}  // namespace

bool is_frozen(const Cell& cell) {
  FrozenCells& all = FrozenCells::instance();
  if (Trace* const trace = Trace::current()) trace->depend_on(all.number);
  const std::scoped_lock lock(all.mutex);
  return !all.cells.empty() && all.cells.contains(all.number_of(cell));
}

void set_frozen(const Cell& cell, bool frozen) {
  FrozenCells& all = FrozenCells::instance();
  const std::scoped_lock lock(all.mutex);
  const std::uint32_t cell_number = all.number_of(cell);
  if (frozen ? !all.cells.insert(cell_number).second : all.cells.erase(cell_number) == 0) return;
  all.hash ^= scattered(cell_number);
  *all.number = all.numbers.try_emplace(all.hash, static_cast<int>(all.numbers.size())).first->second;
}

void freeze_with(const Cell& part, const Cell& whole) {
  FrozenCells& all = FrozenCells::instance();
  const std::scoped_lock lock(all.mutex);
  all.wholes[part.number()] = all.number_of(whole);
}

}  // namespace tegula
