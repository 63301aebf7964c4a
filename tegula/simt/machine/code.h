#pragma once
// The machine's code: a kernel's statements as instructions for a warp, one after another.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tegula/simt/machine/lanes.h"
#include "tegula/simt/machine/memory.h"

namespace tegula::simt {

/// The place of lanes among a warp's registers, in granules: the base of a register array, and for each loop over registers the distance of one turn.
struct Slot {
  struct Step {
    std::uint16_t counter = 0;
    std::int32_t by = 0;
  };
  std::int64_t base = 0;
  int count = 0;
  Step steps[4] = {};
};

inline Slot operator+(Slot a, const Slot& b) {
  a.base += b.base;
  for (int i = 0; i < b.count; ++i) {
    auto* const end = a.steps + a.count;
    auto* const same = std::find_if(a.steps, end, [&](const Slot::Step& step) { return step.counter == b.steps[i].counter; });
    if (same != end) same->by += b.steps[i].by;
    else a.steps[a.count++] = b.steps[i];
  }
  return a;
}
inline Slot operator*(Slot a, std::int64_t by) {
  a.base *= by;
  for (int i = 0; i < a.count; ++i) a.steps[i].by *= static_cast<std::int32_t>(by);
  return a;
}
inline Slot operator+(Slot a, std::int64_t by) { return a.base += by, a; }

/// The threads of a warp.
struct Warp {
  enum class Wait : std::uint8_t { Nothing, Block, Team, Cluster, ClusterPhase, Counter, Bytes, Number, Products };
  struct Copy {
    std::uint64_t to = 0, from = 0;
    std::size_t there = 0, bytes = 0;
    int lane = 0, group = 0;
  };

  int block = 0, first_thread = 0;
  std::uint32_t alive = 0, mask = 0;  // lanes
  std::size_t next = 0;  // instruction
  Wait wait = Wait::Nothing;
  int counter = 0;  // of the exchange it waits for
  std::uint64_t awaited = 0;  // the counter of bytes that it waits for, and the phase
  bool parity = false;
  int number = 0;  // of the block's barrier that it waits at
  const std::string* said = nullptr;
  bool arrived = false;  // at the cluster's barrier
  std::int64_t instance = 0, set = 0;  // of a walk over all
  std::vector<std::uint32_t> masks;  // that were put aside
  std::vector<std::int64_t> counters;
  std::vector<Copy> copies;
  /// The warp's part of a product of four warps.
  struct Product {
    std::function<bool()> multiply;  // says whether its operands were there
    std::function<void(bool)> end;  // the warp may take its sums
    std::optional<bool> defined = {};  // what `multiply` has said
  };
  std::deque<std::vector<Product>> products{1};  // that are on their way, in groups; the last one is open
  int closed = 0, until = 0;  // groups of products; it waits for those before this one
  std::vector<std::uint32_t> read_times;  // by group whose operands have been read: when that was over
  std::map<std::size_t, int> multiplied;  // granules of sums that they will write -> how many
  int groups[kLanes] = {};  // closed groups of copies
  std::unique_ptr<std::byte[]> registers;
  std::vector<std::uint32_t> defined;  // by granule: lanes

  std::size_t at(const Slot& place) const {
    std::int64_t granule = place.base;
    for (int i = 0; i < place.count; ++i) granule += counters[place.steps[i].counter] * place.steps[i].by;
    return static_cast<std::size_t>(granule);
  }
  std::byte* lanes(std::size_t granule) const { return registers.get() + granule * kGranule; }
  template <class T>
  T* lanes(const Slot& place) const {
    return reinterpret_cast<T*>(lanes(at(place)));
  }
};

class Cluster;
using Native = std::function<void(Cluster&, Warp&)>;

struct Instruction {
  enum class What : std::uint8_t {
    Compute,  // run(out, in…): of the active lanes if `masked`
    Native,  // code[number]
    Undefine,  // `number` granules from out on
    Save,  // mask -> masks[number]
    Restore,  // and back, of who is alive
    Narrow,  // to lanes in which in[0] is true; to the others if `masked`
    JumpIfNone,  // to `target`, where no lane is active
    Jump,
    Count,  // counter[number] = 0
    CountOn,  // ++counter[number]; to `target` where it is below `limit`
    Remainder,  // counter[number] = (out as a number) % limit
    Leave,  // the active lanes
    Meet,  // all threads of the block
    MeetTeam,  // all but the warps that copy for the others
    // The rest is the same of clusters.
    MeetCluster,
    Arrive,
    AwaitArrived,
    End,
  };
  What what = What::Compute;
  bool masked = false;
  std::uint8_t inputs = 0, width = 1;  // granules of the result
  Slot out, in[3];
  LaneFunction run = nullptr;
  std::int64_t number = 0, limit = 0;
  std::size_t target = 0;
};

/// The first registers are for constants.
constexpr std::uint32_t kConstantGranules = 1024;
struct Constant {
  std::uint32_t granule = 0;
  Number number{};
  std::uint64_t bits = 0;
};
/// Registers that have a value before the first instruction.
struct Given {
  std::uint32_t tr = 0, tc = 0, thread = 0, rank = 0, id[3] = {}, grid[3] = {}, owner = 0, owners = 0, shared = 0;
  std::vector<std::uint32_t> parameters;
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Native> natives;
  std::deque<std::string> sentences;
  std::vector<Constant> constants;
  Given given;
  std::size_t body = 0, end = 0;  // the begin of an instance; of what stands behind the last one
  std::size_t granules = 0, counters = 0, masks = 0;
  std::vector<std::size_t> exchanges;  // offsets of their counters; numbered from 1
};

/// A kernel's statements as instructions. Throws Error where there is something that the machine does not know.
Code translated(const Kernel& kernel);

}  // namespace tegula::simt
