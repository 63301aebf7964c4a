// Words that work element by element wait until something else needs one of them, and share a loop then.

#include <algorithm>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using tile::Word;

void Lowering::need(Id id) {
  if (reductions_.empty() && shared_loops_.empty()) return;
  for_each_source(id, [&](Id source) {
    if (std::find(reductions_.begin(), reductions_.end(), source) != reductions_.end()) flush_reductions();
    for (const SharedLoop& loop : shared_loops_) {
      if (std::find(loop.ids.begin(), loop.ids.end(), source) == loop.ids.end()) continue;
      flush(loop.spread, loop.count);
      break;
    }
  });
}

/// Adds a word to those of its loop. What it takes from other loops is written first.
void Lowering::share_loop(Id id) {
  const Spread own = spread(id);
  const std::int64_t count = own == Spread::Flat ? numel(a_.type(id).shape) : 0;
  if (own == Spread::Uniform) {
    for (const Id operand : at(id).operands) need(operand);
    origin(id);
    return let(simt::type_of(a_.type(id)), variable(id), word(id, own));
  }
  // Operands of the same loop may stay where they are.
  for (const Id operand : at(id).operands) {
    for_each_source(operand, [&](Id source) {
      const bool here = std::any_of(shared_loops_.begin(), shared_loops_.end(), [&](const SharedLoop& loop) {
        return loop.spread == own && loop.count == count && std::find(loop.ids.begin(), loop.ids.end(), source) != loop.ids.end();
      });
      if (!here) need(source);
    });
  }
  for (SharedLoop& loop : shared_loops_) {
    if (loop.spread == own && loop.count == count) {
      loop.ids.push_back(id);
      return;
    }
  }
  shared_loops_.push_back({own, count, {id}});
}

/// Whether one store is all that takes the value: then it is written once wherever it is written.
bool Lowering::only_stored(Id id) const {
  const auto& users = a_.users(id);
  if (users.size() != 1 || users[0] < 0) return false;
  return at(users[0]).word == Word::Store || (tile::has_result(at(users[0]).word) && renames(users[0]) && only_stored(users[0]));
}

/// Whether the value is a product of floats that one sum over rows takes as soon as it is there, which then rounds once (sum_of_products).
bool Lowering::only_summed(Id id) const {
  const auto& users = a_.users(id);
  if (grid_.reduces || repeats_ > 0 || at(id).word != Word::Mul || !is_float(a_.type(id).dtype) || users.size() != 1 || users[0] < 0)
    return false;
  return at(users[0]).word == Word::Reduce && at(users[0]).kind == tile::Reduction::Sum && spread(at(users[0]).operands[0]) == Spread::Full;
}

/// Arithmetic that costs less than the registers that keep its result until a later loop.
std::optional<Lowering::Recipe> Lowering::recipe_for(Id id, Spread own, const std::set<Id>& members, const std::set<Id>& kept) const {
  constexpr int kMostWords = 4;
  const bool summed = only_summed(id);
  if ((!grid_.reduces && !summed) || (own != Spread::Full && own != Spread::Column)) return {};
  const bool always = grid_.staged || summed;  // there are no registers for it, or it needs none
  if (!always) switch (at(id).word) {
      case Word::Neg:
      case Word::Abs:
      case Word::Not:
      case Word::Add:
      case Word::Sub:
      case Word::Mul:
      case Word::Min:
      case Word::Max:
      case Word::And:
      case Word::Or:
      case Word::Eq:
      case Word::Ne:
      case Word::Lt:
      case Word::Le:
      case Word::Gt:
      case Word::Ge:
      case Word::Select:
      case Word::Fma: break;
      default: return {};
    }
  Recipe recipe{1, {}};
  for (const Id operand : at(id).operands) {
    for (const Id source : sources_of(operand)) {
      if (spread(source) != own && spread(source) != Spread::Column) continue;  // one for a row
      if (const auto known = recipes_.find(source); known != recipes_.end()) {
        recipe.words += known->second.words;
        recipe.held.insert(known->second.held.begin(), known->second.held.end());
      } else if (!members.contains(source) || kept.contains(source)) {
        recipe.held.insert(source);
      } else {
        return {};
      }
    }
  }
  std::size_t bytes = 0;
  for (const Id held : recipe.held)
    bytes += packed_.contains(held) ? packed_.at(held) : size_of(a_.type(at_hand(held) ? at(held).operands[0] : held).dtype);
  if (always || only_stored(id)) return recipe;
  const bool less = recipe.held.size() <= 1 || bytes <= std::max<std::size_t>(4, size_of(a_.type(id).dtype));
  return less && recipe.words <= kMostWords ? std::optional(recipe) : std::nullopt;
}

/// Whether anything that is still to be written takes the value.
bool Lowering::needed_after(Id id, Id now) const {
  const auto waits = [&](Id user) {
    return std::any_of(shared_loops_.begin(), shared_loops_.end(),
                       [&](const SharedLoop& loop) { return std::find(loop.ids.begin(), loop.ids.end(), user) != loop.ids.end(); });
  };
  for (const Id user : a_.users(id)) {
    if (user < 0 || user > now || waits(user)) return true;
    if (tile::has_result(at(user).word) && (is_inline(user) || recipes_.contains(user)) && needed_after(user, now)) return true;
  }
  return false;
}

void Lowering::flush() {
  flush_reductions();
  while (!shared_loops_.empty()) flush(shared_loops_.front().spread, shared_loops_.front().count);
}

void Lowering::flush(Spread own, std::int64_t count) {
  const auto found =
      std::find_if(shared_loops_.begin(), shared_loops_.end(), [&](const SharedLoop& loop) { return loop.spread == own && loop.count == count; });
  const SharedLoop loop = std::move(*found);
  shared_loops_.erase(found);
  const std::set<Id> members(loop.ids.begin(), loop.ids.end());
  // Values that nothing outside this loop needs live in it.
  const auto stays = [&](auto&& self, Id id) -> bool {
    for (const Id user : a_.users(id)) {
      if (user < 0) return false;
      if (members.contains(user)) continue;
      if (!tile::has_result(at(user).word) || !is_inline(user) || !self(self, user)) return false;
    }
    return true;
  };
  std::set<Id> kept;
  for (const Id id : loop.ids) {
    std::optional<Recipe> recipe = recipe_for(id, own, members, kept);
    if (recipe) recipes_[id] = std::move(*recipe);
    else if (!stays(stays, id)) kept.insert(id), declare(id);
  }
  // What the kept ones are made of lives in the loop; the rest is written where it is needed.
  std::set<Id> inner;
  const auto take = [&](auto&& self, Id id) -> void {
    for (const Id operand : at(id).operands) {
      for_each_source(operand, [&](Id source) {
        if (members.contains(source) && !kept.contains(source) && inner.insert(source).second) self(self, source);
      });
    }
  };
  for (const Id id : kept) take(take, id);
  if (kept.empty()) return;
  const Shape& shape = a_.type(loop.ids.front()).shape;
  std::vector<Id> taken;
  for (const Id id : loop.ids) {
    if (inner.contains(id) || kept.contains(id)) taken.insert(taken.end(), at(id).operands.begin(), at(id).operands.end());
  }
  loops(own, shape, Step::Elements, taken, [&] {
    for (const Id id : loop.ids) {
      const bool local = inner.contains(id);
      if (!local && !kept.contains(id)) continue;
      origin(id);
      if (!local) {
        assign(held(id, own), word(id, own));
        continue;
      }
      let(simt::type_of(a_.type(id)), variable(id), word(id, own));
      local_.insert(id);
    }
  });
  for (const Id id : inner) local_.erase(id);
}

}  // namespace tegula::gpu
