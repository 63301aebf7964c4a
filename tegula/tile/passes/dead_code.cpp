#include "tegula/tile/passes/dead_code.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tegula::tile {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Program program) : program_(std::move(program)), live_(program_.instructions.size(), false) {}

  Program run() {
    find_controls();
    mark_effects(program_.body);
    for (const Id id : program_.body.results) mark(id);
    drop_results();
    Program out{std::move(program_.name), std::move(program_.parameters), {}, {}, program_.many_sizes,
                program_.early,           std::move(program_.texts)};
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

  /// What a loop carries or an If gives: which of it somebody needs.
  struct Control {
    Id id;
    std::vector<bool> needed;
  };

  void find_controls() {
    for (Id id = 0; id < static_cast<Id>(program_.instructions.size()); ++id) {
      const Instruction& self = at(id);
      if (self.regions.empty()) continue;
      controls_.emplace(id, Control{id, std::vector<bool>(result_count(self), false)});
      for (const Region& region : self.regions)
        for (std::size_t k = 1; k < region.parameters.size(); ++k) carried_[region.parameters[k]] = {id, k - 1};
    }
  }

  void mark(Id first) {
    pending_.push_back(first);
    while (!pending_.empty()) {
      const Id id = pending_.back();
      pending_.pop_back();
      if (live_[static_cast<std::size_t>(id)]) continue;
      live_[static_cast<std::size_t>(id)] = true;
      const Instruction& self = at(id);
      // Of a For its bounds, of a While and an If the condition: what they give is marked one by one.
      const std::size_t fixed = is_loop(self.word) ? first_carried(self.word) : self.operands.size();
      if (self.word == Word::While && !self.regions.empty() && !self.regions[0].results.empty())
        pending_.push_back(self.regions[0].results.back());
      pending_.insert(pending_.end(), self.operands.begin(),
                      self.operands.begin() + static_cast<std::ptrdiff_t>(std::min(fixed, self.operands.size())));
      if (self.word == Word::Result) need(self.operands[0], static_cast<std::size_t>(self.attribute));
      else if (const auto of = carried_.find(id); of != carried_.end()) need(of->second.first, of->second.second);
    }
  }

  void need(Id control, std::size_t k) {
    std::vector<bool>& needed = controls_.at(control).needed;
    if (k >= needed.size() || needed[k]) return;  // the verifier speaks of a result that there is not
    needed[k] = true;
    const Instruction& self = at(control);
    for (const Region& region : self.regions)
      if (k < region.results.size()) pending_.push_back(region.results[k]);
    const std::size_t first = first_carried(self.word);
    if (is_loop(self.word) && k + first < self.operands.size()) pending_.push_back(self.operands[k + first]);
    for (const Region& region : self.regions)
      if (k + 1 < region.parameters.size()) pending_.push_back(region.parameters[k + 1]);
    pending_.push_back(control);
  }

  /// Takes off loops and branches what nobody needs.
  void drop_results() {
    for (auto& [id, control] : controls_) {
      const std::vector<bool>& needed = control.needed;
      if (!live_[static_cast<std::size_t>(id)] || std::ranges::all_of(needed, std::identity())) continue;
      std::vector<std::int64_t> places(needed.size(), -1);
      for (std::size_t k = 0, place = 0; k < needed.size(); ++k)
        if (needed[k]) places[k] = static_cast<std::int64_t>(place++);
      const auto keep = [&](std::vector<Id>& ids, std::size_t first) {
        std::vector<Id> kept;
        for (std::size_t i = 0; i < ids.size(); ++i)
          if (i < first || i - first >= needed.size() || needed[i - first]) kept.push_back(ids[i]);
        ids = std::move(kept);
      };
      Instruction& self = at(id);
      if (is_loop(self.word)) keep(self.operands, first_carried(self.word));
      for (Region& region : self.regions) {
        keep(region.results, 0);
        if (!is_loop(self.word)) continue;
        keep(region.parameters, 1);
        for (std::size_t i = 0; i < region.parameters.size(); ++i) at(region.parameters[i]).attribute = static_cast<std::int64_t>(i);
      }
      for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
        Instruction& result = program_.instructions[i];
        if (live_[i] && result.word == Word::Result && result.operands[0] == id)
          result.attribute = places[static_cast<std::size_t>(result.attribute)];
      }
    }
  }

  /// Marks stores, atomic words, assertions and the loops and branches around them; says whether there were any.
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
  std::map<Id, Control> controls_;
  std::map<Id, std::pair<Id, std::size_t>> carried_;  // by the region's parameter: the loop, and which one of what it carries
  std::vector<Id> pending_;
  std::vector<Id> new_ids_;
};

}  // namespace

Program remove_dead_code(Program program) { return DeadCode(std::move(program)).run(); }

}  // namespace tegula::tile
