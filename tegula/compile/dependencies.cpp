// Which steps must wait for which, by the memory they touch.

#include <algorithm>

#include "tegula/compile/plan.h"

namespace tegula::compile {
namespace {

/// A stretch of memory in one of several address spaces: the arena, leaves, results.
struct Range {
  Storage::Kind space;
  int index;
  std::size_t begin, end;
  bool meets(const Range& other) const { return space == other.space && index == other.index && begin < other.end && other.begin < end; }
};

struct Touched {
  std::vector<Range> reads, writes;
};

class Ranges {
 public:
  explicit Ranges(const Plan& plan) : plan_(plan) {}

  Touched of(const Step& step) const {
    Touched out;
    for (int item : step.reads) add(item, out.reads);
    for (int item : step.writes) add(item, out.writes);
    for (int scratch : step.scratch) {
      const auto s = static_cast<std::size_t>(scratch);
      out.writes.push_back(
          {Storage::Kind::Arena, 0, plan_.scratch_offsets[s], plan_.scratch_offsets[s] + std::max<std::size_t>(plan_.scratch_bytes[s], 1)});
    }
    return out;
  }

 private:
  void add(int item, std::vector<Range>& to) const {
    Storage storage = plan_.storage[static_cast<std::size_t>(item)];
    if (storage.kind == Storage::Kind::None) return;
    // A Variable's new value lies where the old one does.
    if (storage.kind == Storage::Kind::Update)
      storage = {Storage::Kind::Leaf, plan_.graph.updates[static_cast<std::size_t>(storage.index)].leaf, 0};
    const std::size_t bytes = storage.kind == Storage::Kind::Leaf ? 1 : std::max<std::size_t>(bytes_of(plan_.graph[item]), 1);
    to.push_back({storage.kind, storage.index, storage.offset, storage.offset + bytes});
  }

  const Plan& plan_;
};

bool meet(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const Range& x) { return std::any_of(b.begin(), b.end(), [&](const Range& y) { return x.meets(y); }); });
}

}  // namespace

std::vector<std::vector<int>> dependencies(const Plan& plan) {
  const Ranges ranges(plan);
  std::vector<Touched> touched;
  std::vector<std::vector<bool>> waits;  // all steps that come before, directly or not
  std::vector<std::vector<int>> out;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    touched.push_back(ranges.of(plan.steps[s]));
    std::vector<bool> before(s);
    std::vector<int> direct;
    for (std::size_t e = s; e-- > 0;) {
      const Touched &mine = touched[s], &its = touched[e];
      const bool must = plan.steps[s].waits_for_all || (plan.steps[s].guarded && plan.steps[e].checks);
      if (before[e] || !(must || meet(its.writes, mine.reads) || meet(its.writes, mine.writes) || meet(its.reads, mine.writes))) continue;
      direct.push_back(static_cast<int>(e));
      before[e] = true;
      for (std::size_t i = 0; i < e; ++i) {
        if (waits[e][i]) before[i] = true;
      }
    }
    std::reverse(direct.begin(), direct.end());
    waits.push_back(std::move(before));
    out.push_back(std::move(direct));
  }
  return out;
}

}  // namespace tegula::compile
