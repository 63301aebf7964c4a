#include "tegula/tile/passes/mask_where_needed.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tegula::tile {

namespace {

constexpr std::int64_t kLargeTile = 1024;  // elements: from here on a branch costs less than the mask

class Masker {
 public:
  explicit Masker(Program& program) : p_(program) {}

  void visit(Region& region, bool in_loop) {
    for (const Id id : std::vector<Id>(region.body)) {
      const bool loop = is_loop(p_[id].word);
      std::vector<Region> regions = std::move(at(id).regions);  // instructions may move when others come
      for (Region& inner : regions) visit(inner, loop);
      at(id).regions = std::move(regions);
    }
    const bool multiplies = std::ranges::any_of(region.body, [&](Id id) { return p_[id].word == Word::Dot; });
    if (!in_loop || !multiplies) return;
    find_users();
    for (const Id id : std::vector<Id>(region.body)) {
      const Instruction& self = p_[id];
      const bool large = self.word == Word::Select && self.type.shape.rank() == 2 && numel(self.type.shape) >= kLargeTile;
      if (large && is_of_product(self.operands[1])) mask(region, id);
    }
  }

 private:
  Instruction& at(Id id) { return p_.instructions[static_cast<std::size_t>(id)]; }
  Id add(Instruction instruction) {
    p_.instructions.push_back(std::move(instruction));
    return static_cast<Id>(p_.instructions.size()) - 1;
  }
  void find_users() {
    users_.assign(p_.instructions.size(), {});
    const auto take = [&](Id id, Id user) { users_[static_cast<std::size_t>(id)].push_back(user); };
    for (Id id = 0; id < static_cast<Id>(p_.instructions.size()); ++id) {
      for (const Id operand : p_[id].operands) take(operand, id);
      for (const Region& inner : p_[id].regions)
        for (const Id result : inner.results) take(result, -1);
    }
  }

  /// Sums of a product, or what is computed of them element by element: no operand that a product knows as it lies in memory.
  bool is_of_product(Id id) const {
    const Instruction& self = p_[id];
    if (self.word == Word::Dot) return true;
    if (!is_elementwise(self.word) || self.word == Word::Narrow || self.word == Word::Select) return false;
    return std::ranges::any_of(self.operands, [&](Id operand) { return is_of_product(operand); });
  }

  // ---- Scalars that are computed ahead of the mask.
  Id scalar(Word word, DType dtype, std::vector<Id> operands, std::int64_t number = 0) {
    const Id id =
        add({.word = word, .type = {.dtype = dtype, .shape = {}}, .operands = std::move(operands), .integer = number, .regions = {}});
    ahead_.push_back(id);
    return id;
  }
  Id number(std::int64_t value) { return scalar(Word::Constant, DType::i64, {}, value); }
  /// The largest or the smallest of the positions of a tile.
  std::optional<Id> end_of(Id id, bool largest) {
    const Instruction self = p_[id];
    if (self.type.pointer || self.type.dtype != DType::i64) return {};
    if (self.type.shape.empty()) return id;
    switch (self.word) {
      case Word::Constant: return number(self.integer);
      case Word::Arange: return number(self.attribute + (largest ? self.type.shape[0] - 1 : 0));
      case Word::Hint:
      case Word::Broadcast:
      case Word::ExpandDims: return end_of(self.operands[0], largest);
      case Word::Add:
      case Word::Sub: {
        const bool add = self.word == Word::Add;
        const auto a = end_of(self.operands[0], largest), b = a ? end_of(self.operands[1], add ? largest : !largest) : std::nullopt;
        return b ? std::optional(scalar(self.word, DType::i64, {*a, *b})) : std::nullopt;
      }
      default: return {};
    }
  }
  /// Whether all elements of the mask hold.
  std::optional<Id> all_of(Id id) {
    const Instruction self = p_[id];
    if (self.type.dtype != DType::boolean) return {};
    if (self.type.shape.empty()) return id;
    switch (self.word) {
      case Word::Broadcast:
      case Word::ExpandDims: return all_of(self.operands[0]);
      case Word::And: {
        const auto a = all_of(self.operands[0]), b = a ? all_of(self.operands[1]) : std::nullopt;
        return b ? std::optional(scalar(Word::And, DType::boolean, {*a, *b})) : std::nullopt;
      }
      case Word::Lt:
      case Word::Le:
      case Word::Gt:
      case Word::Ge: {
        const bool below = self.word == Word::Lt || self.word == Word::Le;
        const auto a = end_of(self.operands[0], below), b = a ? end_of(self.operands[1], !below) : std::nullopt;
        return b ? std::optional(scalar(self.word, DType::boolean, {*a, *b})) : std::nullopt;
      }
      default: return {};
    }
  }

  /// What of the region only this mask is made of, in order.
  std::vector<Id> made_of(const Region& region, Id select) const {
    std::set<Id> moved{select};
    std::vector<Id> in_order;
    for (auto id = region.body.rbegin(); id != region.body.rend(); ++id) {
      const Instruction& self = p_[*id];
      if (self.type.shape.empty() || !(is_elementwise(self.word) || self.word == Word::Broadcast || self.word == Word::ExpandDims))
        continue;
      if (self.type.dtype != DType::boolean) continue;
      const auto& users = users_[static_cast<std::size_t>(*id)];
      if (std::ranges::find(region.results, *id) != region.results.end()) continue;
      if (users.empty() || !std::ranges::all_of(users, [&](Id user) { return user >= 0 && moved.contains(user); })) continue;
      moved.insert(*id), in_order.push_back(*id);
    }
    std::ranges::reverse(in_order);
    return in_order;
  }

  void mask(Region& region, Id id) {
    const Instruction self = p_[id];
    ahead_.clear();
    const auto whole = all_of(self.operands[0]);
    if (!whole || p_[self.operands[1]].type.shape != self.type.shape) return;
    std::vector<Id> moved = made_of(region, id);
    const Id masked = add(self);
    moved.push_back(masked);
    Instruction branch{.word = Word::If, .type = {}, .operands = {*whole}, .regions = {}, .where = self.where};
    branch.regions.push_back({.parameters = {}, .body = {}, .results = {self.operands[1]}});
    branch.regions.push_back({.parameters = {}, .body = moved, .results = {masked}});
    const Id chosen = add(std::move(branch));
    at(id) = {.word = Word::Result, .type = self.type, .operands = {chosen}, .attribute = 0, .regions = {}, .where = self.where};
    std::erase_if(region.body, [&](Id one) { return std::ranges::find(moved, one) != moved.end(); });
    ahead_.push_back(chosen);
    region.body.insert(std::ranges::find(region.body, id), ahead_.begin(), ahead_.end());
    users_.resize(p_.instructions.size());
  }

  Program& p_;
  std::vector<std::vector<Id>> users_;
  std::vector<Id> ahead_;
};

}  // namespace

Program mask_where_needed(Program program) {
  Masker masker(program);
  Region body = std::move(program.body);
  masker.visit(body, false);
  program.body = std::move(body);
  return program;
}

}  // namespace tegula::tile
