#include "tegula/simt/decide/staged_rows.h"

#include "tegula/tile/access_hints.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Word;

namespace {

constexpr std::int64_t kMostStagedRows = 4;

class Finder {
 public:
  Finder(const Analysis& analysis, int vector) : a_(analysis), vector_(vector) { slices_.rows = a_.rows(), slices_.columns = a_.columns(); }

  StagedRows find() {
    StagedRows result;
    if (a_.rows() > kMostStagedRows || vector_ < 2 || a_.columns() % vector_ != 0) return result;
    int stores = 0;
    for (const Id id : a_.program().body.body) {
      if (!fits(id)) return result;
      stores += a_[id].word == Word::Store && along(a_[id].operands[0]);
    }
    for (const Id id : a_.program().body.body) {
      if (a_[id].word != Word::Load || !along(id)) continue;
      // Behind a store the memory may be another's; where there is one store, no pass comes after it.
      const std::set<Id> passes = passes_of(id);
      if (passes.empty()) continue;
      const int bytes = static_cast<int>(size_of(a_.type(a_[id].operands[0]).dtype));
      if (passes.size() == 1 && stores <= 1) {
        result.direct.insert(id);
        result.direct_bytes += bytes;
      } else {
        if (bytes * vector_ % 16 != 0 || a_.contiguous(a_[id].operands[0]) * bytes < 16) return result;
        result.staged.insert(id);
        result.bytes += bytes * static_cast<int>(slices_.spread_of(a_.type(id).shape) == Spread::Full ? a_.rows() : 1);
      }
    }
    result.possible = !result.staged.empty();
    return result;
  }

 private:
  bool along(Id id) const {
    const Spread own = slices_.spread_of(a_.type(id).shape);
    return own == Spread::Column || own == Spread::Full;
  }
  bool flat(Id id) const { return slices_.spread_of(a_.type(id).shape) == Spread::Flat; }

  /// Returns true if the writer can do without registers for the instruction.
  bool fits(Id id) const {
    const Instruction& self = a_[id];
    switch (self.word) {
      case Word::For:
      case Word::While:
      case Word::If:
      case Word::Atomic:
      case Word::ArgReduce:
      case Word::Scan:
      case Word::Sort:
      case Word::ArgSort:
      case Word::Dot:
      case Word::Gather:
      case Word::Histogram:
      case Word::Print:
      case Word::RandomBits:
      case Word::Transpose: return false;
      case Word::Load:
      case Word::Store: {
        const Id pointer = self.operands[0];
        if (flat(pointer) || a_.counts_by_hint(pointer) || tile::AccessHints::of(self).is_volatile) return false;
        if (!along(pointer)) return true;
        const bool masked = self.operands.size() > (self.word == Word::Load ? 1u : 2u);
        return !masked && a_.contiguous(pointer) > 0;
      }
      case Word::Reduce: return a_.rows() == 1 || (a_.type(self.operands[0]).shape.rank() == 2 && self.attribute == 1);
      case Word::Assert: return !along(self.operands[0]) && !along(self.operands[1]);
      default: return !tile::has_result(self.word) || !flat(id) || a_.form(id).kind != Form::Kind::None;
    }
  }

  /// The reductions and stores that take the value, or what is computed from it.
  std::set<Id> passes_of(Id id) const {
    std::set<Id> passes, seen;
    const auto follow = [&](auto&& self, Id from) -> void {
      if (!seen.insert(from).second) return;
      for (const Id user : a_.users(from)) {
        if (user < 0) continue;
        if (a_[user].word == Word::Reduce || a_[user].word == Word::Store) passes.insert(user);
        else self(self, user);
      }
    };
    follow(follow, id);
    return passes;
  }

  const Analysis& a_;
  int vector_;
  ThreadGrid slices_;
};

}  // namespace

StagedRows find_staged_rows(const Analysis& analysis, int vector) { return Finder(analysis, vector).find(); }

}  // namespace tegula::gpu
