#include "tegula/tile/facts/numbers.h"

#include <algorithm>
#include <bit>

namespace tegula::tile {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

class Reader {
 public:
  Reader(const Program& program, const std::vector<std::optional<std::int64_t>>& arguments)
      : program_(program),
        arguments_(arguments),
        facts_(program.instructions.size()) {}

  std::vector<Numbered> run() {
    walk(program_.body, 0);
    return std::move(facts_);
  }

 private:
  Numbered& fact(Id id) { return facts_[static_cast<std::size_t>(id)]; }

  void walk(const Region& region, std::uint64_t inside) {
    for (const Id id : region.body) visit(id, inside);
  }

  // Equal to nothing else.
  std::uint64_t own(Id id) { return mix(0x6f776e, static_cast<std::uint64_t>(id)); }

  void visit(Id id, std::uint64_t inside) {
    const Instruction& i = program_[id];
    Numbered& made = fact(id);
    switch (i.word) {
      case Word::Parameter: return parameter(id);
      case Word::ProgramId:
        made = {mix(mix(1, static_cast<std::uint64_t>(i.word)), static_cast<std::uint64_t>(i.attribute)),
                std::uint64_t{1} << (i.attribute & 3), -1};
        return;
      case Word::Constant: made = {constant(i.type.dtype, i.integer, i.real), 0, -1}; return;
      case Word::Load:
      case Word::Store:
      case Word::Atomic: made.inside = inside; break;
      case Word::For:
      case Word::While: return loop(id, inside);
      case Word::If:
        for (const Region& region : i.regions) walk(region, inside);
        break;
      default: break;
    }
    for (const Id operand : i.operands) made.varies |= fact(operand).varies;
    if (i.word == Word::Load || i.word == Word::Atomic || i.word == Word::If || i.word == Word::Result) {
      made.number = own(id);
      made.varies |= inside;
      if (i.word == Word::Result && i.type.pointer) made.parameter = pointer_of(i);
      return;
    }
    std::uint64_t hash = mix(2, static_cast<std::uint64_t>(i.word));
    // Of a pointer, the offset counts: elements of one size may be a result's and an operand's of another dtype.
    const auto dtype = i.type.pointer ? std::int64_t{-1} : static_cast<std::int64_t>(i.type.dtype);
    for (const std::int64_t word : {dtype, i.attribute, i.attribute2, static_cast<std::int64_t>(i.kind)})
      hash = mix(hash, static_cast<std::uint64_t>(word));
    for (const std::int64_t size : i.type.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
    for (const Id operand : i.operands) hash = mix(hash, fact(operand).number);
    made.number = hash;
    if (i.type.pointer) made.parameter = pointer_of(i);
  }

  // The parameter that all pointers among the operands come from.
  int pointer_of(const Instruction& i) {
    int found = -2;
    for (const Id operand : i.operands) {
      if (!program_[operand].type.pointer) continue;
      found = found == -2 || found == fact(operand).parameter ? fact(operand).parameter : -1;
    }
    return std::max(found, -1);
  }

  static std::uint64_t constant(DType dtype, std::int64_t integer, double real) {
    const auto bits = is_float(dtype) ? std::bit_cast<std::uint64_t>(real) : static_cast<std::uint64_t>(integer);
    return mix(mix(3, static_cast<std::uint64_t>(dtype)), bits);
  }

  void parameter(Id id) {
    const Instruction& i = program_[id];
    const auto p = static_cast<std::size_t>(i.attribute);
    if (i.type.pointer) {
      fact(id) = {4, 0, static_cast<int>(p)};  // every pointer begins at its offset 0
    } else if (p < arguments_.size() && arguments_[p]) {
      fact(id) = {constant(i.type.dtype, *arguments_[p], 0), 0, -1};
    } else {
      fact(id) = {mix(5, p), 0, -1};
    }
  }

  void loop(Id id, std::uint64_t inside) {
    const Instruction& i = program_[id];
    const std::uint64_t bit = std::uint64_t{1} << std::min(3 + loops_++, 63);
    const Region& body = i.regions[0];
    Numbered& turn = fact(body.parameters[0]);
    turn.number = 6;
    turn.varies = bit;
    const std::size_t first = first_carried(i.word);
    if (i.word == Word::While) turn.number = own(id);
    for (std::size_t k = 0; k < first; ++k) {
      turn.number = mix(turn.number, fact(i.operands[k]).number);
      turn.varies |= fact(i.operands[k]).varies;
    }
    for (std::size_t k = 1; k < body.parameters.size(); ++k) {
      const Numbered initial = fact(i.operands[k + first - 1]);
      fact(body.parameters[k]) = {own(body.parameters[k]), initial.varies | bit, initial.parameter};
    }
    walk(body, inside | bit);
    // Results take their pointers from the operands of the loop, which Result reaches through it.
    Numbered& made = fact(id);
    made = {own(id), 0, -1};
    for (const Id operand : i.operands) made.varies |= fact(operand).varies;
    for (const Id result : body.results) made.varies |= fact(result).varies;
  }

  const Program& program_;
  const std::vector<std::optional<std::int64_t>>& arguments_;
  std::vector<Numbered> facts_;
  int loops_ = 0;
};

}  // namespace

std::vector<Numbered> number_values(const Program& program, const std::vector<std::optional<std::int64_t>>& arguments) {
  return Reader(program, arguments).run();
}

}  // namespace tegula::tile
