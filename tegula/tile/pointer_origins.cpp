#include "tegula/tile/pointer_origins.h"

#include <algorithm>

namespace tegula::tile {

PointerOrigins::PointerOrigins(const Program& program) : program_(program) {
  for (Id id = 0; id < static_cast<Id>(program.instructions.size()); ++id) {
    if (!is_loop(program[id].word)) continue;
    const std::vector<Id>& parameters = program[id].regions[0].parameters;
    for (std::size_t k = 1; k < parameters.size(); ++k) carried_[parameters[k]] = {id, k - 1};
  }
}

std::vector<int> PointerOrigins::operator()(Id pointer) const {
  std::vector<Id> pending{pointer}, seen;
  std::vector<int> out;
  while (!pending.empty()) {
    const Id id = pending.back();
    pending.pop_back();
    if (std::ranges::find(seen, id) != seen.end()) continue;
    seen.push_back(id);
    const Instruction& self = program_[id];
    if (self.word == Word::Parameter) {
      out.push_back(static_cast<int>(self.attribute));
    } else if (self.word == Word::RegionParameter) {
      const auto& [loop, k] = carried_.at(id);
      pending.push_back(program_[loop].operands[k + first_carried(program_[loop].word)]);
      pending.push_back(program_[loop].regions[0].results[k]);
    } else if (self.word == Word::Result) {
      const Instruction& control = program_[self.operands[0]];
      const auto k = static_cast<std::size_t>(self.attribute);
      for (const Region& region : control.regions) pending.push_back(region.results[k]);
      if (is_loop(control.word)) pending.push_back(control.operands[k + first_carried(control.word)]);
    } else {
      pending.push_back(self.operands[0]);  // pointer arithmetic and shapes
    }
  }
  return out;
}

}  // namespace tegula::tile
