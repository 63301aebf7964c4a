#include "tegula/compile/plan/program_access.h"

#include <algorithm>
#include <bit>

#include "tegula/tile/pointer_origins.h"

namespace tegula::compile {
namespace {

using tile::Id;
using tile::Instruction;
using tile::Region;
using tile::Word;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

class Reader {
 public:
  Reader(const tile::Program& program, const std::vector<Reference>& arguments)
      : program_(program),
        arguments_(arguments),
        facts_(program.instructions.size()) {}

  std::vector<ProgramAccess> run() {
    walk(program_.body, 0);
    return std::move(out_);
  }

 private:
  struct Fact {
    std::uint64_t number = 0;  // of the expression; of a pointer: of the offset
    std::uint64_t varies = 0;
    int parameter = -1;        // of a pointer
  };

  Fact& fact(Id id) { return facts_[static_cast<std::size_t>(id)]; }

  void walk(const Region& region, std::uint64_t inside) {
    for (const Id id : region.body) visit(id, inside);
  }

  // Equal to nothing else.
  std::uint64_t own(Id id) { return mix(0x6f776e, static_cast<std::uint64_t>(id)); }

  void visit(Id id, std::uint64_t inside) {
    const Instruction& i = program_[id];
    Fact& made = fact(id);
    switch (i.word) {
      case Word::Parameter: return parameter(id);
      case Word::ProgramId:
        made = {mix(mix(1, static_cast<std::uint64_t>(i.word)), static_cast<std::uint64_t>(i.attribute)),
                std::uint64_t{1} << (i.attribute & 3), -1};
        return;
      case Word::Constant: made = {constant(i.type.dtype, i.integer, i.real), 0, -1}; return;
      case Word::Load:
      case Word::Store:
      case Word::AtomicAdd: access(i, inside); break;
      case Word::For: return loop(id, inside);
      case Word::If:
        for (const Region& region : i.regions) walk(region, inside);
        break;
      default: break;
    }
    for (const Id operand : i.operands) made.varies |= fact(operand).varies;
    if (i.word == Word::Load || i.word == Word::If || i.word == Word::Result) {
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
    } else if (arguments_[p].kind == Reference::Kind::Integer) {
      fact(id) = {constant(i.type.dtype, arguments_[p].integer, 0), 0, -1};
    } else {
      fact(id) = {mix(5, p), 0, -1};
    }
  }

  void access(const Instruction& i, std::uint64_t inside) {
    const Fact& pointer = fact(i.operands[0]);
    const std::size_t mask = i.word == Word::Load ? 1 : 2;
    ProgramAccess made{i.word, pointer.parameter, pointer.number, 0, pointer.varies, inside};
    if (made.parameter < 0) made.among = tile::PointerOrigins(program_)(i.operands[0]);
    if (i.operands.size() > mask) made.mask = fact(i.operands[mask]).number;
    out_.push_back(made);
  }

  void loop(Id id, std::uint64_t inside) {
    const Instruction& i = program_[id];
    const std::uint64_t bit = std::uint64_t{1} << std::min(3 + loops_++, 63);
    const Region& body = i.regions[0];
    Fact& turn = fact(body.parameters[0]);
    turn.number = 6;
    turn.varies = bit;
    for (std::size_t k = 0; k < 3; ++k) {
      turn.number = mix(turn.number, fact(i.operands[k]).number);
      turn.varies |= fact(i.operands[k]).varies;
    }
    for (std::size_t k = 1; k < body.parameters.size(); ++k) {
      const Fact& initial = fact(i.operands[k + 2]);
      fact(body.parameters[k]) = {own(body.parameters[k]), initial.varies | bit, initial.parameter};
    }
    walk(body, inside | bit);
    // Results take their pointers from the operands of the loop, which Result reaches through it.
    Fact& made = fact(id);
    made = {own(id), 0, -1};
    for (const Id operand : i.operands) made.varies |= fact(operand).varies;
    for (const Id result : body.results) made.varies |= fact(result).varies;
  }

  const tile::Program& program_;
  const std::vector<Reference>& arguments_;
  std::vector<Fact> facts_;
  std::vector<ProgramAccess> out_;
  int loops_ = 0;
};

}  // namespace

std::vector<ProgramAccess> accesses(const tile::Program& program, const std::vector<Reference>& arguments) {
  return Reader(program, arguments).run();
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
