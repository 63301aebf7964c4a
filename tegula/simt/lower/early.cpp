// Launches that begin while the one ahead of them in a recording runs (programmatic dependent launch).
//
// Every block first asks for what no launch of the plan writes, such as weights, then waits until the launch ahead is over, and only then
// touches anything else. Each waits, whatever it does: so the launches ahead of the one ahead are over, too, when that one is.

#include <utility>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using tile::Word;

namespace {

bool is_pure(Word word) {
  return tile::is_elementwise(word) || (word >= Word::Broadcast && word <= Word::Transpose) || word == Word::Arange ||
         word == Word::Constant || word == Word::Parameter || word == Word::ProgramId || word == Word::NumPrograms;
}

}  // namespace

/// Clusters leave together, and where blocks go over instances in turn some of them have nothing to do: those wait at once.
bool Lowering::waits_late() const { return a_.program().early && grid_.cluster == 1 && !one_at_a_time_; }

void Lowering::entry() {
  if (waits_late()) return;
  if (a_.program().early) add(simt::AwaitLaunchAhead{});
  guard();
}

void Lowering::guard() {
  if (!a_.guarded()) return;
  let(simt::computed(DType::boolean), "stopped", simt::call("any_failed", "guards", "guard_count"));
  if (grid_.cluster > 1) add({simt::Leave{}, simt::Expression("stopped")});  // blocks that work together leave together
}

bool Lowering::reads_unwritten(Id pointer) const {
  const Id root = a_.root_of(pointer);
  return root >= 0 && a_.program().parameters[static_cast<std::size_t>(root)].unwritten;
}

bool Lowering::must_wait(Id id) const {
  const tile::Instruction& self = at(id);
  if (self.word == Word::Load) return !reads_unwritten(self.operands[0]);
  if (tile::has_effect(self.word)) return true;
  for (const tile::Region& region : self.regions)
    for (const Id inner : region.body)
      if (must_wait(inner)) return true;
  return false;
}

/// What has to be written for a load that need not wait, of what is left; nothing where something of it must wait.
std::optional<std::set<tile::Id>> Lowering::missing_for(Id load, const std::set<Id>& left) const {
  std::set<Id> missing;
  std::vector<Id> pending{load};
  while (!pending.empty()) {
    const Id id = pending.back();
    pending.pop_back();
    if (!left.contains(id) || begun_.contains(id) || !missing.insert(id).second) continue;
    const tile::Instruction& self = at(id);
    if (self.word == Word::Load ? must_wait(id) : !is_pure(self.word)) return {};
    pending.insert(pending.end(), self.operands.begin(), self.operands.end());
  }
  return missing;
}

/// `left`: of the program's body, what is not written yet. Ids count up in the order of the words.
void Lowering::wait_for_launch_ahead(const std::set<Id>& left) {
  waits_ = false;
  for (const Id id : left) {
    if (at(id).word != Word::Load) continue;
    const auto missing = missing_for(id, left);
    if (!missing) continue;
    for (const Id one : *missing) {
      begun_.insert(one);
      instruction(one);
    }
  }
  add(simt::AwaitLaunchAhead{});
  guard();
}

}  // namespace tegula::gpu
