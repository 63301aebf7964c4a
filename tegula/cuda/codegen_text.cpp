// Lines and loops. Words that work element by element wait in groups until something else needs one of them, and share a loop then.

#include "tegula/cuda/codegen_writer.h"

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
  const std::source_location& where = at(id).where;
  if (where.line() == 0) return;
  std::string file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  const std::string origin = file + ":" + std::to_string(where.line());
  if (origin == origin_) return;
  origin_ = origin;
  line("// " + origin);
}

void Writer::open_loops(Spread spread, const Shape& shape, Step step) {
  const auto loop = [&](const char* name, std::int64_t count) {
    line("#pragma unroll");
    open("for (int " + std::string(name) + " = 0; " + name + " < " + std::to_string(count) + "; ++" + name + ")");
  };
  if (spread == Spread::Uniform) return;
  if (spread == Spread::Flat) {
    loop("c", grid_.held(shape));
    line("const int e = c * " + std::to_string(grid_.threads()) + " + static_cast<int>(threadIdx.x);");
    return;
  }
  if (spread != Spread::Column) {
    loop("r", grid_.row_steps);
    line("const int row = " + (grid_.row_threads == 1 ? "r" : "r * " + std::to_string(grid_.row_threads) + " + tr") + ";");
  }
  if (spread == Spread::Row) return;
  loop("c", grid_.column_steps);
  std::string col = grid_.columns_across() == 1 ? "c" : "(c * " + std::to_string(grid_.columns_across()) + " + tc)";
  if (grid_.vector > 1) col += " * " + std::to_string(grid_.vector);
  if (step == Step::Elements) {
    loop("k", grid_.vector);
    if (grid_.vector > 1) col += " + k";
  }
  line("const int col = " + col + ";");
}

void Writer::close_loops(Spread spread, Step step) {
  int count = spread == Spread::Uniform ? 0 : spread == Spread::Full ? 2 : 1;
  if (step == Step::Elements && (spread == Spread::Full || spread == Spread::Column)) ++count;
  while (count-- > 0) close();
}

void Writer::declare(Id id) {
  const tile::Type& type = a_.type(id);
  line(type_name(type) + " " + variable(id) + dimensions(spread(id), type.shape) + ";");
}

void Writer::need(Id id) {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter) return;
  if (!self.type.shape.empty()) {
    const Form& form = a_.form(id);
    if (form.kind == Form::Kind::Affine) {
      if (form.rest >= 0) need(form.rest);
      return;
    }
    if (form.kind == Form::Kind::Box) {
      for (const Condition& condition : form.conditions) {
        if (condition.kind == Condition::Kind::Tile) need(condition.tile);
      }
      return;
    }
    if (renames(id)) return need(self.operands[0]);
  }
  for (const Group& group : groups_) {
    if (std::find(group.ids.begin(), group.ids.end(), id) != group.ids.end()) return flush(group.spread, group.count);
  }
}

/// Adds a word to the group of its loop. What it takes from other groups is written first.
void Writer::group(Id id) {
  const Spread own = spread(id);
  const std::int64_t count = own == Spread::Flat ? numel(a_.type(id).shape) : 0;
  if (own == Spread::Uniform) {
    for (const Id operand : at(id).operands) need(operand);
    comment_origin(id);
    line(constant_type(a_.type(id)) + " " + variable(id) + " = " + word_text(id, own) + ";");
    return;
  }
  // Operands of the same loop may stay where they are.
  const auto settle = [&](auto&& self, Id operand) -> void {
    operand = a_.resolve(operand);
    const tile::Instruction& from = at(operand);
    if (!from.type.shape.empty() && a_.form(operand).kind == Form::Kind::None && renames(operand)) return self(self, from.operands[0]);
    if (!from.type.shape.empty() && a_.form(operand).kind == Form::Kind::Affine) {
      if (a_.form(operand).rest >= 0) self(self, a_.form(operand).rest);
      return;
    }
    if (!from.type.shape.empty() && a_.form(operand).kind == Form::Kind::Box) {
      for (const Condition& condition : a_.form(operand).conditions) {
        if (condition.kind == Condition::Kind::Tile) self(self, condition.tile);
      }
      return;
    }
    for (const Group& group : groups_) {
      if (group.spread == own && group.count == count && std::find(group.ids.begin(), group.ids.end(), operand) != group.ids.end()) return;
    }
    need(operand);
  };
  for (const Id operand : at(id).operands) settle(settle, operand);
  for (Group& group : groups_) {
    if (group.spread == own && group.count == count) {
      group.ids.push_back(id);
      return;
    }
  }
  groups_.push_back({own, count, {id}});
}

void Writer::flush() {
  while (!groups_.empty()) flush(groups_.front().spread, groups_.front().count);
}

void Writer::flush(Spread own, std::int64_t count) {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.spread == own && group.count == count; });
  const Group group = *found;
  groups_.erase(found);
  const std::set<Id> members(group.ids.begin(), group.ids.end());
  // Values that nothing outside this loop needs live in it.
  const auto stays = [&](auto&& self, Id id) -> bool {
    for (const Id user : a_.users(id)) {
      if (user < 0) return false;
      if (members.contains(user)) continue;
      if (!tile::has_result(at(user).word) || !is_inline(user) || !self(self, user)) return false;
    }
    return true;
  };
  std::set<Id> inner;
  for (const Id id : group.ids) {
    if (stays(stays, id)) inner.insert(id);
    else declare(id);
  }
  const Shape& shape = a_.type(group.ids.front()).shape;
  loops(own, shape, Step::Elements, [&] {
    for (const Id id : group.ids) {
      comment_origin(id);
      const bool local = inner.contains(id);
      const std::string target = local ? constant_type(a_.type(id)) + " " + variable(id) : variable(id) + place(own);
      line(target + " = " + word_text(id, own) + ";");
      if (local) local_.insert(id);
    }
  });
  for (const Id id : inner) local_.erase(id);
}

}  // namespace tegula::gpu
