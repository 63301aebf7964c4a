#include "tegula/tile/passes/add_into_products.h"

#include <algorithm>

namespace tegula::tile {

namespace {

class Adder {
 public:
  explicit Adder(Program& program) : p_(program), uses_(program.instructions.size()) {
    for (const Instruction& self : p_.instructions) {
      for (const Id operand : self.operands) ++uses_[static_cast<std::size_t>(operand)];
      for (const Region& inner : self.regions)
        for (const Id result : inner.results) ++uses_[static_cast<std::size_t>(result)];
    }
  }

  void visit(Region& region) {
    for (const Id id : region.body)
      for (Region& inner : at(id).regions) visit(inner);
    std::vector<Id> moved;
    for (const Id id : region.body) {
      Instruction& sum = at(id);
      if (sum.word != Word::Add || sum.type.dtype != DType::f32 || sum.type.pointer) continue;
      for (const std::size_t i : {1u, 0u}) {
        const Id product = sum.operands[i], other = sum.operands[1 - i];
        if (!is_plain(product, region) || p_[other].type.shape != sum.type.shape) continue;
        sum.word = Word::Dot;
        sum.operands = {p_[product].operands[0], p_[product].operands[1], other};
        moved.push_back(product);
        break;
      }
    }
    std::erase_if(region.body, [&](Id id) { return std::ranges::find(moved, id) != moved.end(); });
  }

 private:
  Instruction& at(Id id) { return p_.instructions[static_cast<std::size_t>(id)]; }
  /// A product of the region that one word takes, beginning with zeros.
  bool is_plain(Id id, const Region& region) const {
    return p_[id].word == Word::Dot && uses_[static_cast<std::size_t>(id)] == 1 && is_zero(p_, p_[id].operands[2]) &&
           std::ranges::find(region.body, id) != region.body.end();
  }

  Program& p_;
  std::vector<int> uses_;
};

}  // namespace

bool is_zero(const Program& program, Id id) {
  while (program[id].word == Word::Broadcast) id = program[id].operands[0];
  const Instruction& self = program[id];
  return self.word == Word::Constant && (is_float(self.type.dtype) ? self.real == 0 : self.integer == 0);
}

Program add_into_products(Program program) {
  Adder(program).visit(program.body);
  return program;
}

}  // namespace tegula::tile
