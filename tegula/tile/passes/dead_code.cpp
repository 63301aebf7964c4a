#include "tegula/tile/passes/dead_code.h"

#include <utility>

namespace tegula::tile {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Program program) : program_(std::move(program)), live_(program_.instructions.size(), false) {}

  Program run() {
    mark_effects(program_.body);
    for (const Id id : program_.body.results) mark(id);
    Program out{std::move(program_.name), std::move(program_.parameters), {}, {}, program_.many_sizes, program_.early};
    new_ids_.assign(program_.instructions.size(), -1);
    out.body = move_live(std::move(program_.body), out.instructions);
    for (Instruction& instruction : out.instructions) {
      rename(instruction.operands);
      for (Region& region : instruction.regions) rename(region.results);
    }
    rename(out.body.results);
    return out;
  }

 private:
  Instruction& at(Id id) { return program_.instructions[static_cast<std::size_t>(id)]; }

  /// Marks the instruction and all it needs. For and If need what their regions yield.
  void mark(Id first) {
    std::vector<Id> pending{first};
    while (!pending.empty()) {
      const Id id = pending.back();
      pending.pop_back();
      if (live_[static_cast<std::size_t>(id)]) continue;
      live_[static_cast<std::size_t>(id)] = true;
      const Instruction& instruction = at(id);
      pending.insert(pending.end(), instruction.operands.begin(), instruction.operands.end());
      for (const Region& region : instruction.regions) pending.insert(pending.end(), region.results.begin(), region.results.end());
    }
  }

  /// Marks stores, atomic additions, assertions and the For and If around them; says whether there were any.
  bool mark_effects(const Region& region) {
    bool any = false;
    for (const Id id : region.body) {
      bool effect = has_effect(at(id).word);
      for (const Region& inner : at(id).regions) effect = mark_effects(inner) || effect;
      if (effect) mark(id);
      any = any || effect;
    }
    return any;
  }

  Region move_live(Region region, std::vector<Instruction>& out) {
    Region kept{{}, {}, std::move(region.results)};
    for (const Id id : region.parameters) kept.parameters.push_back(move_one(id, out));
    for (const Id id : region.body) {
      if (live_[static_cast<std::size_t>(id)]) kept.body.push_back(move_one(id, out));
    }
    return kept;
  }

  Id move_one(Id id, std::vector<Instruction>& out) {
    const auto place = out.size();
    new_ids_[static_cast<std::size_t>(id)] = static_cast<Id>(place);
    out.push_back(std::move(at(id)));
    std::vector<Region> regions = std::move(out[place].regions);
    for (Region& region : regions) region = move_live(std::move(region), out);
    out[place].regions = std::move(regions);
    return static_cast<Id>(place);
  }

  void rename(std::vector<Id>& ids) const {
    for (Id& id : ids) id = new_ids_[static_cast<std::size_t>(id)];  // -1, for the verifier, when it is defined nowhere
  }

  Program program_;
  std::vector<bool> live_;
  std::vector<Id> new_ids_;
};

}  // namespace

Program remove_dead_code(Program program) { return DeadCode(std::move(program)).run(); }

}  // namespace tegula::tile
