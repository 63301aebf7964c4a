// How exact words have to be.

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

/// Whether a word that has a brief form is looked at by one that compares.
bool compares_brief(const tile::Program& program) {
  std::vector<bool> brief(program.instructions.size(), false);
  const auto is_brief = [&](Id id) { return brief[static_cast<std::size_t>(id)]; };
  for (bool changed = true; changed;) {
    changed = false;
    const auto mark = [&](Id id) {
      if (is_brief(id)) return;
      brief[static_cast<std::size_t>(id)] = changed = true;
    };
    for (Id id = 0; id < static_cast<Id>(program.instructions.size()); ++id) {
      const tile::Instruction& self = program[id];
      for (const tile::Region& region : self.regions) {
        if (std::ranges::any_of(region.results, is_brief)) mark(id);
        if (is_brief(id)) std::ranges::for_each(region.parameters, mark);
      }
      const bool has_form = self.word == Word::Exp || self.word == Word::Sigmoid || self.word == Word::Tanh || self.word == Word::Erf ||
                            self.word == Word::Div;
      const bool of_brief = std::ranges::any_of(self.operands, is_brief);
      if (of_brief && compares(self)) return true;
      if (self.type.dtype == DType::f32 && (has_form || of_brief)) mark(id);
      if ((self.word == Word::For || self.word == Word::If) && of_brief) mark(id);
    }
  }
  return false;
}

}  // namespace

/// A value that is compared has all its digits: it must equal what another kernel makes of the same operands.
Digits stored_digits(const Values& values) {
  const Analysis& a = values.analysis();
  if (compares_brief(a.program())) return Digits::All;
  Digits digits = Digits::Brief;
  bool any = false;
  for (const tile::Instruction& self : a.program().instructions) {
    if (self.word == Word::AtomicAdd) return Digits::All;
    if (self.word != Word::Store) continue;
    const tile::Type& type = a.type(self.operands[0]);
    const Spread spread = values.grid().spread_of(type.shape);
    if (spread == Spread::Uniform || spread == Spread::Row || !is_float(type.dtype)) continue;  // one for a row
    any = true;
    digits = std::max(digits, type.dtype == DType::bf16 ? Digits::Brief : type.dtype == DType::f16 ? Digits::Half : Digits::All);
  }
  return any ? digits : Digits::All;
}

}  // namespace tegula::gpu
