#include "tegula/compile/run/poison.h"

#include <algorithm>

#include "tegula/compile/show/memory_use.h"

namespace tegula::compile {

std::vector<std::vector<Stretch>> dead_after(const Plan& plan) {
  std::vector<std::vector<Stretch>> out(plan.steps.size());
  std::vector<Stay> all = stays_of(plan);
  std::ranges::sort(all, {}, [](const Stay& stay) { return Stretch(stay.offset, stay.end()); });
  for (const Stay& dying : all) {
    // Without what lies there and is needed later: a result that took its place.
    std::size_t at = dying.offset;
    for (const Stay& other : all) {
      if (other.first > dying.last || other.last <= dying.last || other.end() <= at || other.offset >= dying.end()) continue;
      if (other.offset > at) out[index(dying.last)].emplace_back(at, other.offset);
      at = std::max(at, other.end());
    }
    if (at < dying.end()) out[index(dying.last)].emplace_back(at, dying.end());
  }
  return out;
}

}  // namespace tegula::compile
