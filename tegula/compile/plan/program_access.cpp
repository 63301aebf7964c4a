#include "tegula/compile/plan/program_access.h"

#include "tegula/tile/facts/numbers.h"
#include "tegula/tile/pointer_origins.h"

namespace tegula::compile {

using tile::Id;
using tile::Instruction;
using tile::Word;

std::vector<ProgramAccess> accesses(const tile::Program& program, const std::vector<Reference>& arguments) {
  std::vector<std::optional<std::int64_t>> known;
  for (const Reference& argument : arguments)
    known.push_back(argument.kind == Reference::Kind::Integer ? std::optional(argument.integer) : std::nullopt);
  const std::vector<tile::Numbered> values = tile::number_values(program, known);
  const auto of = [&](Id id) -> const tile::Numbered& { return values[index(id)]; };
  std::vector<ProgramAccess> out;
  const auto walk = [&](const auto& again, const tile::Region& region) -> void {
    for (const Id id : region.body) {
      const Instruction& self = program[id];
      for (const tile::Region& inner : self.regions) again(again, inner);
      if (self.word != Word::Load && self.word != Word::Store && self.word != Word::Atomic) continue;
      const Id pointer = self.operands[0];
      ProgramAccess made{self.word, of(pointer).parameter, of(pointer).number, 0, of(pointer).varies, of(id).inside};
      if (made.parameter < 0) made.among = tile::PointerOrigins(program)(pointer);
      const std::size_t mask = mask_place(self);
      if (self.operands.size() > mask) made.mask = of(self.operands[mask]).number;
      out.push_back(made);
    }
  };
  walk(walk, program.body);
  return out;
}

bool reads_before_it_writes(const std::vector<ProgramAccess>& all, int written, int read, const std::array<std::int64_t, 3>& grid) {
  std::uint64_t spread = 0;  // axes along which there are several instances
  for (std::size_t axis = 0; axis < grid.size(); ++axis) spread |= grid[axis] > 1 ? std::uint64_t{1} << axis : 0;
  bool stored = false;
  for (const ProgramAccess& store : all) {
    if (store.parameter == -1) return false;
    if (store.parameter != written) continue;
    if (store.word != Word::Store || (store.varies & spread) != spread) return false;
    stored = true;
    for (const ProgramAccess& load : all) {
      if (!load.may_be(read)) continue;
      if (load.parameter != read) return false;
      const bool before = &load < &store, same = load.place == store.place && load.mask == store.mask;
      const std::uint64_t both = load.inside & store.inside;
      if (load.word != Word::Load || !before || !same || (load.varies & both) != both) return false;
    }
  }
  return stored;
}

bool needs_contents(const std::vector<ProgramAccess>& all, int parameter) {
  for (const ProgramAccess& access : all) {
    if (access.parameter == parameter || (access.may_be(parameter) && access.word != Word::Store)) return access.word != Word::Store;
  }
  return false;
}

}  // namespace tegula::compile
