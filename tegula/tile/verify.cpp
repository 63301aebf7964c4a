// The executable specification of a well-formed program. Typing rules are in rules.h; here is what needs the program around an
// instruction: dominance, regions, control flow, and that nothing is written through a read-only parameter.

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/tile/ir.h"
#include "tegula/tile/pointer_origins.h"
#include "tegula/tile/rules.h"

namespace tegula::tile {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program),
        visible_(program.instructions.size(), false),
        defined_(visible_),
        owners_(program.instructions.size(), -1) {}

  void run() {
    for (const Parameter& parameter : program_.parameters) {
      if (!parameter.pointer && !is_compute_type(parameter.dtype)) {
        fail_program("scalar parameter " + parameter.name + " of " + std::string(name(parameter.dtype)), kComputeTypes);
      }
      if (!parameter.pointer && parameter.writable) fail_program("writable scalar parameter " + parameter.name, "a pointer");
    }
    if (!program_.body.parameters.empty() || !program_.body.results.empty()) {
      fail_program("a body with parameters or results", "results to be stored through pointers");
    }
    region(program_.body, -1);
    const PointerOrigins origins(program_);
    for (const Id id : stores_) check_writable(origins, id);
  }

 private:
  [[noreturn]] void fail_program(std::string got, std::string expected) const {
    throw Error({.op = "tile.verify", .got = std::move(got) + " in program " + program_.name, .expected = std::move(expected)});
  }
  [[noreturn]] void fail(Id id, std::string expected) const {
    throw Error({.op = "tile.verify",
                 .got = "\"" + to_string(program_, id) + "\" in program " + program_.name,
                 .expected = std::move(expected),
                 .where = program_[id].where});
  }

  void define(Id id, Id owner) {
    if (id < 0 || id >= static_cast<Id>(program_.instructions.size())) {
      if (owner >= 0) fail(owner, "instructions of this program in its regions, not %" + std::to_string(id));
      fail_program("%" + std::to_string(id) + " in the body", "an instruction of this program");
    }
    if (defined_[static_cast<std::size_t>(id)]) fail(id, "to be listed once");
    defined_[static_cast<std::size_t>(id)] = visible_[static_cast<std::size_t>(id)] = true;
    owners_[static_cast<std::size_t>(id)] = owner;
  }

  void check_visible(Id user, const std::vector<Id>& ids) const {
    for (const Id id : ids) {
      if (id < 0 || id >= static_cast<Id>(program_.instructions.size()) || !visible_[static_cast<std::size_t>(id)]) {
        fail(user, "%" + std::to_string(id) + " to be computed before, in this region or one around it");
      }
    }
  }

  /// What a region yields has to be a value of the type at the same place.
  void check_yields(Id id, const Region& region, std::size_t first, const std::vector<Id>& like) const {
    if (region.results.size() + first != like.size()) fail(id, "regions that yield " + std::to_string(like.size() - first) + " values");
    for (std::size_t i = 0; i < region.results.size(); ++i) {
      const Instruction& result = program_[region.results[i]];
      const Type& type = program_[like[first + i]].type;
      if (!has_result(result.word) || result.type != type)
        fail(id, "%" + std::to_string(region.results[i]) + " to be yielded as " + to_string(type));
    }
  }

  void region(const Region& region, Id owner) {
    for (const Id id : region.parameters) {
      define(id, owner);
      if (program_[id].word != Word::RegionParameter) fail(id, "a region_parameter");
    }
    for (const Id id : region.body) {
      if (id >= 0 && id < static_cast<Id>(program_.instructions.size())) check_visible(id, program_[id].operands);
      define(id, owner);
      instruction(id);
    }
    if (owner >= 0) check_visible(owner, region.results);
    for (const auto* ids : {&region.parameters, &region.body}) {
      for (const Id id : *ids) visible_[static_cast<std::size_t>(id)] = false;
    }
  }

  void instruction(Id id) {
    const Instruction& self = program_[id];
    switch (self.word) {
      case Word::For: return check_for(id);
      case Word::While: return check_while(id);
      case Word::If: return check_if(id);
      case Word::Result: return check_result(id);
      case Word::RegionParameter: fail(id, "region parameters to be listed as such, not in a body");
      case Word::Store:
      case Word::Atomic: stores_.push_back(id); break;
      default: break;
    }
    if (std::string expected = complaint(program_, self); !expected.empty()) fail(id, std::move(expected) + operand_types(self));
  }

  std::string operand_types(const Instruction& self) const {
    std::string text;
    for (const Id id : self.operands) text += (text.empty() ? " (operands: " : ", ") + to_string(program_[id].type);
    return text.empty() ? text : text + ")";
  }

  void check_for(Id id) {
    const Instruction& self = program_[id];
    if (self.operands.size() < 3) fail(id, "begin, end, step and the initial values as operands");
    for (std::size_t i = 0; i < self.operands.size(); ++i) {
      const Instruction& operand = program_[self.operands[i]];
      if (!has_result(operand.word)) fail(id, "operands that are values");
      if (i < 3 && operand.type != Type{i64, false, {}}) fail(id, "i64 scalars as begin, end and step");
    }
    const Instruction& step = program_[self.operands[2]];
    if (step.word == Word::Constant && step.integer <= 0) fail(id, "a step of at least 1, not " + std::to_string(step.integer));
    check_body(id);
    check_yields(id, self.regions[0], 3, self.operands);
  }

  void check_while(Id id) {
    const Instruction& self = program_[id];
    if (self.operands.empty()) fail(id, "a condition and the initial values as operands");
    for (const Id operand : self.operands)
      if (!has_result(program_[operand].word)) fail(id, "operands that are values");
    if (program_[self.operands[0]].type != Type{boolean, false, {}}) fail(id, "a bool scalar as condition");
    check_body(id);
    std::vector<Id> like(self.operands.begin() + 1, self.operands.end());
    like.push_back(self.operands[0]);
    check_yields(id, self.regions[0], 0, like);
  }

  /// The one region of a loop: a counter, then what is carried.
  void check_body(Id id) {
    const Instruction& self = program_[id];
    const std::size_t first = first_carried(self.word);
    if (self.regions.size() != 1) fail(id, "one region");
    const Region& body = self.regions[0];
    if (body.parameters.size() + first != self.operands.size() + 1)
      fail(id, "the induction variable and one region parameter for each carried value");
    region(body, id);
    if (program_[body.parameters[0]].type != Type{i64, false, {}}) fail(id, "an i64 induction variable");
    for (std::size_t i = 1; i < body.parameters.size(); ++i) {
      const Type &parameter = program_[body.parameters[i]].type, &initial = program_[self.operands[i + first - 1]].type;
      if (parameter != initial) fail(id, "region parameter %" + std::to_string(body.parameters[i]) + " of type " + to_string(initial));
    }
  }

  void check_if(Id id) {
    const Instruction& self = program_[id];
    if (self.operands.size() != 1 || !has_result(program_[self.operands[0]].word) ||
        program_[self.operands[0]].type != Type{boolean, false, {}}) {
      fail(id, "a bool scalar as condition");
    }
    if (self.regions.size() != 2) fail(id, "two regions");
    for (const Region& branch : self.regions) {
      if (!branch.parameters.empty()) fail(id, "regions without parameters");
      region(branch, id);
    }
    for (const Id result : self.regions[0].results) {
      if (!has_result(program_[result].word)) fail(id, "values to be yielded");
    }
    check_yields(id, self.regions[1], 0, self.regions[0].results);
  }

  void check_result(Id id) const {
    const Instruction& self = program_[id];
    if (self.operands.size() != 1 || !self.regions.empty()) fail(id, "one operand");
    const Instruction& control = program_[self.operands[0]];
    if (!is_loop(control.word) && control.word != Word::If) fail(id, "a for, a while or an if as operand");
    const std::vector<Id>& yielded = control.regions[0].results;
    if (self.attribute < 0 || self.attribute >= static_cast<std::int64_t>(result_count(control)))
      fail(id, "one of " + std::to_string(result_count(control)) + " results");
    const Type& type = program_[yielded[static_cast<std::size_t>(self.attribute)]].type;
    if (self.type != type) fail(id, "the type " + to_string(type));
  }

  void check_writable(const PointerOrigins& origins, Id store) const {
    for (const int from : origins(program_[store].operands[0])) {
      const Parameter& parameter = program_.parameters[static_cast<std::size_t>(from)];
      if (!parameter.writable) fail(store, "a pointer that may be written; parameter " + parameter.name + " is read-only");
    }
  }

  const Program& program_;
  std::vector<bool> visible_;   // by the instruction being checked
  std::vector<bool> defined_;
  std::vector<Id> owners_;      // the For or If whose region defines the value, or -1
  std::vector<Id> stores_;
};

}  // namespace

void verify(const Program& program) { Verifier(program).run(); }

}  // namespace tegula::tile
