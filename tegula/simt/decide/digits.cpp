// Decides how exact words have to be: as exact as the values that are computed from them.

#include <algorithm>

#include "tegula/simt/decide/parts.h"

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

/// Words whose result may change altogether where an operand changes in its last digit.
bool compares(const tile::Instruction& self) {
  const bool extreme = self.kind == tile::Reduction::Min || self.kind == tile::Reduction::Max;
  switch (self.word) {
    case Word::Sign:
    case Word::Floor:
    case Word::Ceil:
    case Word::Round:
    case Word::Trunc:
    case Word::ArgReduce:
    case Word::Sort:
    case Word::ArgSort: return true;
    case Word::Reduce:
    case Word::Scan: return extreme;
    case Word::Cast: return !is_float(self.type.dtype);
    default: return self.word >= Word::Eq && self.word <= Word::Ge;
  }
}

Digits digits_of(DType stored) { return stored == DType::bf16 ? Digits::Brief : stored == DType::f16 ? Digits::Half : Digits::All; }

/// Returns the digits that a store keeps. One number for a row, beside whole tiles, is a statistic, as exact as its operands: it needs the fewest.
Digits digits_of(const Values& values, const tile::Instruction& store, bool tiles) {
  const tile::Type& type = values.analysis().type(store.operands[0]);
  if (is_half(type.dtype)) return digits_of(type.dtype);
  return values.is_of_row(type.shape) && tiles ? Digits::Brief : Digits::All;
}

}  // namespace

bool has_brief_form(const tile::Instruction& self) {
  switch (self.word) {
    case Word::Exp:
    case Word::Exp2:
    case Word::Sigmoid:
    case Word::Tanh:
    case Word::Erf:
    case Word::Div: return self.type.dtype == DType::f32;
    default: return false;
  }
}

std::vector<Digits> digits_of_words(const Values& values) {
  const tile::Program& program = values.analysis().program();
  const bool tiles = std::ranges::any_of(program.instructions, [&](const tile::Instruction& self) {
    return self.word == Word::Store && !values.is_of_row(values.analysis().type(self.operands[0]).shape) &&
           is_float(values.analysis().type(self.operands[0]).dtype);
  });
  std::vector<Digits> digits(program.instructions.size(), Digits::Brief);
  for (bool changed = true; changed;) {  // through what loops carry
    changed = false;
    const auto raise = [&](Id id, Digits least) {
      Digits& own = digits[static_cast<std::size_t>(id)];
      if (own >= least) return;
      own = least;
      changed = true;
    };
    for (Id id = static_cast<Id>(program.instructions.size()) - 1; id >= 0; --id) {
      const tile::Instruction& self = program[id];
      Digits least = digits[static_cast<std::size_t>(id)];
      if (compares(self) || self.word == Word::Atomic || self.word == Word::InlineAsm) least = Digits::All;
      if (self.word == Word::Store) least = digits_of(values, self, tiles);
      if (self.word == Word::Narrow) least = digits_of(static_cast<DType>(self.attribute));
      if (self.word == Word::Result && program[self.operands[0]].word != Word::While) {  // one value of a branch, or of what a loop carries
        for (const tile::Region& region : program[self.operands[0]].regions)
          raise(region.results[static_cast<std::size_t>(self.attribute)], least);
        continue;
      }
      for (const tile::Region& region : self.regions) {
        for (const Id parameter : region.parameters) least = std::max(least, digits[static_cast<std::size_t>(parameter)]);
      }
      for (const tile::Region& region : self.regions) {
        for (std::size_t i = 0; i < region.results.size(); ++i)
          raise(region.results[i], self.word == Word::For  ? digits[static_cast<std::size_t>(region.parameters[i + 1])]
                                   : self.word == Word::If ? Digits::Brief
                                                           : least);
      }
      for (const Id operand : self.operands) raise(operand, least);
    }
  }
  return digits;
}

}  // namespace tegula::gpu
