// Launches that begin while the one ahead of them in a recording runs (programmatic dependent launch).
//
// Every block first asks for what no launch of the plan writes, such as weights, then waits until the launch ahead is over, and only then
// touches anything else. Each waits, whatever it does: so the launches ahead of the one ahead are over, too, when that one is.

#include <algorithm>

#include "tegula/simt/decide/parts.h"

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

bool is_pure(Word word) {
  return tile::is_elementwise(word) || (word >= Word::Broadcast && word <= Word::Transpose) || word == Word::Arange ||
         word == Word::Constant || word == Word::Parameter || word == Word::ProgramId || word == Word::NumPrograms;
}

bool must_wait(const Values& v, Id id) {
  const tile::Instruction& self = v.at(id);
  if (self.word == Word::Load) return !v.reads_unwritten(self.operands[0]);
  if (tile::has_effect(self.word)) return true;
  for (const tile::Region& region : self.regions)
    for (const Id inner : region.body)
      if (must_wait(v, inner)) return true;
  return false;
}

/// What has to be written for a load that need not wait, of what is left; nothing where something of it must wait.
std::optional<std::set<Id>> missing_for(const Values& v, Id load, const std::set<Id>& left, const std::set<Id>& begun) {
  std::set<Id> missing;
  std::vector<Id> pending{load};
  while (!pending.empty()) {
    const Id id = pending.back();
    pending.pop_back();
    if (!left.contains(id) || begun.contains(id) || !missing.insert(id).second) continue;
    const tile::Instruction& self = v.at(id);
    if (self.word == Word::Load ? must_wait(v, id) : !is_pure(self.word)) return {};
    pending.insert(pending.end(), self.operands.begin(), self.operands.end());
  }
  return missing;
}

}  // namespace

/// Clusters leave together, and where blocks go over instances in turn some of them have nothing to do: those wait at once.
EarlyWait early_wait(const Values& v, bool in_turn) {
  const tile::Program& program = v.analysis().program();
  EarlyWait wait{.within = program.early && v.grid().cluster == 1 && !in_turn, .begun = {}};
  if (!wait.within) return wait;
  const std::vector<Id>& body = program.body.body;
  const auto first = std::ranges::find_if(body, [&](Id id) { return must_wait(v, id); });
  if (first == body.end()) return wait;
  wait.before = *first;
  const std::set<Id> left(first, body.end());  // ids count up in the order of the words
  std::set<Id> begun;
  for (const Id id : left) {
    if (v.at(id).word != Word::Load) continue;
    const auto missing = missing_for(v, id, left, begun);
    if (!missing) continue;
    begun.insert(missing->begin(), missing->end());
    wait.begun.insert(wait.begun.end(), missing->begin(), missing->end());
  }
  return wait;
}

}  // namespace tegula::gpu
