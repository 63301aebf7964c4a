#include "tegula/tile/facts/facts.h"

#include <algorithm>
#include <bit>

namespace tegula::tile {

Facts::Facts(const Program& program, std::vector<ArgumentFact> arguments, std::function<bool(const Shape&)> apart, bool divides_counters)
    : program_(program),
      arguments_(std::move(arguments)),
      apart_(std::move(apart)),
      divides_counters_(divides_counters),
      forms_(program.instructions.size()),
      twos_(program.instructions.size(), 0),
      bits_(program.instructions.size(), kAnyBits),
      runs_(program.instructions.size(), 1),
      starts_(program.instructions.size(), 0),
      users_(program.instructions.size()) {
  for (const Id id : program.body.body)
    if (program[id].word == Word::Assume) assume(program[id].operands[0]);
  visit(program.body);
}

void Facts::visit(const Region& region) {
  for (const Id id : region.body) {
    const Instruction& self = program_[id];
    if (self.word != Word::Hint && self.word != Word::Assume)
      for (const Id operand : self.operands) users_[index(resolve(operand))].push_back(id);
    if (self.word == Word::Result && program_[self.operands[0]].word == Word::If)
      branch_result_.try_emplace({self.operands[0], self.attribute}, id);
    examine(id);
    if (self.word == Word::For && bits(self.operands[0]) < kAnyBits) {  // counts up from there
      const bool up = bits(self.operands[2]) < kAnyBits;
      bits_[index(self.regions[0].parameters[0])] = up ? std::min(bits(self.operands[1]), kAnyBits - 1) : bits(self.operands[1]);
    }
    if (self.word == Word::For && divides_counters_)
      twos_[index(self.regions[0].parameters[0])] = std::min(twos(self.operands[0]), twos(self.operands[2]));
    for (const Region& inner : self.regions) visit(inner);
  }
  for (const Id id : region.results) users_[index(resolve(id))].push_back(-1);
}

Id Facts::resolve(Id id) const {
  while (program_[id].word == Word::Hint) id = program_[id].operands[0];
  const Instruction& self = program_[id];
  if (self.word != Word::Result) return id;
  const Instruction& control = program_[self.operands[0]];
  if (is_loop(control.word)) return control.regions[0].parameters[static_cast<std::size_t>(self.attribute) + 1];
  const auto found = branch_result_.find({self.operands[0], self.attribute});
  return found == branch_result_.end() ? id : found->second;
}

Id Facts::root_of(Id pointer) const {
  for (;;) {
    pointer = resolve(pointer);
    const Instruction& self = program_[pointer];
    if (self.word == Word::Parameter) return static_cast<Id>(self.attribute);
    if (self.operands.empty() ||
        (self.word != Word::Add && self.word != Word::Sub && (self.word < Word::Broadcast || self.word > Word::Transpose)))
      return -1;
    pointer = type(self.operands[0]).pointer ? self.operands[0] : self.operands[1];
  }
}

void Facts::examine(Id id) {
  const Instruction& self = program_[id];
  if (self.type.shape.rank() > 0) forms_[index(id)] = derive(self);
  twos_[index(id)] = derive_twos(self);
  bits_[index(id)] = derive_bits(self);
  derive_runs(id);
  if (const auto known = assumed_twos_.find(id); known != assumed_twos_.end()) twos_[index(id)] = std::max(twos(id), known->second);
  if (const auto known = assumed_bits_.find(id); known != assumed_bits_.end()) bits_[index(id)] = std::min(bits(id), known->second);
}

/// x % n == 0, x >= 0, x > 0 and x < n beside it, and what holds with others.
void Facts::assume(Id condition) {
  const Instruction& self = program_[condition];
  if (self.word == Word::And) return assume(self.operands[0]), assume(self.operands[1]);
  if (self.operands.size() != 2) return;
  const Id a = self.operands[0];
  const Instruction& limit = program_[self.operands[1]];
  if (limit.word != Word::Constant || is_float(limit.type.dtype)) return;
  const Instruction& of = program_[a];
  if (self.word == Word::Eq && limit.integer == 0 && of.word == Word::Rem && program_[of.operands[1]].word == Word::Constant)
    assumed_twos_[of.operands[0]] = std::max(assumed_twos_[of.operands[0]], Term::number(program_[of.operands[1]].integer).twos);
  const bool at_least = (self.word == Word::Ge && limit.integer >= 0) || (self.word == Word::Gt && limit.integer >= -1);
  if (at_least) assumed_bits_.try_emplace(a, static_cast<int>(8 * size_of(of.type.dtype)) - 1);
}

void Facts::derive_runs(Id id) {
  const Instruction& self = program_[id];
  if (self.type.shape.empty() || self.operands.empty()) return;
  const Id from = self.operands[0];
  switch (self.word) {
    case Word::Hint:
      runs_[index(id)] = runs_[index(from)], starts_[index(id)] = starts_[index(from)];
      if (self.attribute == static_cast<std::int64_t>(HintKind::Contiguous)) runs_[index(id)] = std::max(runs_[index(id)], self.attribute2);
      if (self.attribute == static_cast<std::int64_t>(HintKind::MultipleOf))
        starts_[index(id)] = std::max(starts_[index(id)], Term::number(self.attribute2).twos);
      return;
    case Word::Cast:
      if (!is_integer(type(from).dtype) || size_of(type(from).dtype) > size_of(self.type.dtype)) return;
      break;
    case Word::ExpandDims:
      if (self.attribute == type(from).shape.rank()) return;
      break;
    case Word::Broadcast:
      if (type(from).shape.empty() || type(from).shape.back() != self.type.shape.back()) return;
      break;
    default: return;
  }
  runs_[index(id)] = runs_[index(from)], starts_[index(id)] = starts_[index(from)];
}

ArgumentFact Facts::fact_of(const Instruction& parameter) const {
  const auto i = static_cast<std::size_t>(parameter.attribute);
  return i < arguments_.size() ? arguments_[i] : ArgumentFact{};
}

int Facts::derive_bits(const Instruction& self) const {
  constexpr int kShortBits = 31;  // of an argument, and of what counts program instances
  if (self.type.pointer || !is_integer(self.type.dtype)) return self.type.dtype == DType::boolean ? 1 : kAnyBits;
  const auto operand = [&](std::size_t i) { return bits(self.operands[i]); };
  const auto of_number = [](std::int64_t value) {
    return value < 0 ? kAnyBits : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  };
  const auto both = [&](int value) { return std::max(operand(0), operand(1)) < kAnyBits ? value : kAnyBits; };
  const auto derive = [&] {
    switch (self.word) {
      case Word::Parameter: return fact_of(self).is_short ? kShortBits : kAnyBits;
      case Word::Constant: return of_number(self.integer);
      case Word::ProgramId:
      case Word::NumPrograms: return kShortBits;
      case Word::Arange: return self.attribute < 0 ? kAnyBits : of_number(self.attribute + numel(self.type.shape) - 1);
      case Word::Add: return both(std::max(operand(0), operand(1)) + 1);
      case Word::Mul: return both(operand(0) + operand(1));
      case Word::Min: return both(std::min(operand(0), operand(1)));
      case Word::Rem: return operand(0) < kAnyBits ? std::min(operand(0), operand(1)) : kAnyBits;  // it has the sign of the dividend
      case Word::Max: return both(std::max(operand(0), operand(1)));
      case Word::Div: return both(operand(0));
      case Word::Select: return std::max(operand(1), operand(2));
      case Word::Cast:
      case Word::Hint:
      case Word::Broadcast:
      case Word::ExpandDims:
      case Word::Reshape:
      case Word::Transpose: return operand(0);
      default: return kAnyBits;
    }
  };
  const int result = derive();
  return result < static_cast<int>(8 * size_of(self.type.dtype)) ? result : kAnyBits;
}

int Facts::derive_twos(const Instruction& self) const {
  const auto operand = [&](std::size_t i) { return twos(self.operands[i]); };
  if (!self.type.pointer && !is_integer(self.type.dtype)) return 0;
  switch (self.word) {
    case Word::Parameter:
      if (self.type.pointer) return std::max(0, fact_of(self).twos - std::countr_zero(size_of(self.type.dtype)));
      return fact_of(self).twos;
    case Word::Constant: return Term::number(self.integer).twos;
    case Word::Hint: {  // of tiles it is about the first of those that count up
      const bool of_all = self.type.shape.empty() && self.attribute == static_cast<std::int64_t>(HintKind::MultipleOf);
      const int unit = self.type.pointer ? std::countr_zero(size_of(self.type.dtype)) : 0;
      return of_all ? std::max(operand(0), Term::number(self.attribute2).twos - unit) : operand(0);
    }
    case Word::Add:
    case Word::Sub:
    case Word::Min:
    case Word::Max: return std::min(operand(0), operand(1));
    case Word::Mul: return std::min(kManyTwos, operand(0) + operand(1));
    case Word::Shl: {
      const Instruction& amount = program_[self.operands[1]];
      return amount.word == Word::Constant && amount.integer >= 0
                 ? std::min<int>(kManyTwos, operand(0) + static_cast<int>(std::min<std::int64_t>(amount.integer, kManyTwos)))
                 : operand(0);
    }
    case Word::Select: return std::min(operand(1), operand(2));
    case Word::Neg:
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose: return operand(0);
    case Word::Cast: return is_integer(type(self.operands[0]).dtype) ? operand(0) : 0;
    default: return 0;
  }
}

bool Facts::varies_along_last_axis(Id tile) const {
  const Shape& shape = type(tile).shape;
  return !shape.empty() && shape.back() != 1;
}

bool Facts::counts_by_hint(Id id) const {
  const Form form = affine(id);
  return form.rest >= 0 && varies_along_last_axis(form.rest) && runs_[index(form.rest)] > 1 && !form.stride.empty() &&
         form.stride.back().is(0);
}

int Facts::counts_up(Id id, bool base_counts) const {
  const Form form = affine(id);
  const Shape& shape = type(id).shape;
  const bool by_hint = counts_by_hint(id);
  if (shape.empty() || (!by_hint && !form.stride.back().is(1))) return 0;
  if (!by_hint && form.rest >= 0 && varies_along_last_axis(form.rest)) return 0;
  int known = base_counts ? form.base.twos : kManyTwos;
  if (form.root >= 0) known = std::min(known, twos(form.root));
  if (form.rest >= 0 && !by_hint) known = std::min(known, twos(form.rest));
  if (by_hint) {
    const std::int64_t run = runs_[index(form.rest)];
    known = std::min({known, starts_[index(form.rest)], static_cast<int>(std::countr_zero(static_cast<std::uint64_t>(run)))});
  }
  for (std::size_t i = 0; i + 1 < form.stride.size(); ++i) known = std::min(known, form.stride[i].twos);
  return 1 << std::min(known, 4);
}

int Facts::contiguous(Id pointer) const { return std::min(16 / static_cast<int>(size_of(type(pointer).dtype)), counts_up(pointer)); }

}  // namespace tegula::tile
