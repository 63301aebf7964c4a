#include "tegula/cpu/executor/executor_compile.h"

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {

Compiler::Compiler(const tile::Program& program, const CompileOptions& options) : program_(program), options_(options) {
  const std::size_t count = program.instructions.size();
  state_.forms.resize(count);
  state_.dense.resize(count);
  users_.resize(count);
  home_.resize(count, nullptr);
  fused_.resize(count, -1);
  code_.parameters.assign(program.parameters.size(), -1);
}

Code Compiler::run() {
  analyse(program_.body);
  for (const Instruction& self : program_.instructions)
    code_.in_order = code_.in_order || self.word == Word::Atomic || self.word == Word::Print;
  open_region();  // 0: the argument set
  open_region();  // 1: the instance
  compile(program_.body);
  if (options_.in_place) limit_rows();
  Level instance = close_region(), prologue = close_region();
  const auto join = [](Level& level) {
    level.header.insert(level.header.end(), std::make_move_iterator(level.body.begin()), std::make_move_iterator(level.body.end()));
    Item end;
    end.bytes.resize(sizeof(Step));
    end.as<Step>().run = finish;
    level.header.push_back(std::move(end));
    return std::move(level.header);
  };
  code_.slots = std::move(state_.slots);
  code_.labels = state_.labels;
  for (const auto& [slot, holder] : state_.addresses) code_.own_addresses.push_back({holder, slot});
  lay_out(code_, state_.tiles, join(prologue), join(instance), options_);
  return std::move(code_);
}

void Compiler::analyse(const tile::Region& region) {
  for (const Id id : region.body) {
    home_[static_cast<std::size_t>(id)] = &region;
    const Instruction& self = program_[id];
    for (const Id operand : self.operands) users_[static_cast<std::size_t>(operand)].push_back(id);
    for (const tile::Region& inner : self.regions) analyse(inner);
  }
  for (const Id id : region.results) users_[static_cast<std::size_t>(id)].push_back(-1);
  for (const Id id : region.body) plan_fusion(id);
}

/// a * b + c in one step, and a choice by a comparison without the booleans in between. The inner word must have no other use. The product is
/// rounded before the sum all the same: only where a program says Fma is it not, so that a value is one in every program that computes it.
void Compiler::plan_fusion(Id id) {
  const Instruction& self = program_[id];
  if (!is_float(self.type.dtype) || self.type.pointer) return;
  const auto only_here = [&](Id operand) {
    return users_[static_cast<std::size_t>(operand)].size() == 1 &&
           home_[static_cast<std::size_t>(operand)] == home_[static_cast<std::size_t>(id)];
  };
  if (self.word == Word::Add || self.word == Word::Sub) {
    for (const std::size_t i : {1, 0}) {
      if (program_[self.operands[i]].word == Word::Mul && only_here(self.operands[i])) {
        fused_[static_cast<std::size_t>(id)] = self.operands[i];
        return;
      }
    }
  }
  if (self.word == Word::Select) {
    const Id condition = self.operands[0];
    const Instruction& compare = program_[condition];
    if (compare.word < Word::Eq || compare.word > Word::Ge || !only_here(condition)) return;
    if (type(compare.operands[0]).dtype == self.type.dtype) fused_[static_cast<std::size_t>(id)] = condition;
  }
}

void Compiler::compile(const tile::Region& region) {
  for (const Id id : region.body) compile(id);
}

void Compiler::compile(Id id) {
  const Instruction& self = program_[id];
  Form& result = state_.forms[static_cast<std::size_t>(id)];
  if (tile::is_loop(self.word)) return compile_loop(id);
  if (self.word == Word::If) return compile_if(id);
  if (self.word == Word::Result) {
    result = state_.results.at(self.operands[0])[static_cast<std::size_t>(self.attribute)];
    return;
  }
  Form made;
  if (self.word <= Word::Arange) return compile_source(id);
  if (self.word <= Word::Transpose) made = reshaped(self);
  else if (self.word == Word::Hint) made = form(self.operands[0]);
  else if (tile::is_elementwise(self.word)) made = elementwise(id);
  else if (self.word == Word::Load) made = load(self);
  else if (self.word == Word::Atomic) made = change(id);
  else if (self.word == Word::Store) return store(self);
  else if (self.word <= Word::ArgSort) made = across(self);
  else if (self.word == Word::Dot) made = dot(self);
  else if (self.word == Word::RandomBits) made = random(self);
  else if (self.word == Word::Gather) made = gather_along(self);
  else if (self.word == Word::Histogram) made = histogram(self);
  else if (self.word == Word::InlineAsm) made = inline_asm(self);
  else if (self.word == Word::Assert) return check(self);
  else if (self.word == Word::Print) return print(self);
  else if (self.word == Word::Assume || self.word == Word::Barrier) return;
  else refuse(self);
  state_.forms[static_cast<std::size_t>(id)] = made;
}

void Compiler::compile_source(Id id) {
  const Instruction& self = program_[id];
  Form& result = state_.forms[static_cast<std::size_t>(id)];
  const auto axis = static_cast<std::size_t>(self.attribute);
  const auto once = [&](int& slot, int level) {
    if (slot < 0) slot = new_slot();
    return uniform({false, 0, slot, level});
  };
  switch (self.word) {
    case Word::Parameter:
      result = once(code_.parameters[axis], 0);
      if (self.type.pointer) result.root = static_cast<int>(axis);
      return;
    case Word::NumPrograms: result = once(code_.num_programs[axis], 0); return;
    case Word::ProgramId: result = once(code_.program_id[axis], 2); return;
    case Word::Constant:
      if (!is_float(self.type.dtype)) {
        result = uniform(known(self.integer));
      } else {
        const auto bits = self.type.dtype == DType::f64 ? std::bit_cast<std::uint64_t>(self.real)
                                                        : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(self.real))};
        result = uniform({false, 0, constant_slot(bits), 0});
      }
      return;
    default:
      result.kind = Kind::Affine;
      result.base = known(self.attribute);
      result.stride[0] = known(1);
      result = normalised(result);
  }
}

void Compiler::refuse(const Instruction& self) const {
  throw Error({.op = "cpu.compile",
               .got = std::string(tile::name(self.word)) + " in tile program " + program_.name,
               .expected = "a word that the CPU has for this dtype and shape",
               .where = self.where});
}

Code compile_code(const tile::Program& program, const CompileOptions& options) { return Compiler(program, options).run(); }

}  // namespace tegula::host
