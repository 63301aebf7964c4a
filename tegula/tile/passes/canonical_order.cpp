#include "tegula/tile/passes/canonical_order.h"

#include <algorithm>
#include <utility>

#include "tegula/tile/passes/dead_code.h"

namespace tegula::tile {
namespace {

class CanonicalOrder {
 public:
  explicit CanonicalOrder(Program program) : program_(std::move(program)), ranks_(program_.instructions.size(), kNone) {}

  Program run() {
    arrange(program_.body);
    return remove_dead_code(std::move(program_));  // which numbers words by their order
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Effects, loops, branches, and what these give.
  bool is_fixed(Id id) const {
    const Word word = program_[id].word;
    return has_effect(word) || is_loop(word) || word == Word::If || word == Word::Result;
  }

  void arrange(Region& region) {
    for (const Id id : region.body)
      for (Region& inner : program_.instructions[static_cast<std::size_t>(id)].regions) arrange(inner);
    for (const Id id : region.body)
      if (is_fixed(id)) need_all(id);
    for (const Id id : region.results) need(id);
    auto first = region.body.begin();
    const auto by_rank = [&](Id a, Id b) { return ranks_[static_cast<std::size_t>(a)] < ranks_[static_cast<std::size_t>(b)]; };
    while (first != region.body.end()) {
      const auto last = std::find_if(first, region.body.end(), [&](Id id) { return is_fixed(id); });
      std::stable_sort(first, last, by_rank);
      first = last == region.body.end() ? last : last + 1;
    }
  }

  /// Ranks what a fixed word and the words in its regions are computed from.
  void need_all(Id id) {
    const Instruction& self = program_[id];
    for (const Id operand : self.operands) need(operand);
    for (const Region& inner : self.regions) {
      for (const Id word : inner.body) need_all(word);
      for (const Id result : inner.results) need(result);
    }
  }

  /// Operands first. Words of regions within are ranked as well, which their own order does not ask for.
  void need(Id id) {
    std::size_t& rank = ranks_[static_cast<std::size_t>(id)];
    if (rank != kNone || is_fixed(id)) return;
    for (const Id operand : program_[id].operands) need(operand);
    rank = next_++;
  }

  Program program_;
  std::vector<std::size_t> ranks_;
  std::size_t next_ = 0;
};

}  // namespace

Program in_canonical_order(Program program) { return CanonicalOrder(std::move(program)).run(); }

}  // namespace tegula::tile
