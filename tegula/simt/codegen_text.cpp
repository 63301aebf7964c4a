// Lines and loops. Words that work element by element wait until something else needs one of them, and share a loop then.

#include "tegula/simt/codegen_writer.h"

#include <algorithm>

namespace tegula::gpu {

using tile::Word;

void Writer::line(const std::string& text) { out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n"; }
void Writer::open(const std::string& text) {
  line(text + " {");
  ++depth_;
  limits_.emplace_back();
}
void Writer::close() {
  --depth_;
  limits_.pop_back();
  line("}");
}

/// The user's line, where it changes.
void Writer::comment_origin(Id id) {
  const Line& where = at(id).where;
  if (where.line() == 0) return;
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  const std::string origin = file + ":" + std::to_string(where.line());
  if (origin == origin_) return;
  origin_ = origin;
  line("// " + origin);
}

std::set<tile::Id> Writer::vectors_of(const std::vector<Id>& values) const {
  std::set<Id> loads;
  for (const Id value : values) {
    for (const Id source : sources_of(value)) {
      if (at_hand(source)) loads.insert(source);
      if (const auto known = recipes_.find(source); known != recipes_.end()) {
        for (const Id held : known->second.held)
          if (at_hand(held)) loads.insert(held);
      }
    }
  }
  return loads;
}

/// The first column of the vector that the loops are at.
std::string Writer::column_text() const {
  const std::string vector = grid_.columns_across() == 1 ? "c" : "(c * " + std::to_string(grid_.columns_across()) + " + tc)";
  return grid_.vector > 1 ? vector + " * " + std::to_string(grid_.vector) : vector;
}

bool Writer::open_loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values) {
  int& braces = nests_.emplace_back(0);
  const auto open_one = [&](const std::string& text) { open(text), ++braces; };
  const auto loop = [&](const char* name, std::int64_t count, const char* unroll = "#pragma unroll") {
    line(unroll);
    open_one("for (int " + std::string(name) + " = 0; " + name + " < " + std::to_string(count) + "; ++" + name + ")");
  };
  if (spread == Spread::Uniform) return false;
  if (spread == Spread::Flat) {
    loop("c", grid_.held(shape));
    line("const int e = c * " + std::to_string(grid_.threads()) + " + static_cast<int>(threadIdx.x);");
    return false;
  }
  const auto rows = [&] {
    loop("r", grid_.row_steps);
    line("const int row = " + (grid_.row_threads == 1 ? "r" : "r * " + std::to_string(grid_.row_threads) + " + tr") + ";");
  };
  const bool staged = grid_.staged && spread != Spread::Row;
  if (spread != Spread::Column && !staged) rows();
  if (spread == Spread::Row) return false;
  const std::set<Id> vectors = vectors_of(values);
  if (staged && !vectors.empty()) await_staged();
  const bool alone = grid_.resident <= 1, one_row = grid_.row_steps == 1, one_step = grid_.row_steps > 2;
  loop("c", grid_.column_steps,
       !staged || reads_ahead_ ? "#pragma unroll"
       : alone                 ? "#pragma unroll 4"
       : one_row               ? "#pragma unroll 2"
                               : "#pragma unroll 1");
  std::string col = column_text();
  if (staged || !vectors.empty()) {
    line("const int col = " + col + ";");
    // Always so, which the compiler does not know: it would mix the steps, and has no registers for more than one of so many rows.
    if (reads_ahead_ && one_step && grid_.columns_fit()) open_one("if (col > -static_cast<int>(g1))");
    if (staged && !grid_.columns_fit()) open_one("if (col < " + std::to_string(grid_.columns) + ")");
    // What meets every row is read once for all of them.
    for (const Id load : vectors)
      if (this->spread(load) == Spread::Column) read_vector(load);
    if (spread == Spread::Full) {
      rows();
      for (const Id load : vectors)
        if (this->spread(load) == Spread::Full) read_vector(load);
    }
    return step == Step::Elements;
  }
  if (step == Step::Elements) {
    loop("k", grid_.vector);
    if (grid_.vector > 1) col += " + k";
  }
  line("const int col = " + col + ";");
  return false;
}

void Writer::close_loops() {
  for (int braces = nests_.back(); braces > 0; --braces) close();
  nests_.pop_back();
}

void Writer::declare(Id id) {
  const tile::Type& type = a_.type(id);
  line(type_name(type) + " " + variable(id) + dimensions(spread(id), type.shape) + ";");
}

std::vector<tile::Id> Writer::sources_of(Id id) const {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter) return {};
  if (self.type.shape.empty()) return {id};
  const Form& form = a_.form(id);
  if (form.kind == Form::Kind::Affine) return form.rest >= 0 ? sources_of(form.rest) : std::vector<Id>{};
  if (form.kind == Form::Kind::Box) {
    std::vector<Id> all;
    for (const Condition& condition : form.conditions) {
      if (condition.kind != Condition::Kind::Tile) continue;
      for (const Id one : sources_of(condition.tile)) all.push_back(one);
    }
    return all;
  }
  return renames(id) ? sources_of(self.operands[0]) : std::vector<Id>{id};
}

void Writer::need(Id id) {
  for (const Id source : sources_of(id)) {
    if (std::find(reductions_.begin(), reductions_.end(), source) != reductions_.end()) flush_reductions();
    for (const SharedLoop& loop : shared_loops_) {
      if (std::find(loop.ids.begin(), loop.ids.end(), source) == loop.ids.end()) continue;
      flush(loop.spread, loop.count);
      break;
    }
  }
}

/// Adds a word to those of its loop. What it takes from other loops is written first.
void Writer::share_loop(Id id) {
  const Spread own = spread(id);
  const std::int64_t count = own == Spread::Flat ? numel(a_.type(id).shape) : 0;
  if (own == Spread::Uniform) {
    for (const Id operand : at(id).operands) need(operand);
    comment_origin(id);
    line(constant_type(a_.type(id)) + " " + variable(id) + " = " + word_text(id, own) + ";");
    return;
  }
  // Operands of the same loop may stay where they are.
  for (const Id operand : at(id).operands) {
    for (const Id source : sources_of(operand)) {
      const bool here = std::any_of(shared_loops_.begin(), shared_loops_.end(), [&](const SharedLoop& loop) {
        return loop.spread == own && loop.count == count && std::find(loop.ids.begin(), loop.ids.end(), source) != loop.ids.end();
      });
      if (!here) need(source);
    }
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
bool Writer::only_stored(Id id) const {
  const auto& users = a_.users(id);
  if (users.size() != 1 || users[0] < 0) return false;
  return at(users[0]).word == Word::Store || (tile::has_result(at(users[0]).word) && renames(users[0]) && only_stored(users[0]));
}

/// Whether the value is a product of floats that one sum over rows takes as soon as it is there, which then rounds once (sum_of_products).
bool Writer::only_summed(Id id) const {
  const auto& users = a_.users(id);
  if (grid_.reduces || repeats_ > 0 || at(id).word != Word::Mul || !is_float(a_.type(id).dtype) || users.size() != 1 || users[0] < 0)
    return false;
  return at(users[0]).word == Word::Reduce && at(users[0]).kind == tile::Reduction::Sum && spread(at(users[0]).operands[0]) == Spread::Full;
}

/// Arithmetic that costs less than the registers that keep its result until a later loop.
std::optional<Writer::Recipe> Writer::recipe_for(Id id, Spread own, const std::set<Id>& members, const std::set<Id>& kept) const {
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
bool Writer::needed_after(Id id, Id now) const {
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

void Writer::flush() {
  flush_reductions();
  while (!shared_loops_.empty()) flush(shared_loops_.front().spread, shared_loops_.front().count);
}

void Writer::flush(Spread own, std::int64_t count) {
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
      for (const Id source : sources_of(operand)) {
        if (members.contains(source) && !kept.contains(source) && inner.insert(source).second) self(self, source);
      }
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
      comment_origin(id);
      const std::string target = local ? constant_type(a_.type(id)) + " " + variable(id) : variable(id) + place(own);
      line(target + " = " + word_text(id, own) + ";");
      if (local) local_.insert(id);
    }
  });
  for (const Id id : inner) local_.erase(id);
}

}  // namespace tegula::gpu
