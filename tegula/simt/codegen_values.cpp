// Names, types, and the text of one element.

#include "tegula/simt/codegen_writer.h"

#include <algorithm>

namespace tegula::gpu {

using tile::Word;

std::string scalar_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::i64: return "long long";
    case DType::i32: return "int";
    default: return "bool";
  }
}

std::string reduction_name(tile::Reduction kind) {
  std::string name(tile::name(kind));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string stored_name(DType dtype) {
  switch (dtype) {
    case DType::f16: return "Float16";
    case DType::bf16: return "BFloat16";
    case DType::i16: return "short";
    case DType::i8: return "signed char";
    case DType::u8: return "unsigned char";
    case DType::boolean: return "Boolean";
    default: return scalar_name(dtype);
  }
}

std::string constant_type(const tile::Type& type) { return type.pointer ? type_name(type) + " const" : "const " + type_name(type); }
std::string type_name(const tile::Type& type) { return type.pointer ? stored_name(type.dtype) + "*" : scalar_name(type.dtype); }

bool Writer::renames(Id id) const {
  const tile::Instruction& self = at(id);
  // What is only stored is rounded by that.
  if (self.word == Word::Narrow && !self.type.shape.empty()) {
    return std::all_of(a_.users(id).begin(), a_.users(id).end(), [&](Id user) {
      return user >= 0 && at(user).word == Word::Store && static_cast<std::int64_t>(a_.type(at(user).operands[0]).dtype) == self.attribute;
    });
  }
  if (self.word < Word::Broadcast || self.word > Word::Transpose) return false;
  const Id from = self.operands[0];
  const Spread source = spread(from), target = spread(id);
  if (source == Spread::Uniform) return true;
  if (self.word == Word::Transpose) return false;
  if (self.word == Word::Broadcast) {
    if (target == Spread::Flat || source == Spread::Flat) return source == target && numel(a_.type(from).shape) == numel(self.type.shape);
    return source == target || target == Spread::Full;
  }
  return source == target;
}

bool Writer::is_inline(Id id) const {
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter) return true;
  if (self.word == Word::Result) return true;
  return a_.form(id).kind != Form::Kind::None || renames(id);
}

bool Writer::repeated(Id id, Spread loops) const {
  for (id = a_.resolve(id); !a_.type(id).shape.empty() && renames(id);) id = a_.resolve(at(id).operands[0]);
  if (a_.type(id).shape.empty()) return false;
  const Spread own = spread(id);
  return (own == Spread::Uniform && (loops == Spread::Column || loops == Spread::Full)) || (own == Spread::Row && loops == Spread::Full);
}

bool Writer::counts_columns(Id id, Spread loops) const {
  const Form& form = a_.form(id);
  if (form.kind != Form::Kind::Affine || form.root >= 0 || form.rest >= 0 || !form.base.is(0)) return false;
  if (loops != Spread::Full && loops != Spread::Column) return false;
  for (std::size_t i = 0; i + 1 < form.stride.size(); ++i)
    if (!form.stride[i].is(0)) return false;
  return form.stride.back().is(1) && grid_.spread_of(a_.type(id).shape) != Spread::Row;
}

std::string Writer::place(Spread spread) {
  switch (spread) {
    case Spread::Uniform: return "";
    case Spread::Row: return "[r]";
    case Spread::Column: return "[c][k]";
    case Spread::Full: return "[r][c][k]";
    default: return "[c]";
  }
}

std::string Writer::dimensions(Spread spread, const Shape& shape) const {
  const auto bracket = [](std::int64_t n) { return "[" + std::to_string(n) + "]"; };
  const std::string columns = bracket(grid_.column_steps) + bracket(grid_.vector);
  switch (spread) {
    case Spread::Uniform: return "";
    case Spread::Row: return bracket(grid_.row_steps);
    case Spread::Column: return columns;
    case Spread::Full: return bracket(grid_.row_steps) + columns;
    default: return bracket(grid_.held(shape));
  }
}

/// Coordinates are ints named row and col, or parts of the flat index e.
std::string Writer::coordinate(int axis, Spread loops, const Shape& shape) const {
  if (shape[axis] == 1) return "0";
  if (loops == Spread::Flat) {
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
    std::string text = "e";
    if (stride != 1) text += " / " + std::to_string(stride);
    bool outermost = true;
    for (int i = 0; i < axis; ++i) outermost = outermost && shape[i] == 1;
    if (!outermost) text += " % " + std::to_string(shape[axis]);
    return text == "e" ? text : "(" + text + ")";
  }
  if (shape.rank() == 1) return grid_.spread_of(shape) == Spread::Row ? "row" : "col";
  return axis == 0 ? "row" : "col";
}

std::string Writer::linear(Spread loops, const Shape& shape) const {
  switch (loops) {
    case Spread::Uniform: return "0";
    case Spread::Flat: return "e";
    case Spread::Row: return "row";
    case Spread::Column: return "col";
    default: return "(row * " + std::to_string(shape[1]) + " + col)";
  }
}

std::string Writer::inside(Spread loops, const Shape& shape) const {
  const std::string rows = grid_.rows_fit() ? "" : "row < " + std::to_string(grid_.rows);
  const std::string columns = grid_.columns_fit() || grid_.staged ? "" : "col < " + std::to_string(grid_.columns);
  switch (loops) {
    case Spread::Uniform: return "";
    case Spread::Row: return rows;
    case Spread::Column: return columns;
    case Spread::Full: return rows.empty() ? columns : columns.empty() ? rows : rows + " && " + columns;
    default: return numel(shape) % grid_.threads() == 0 ? "" : "e < " + std::to_string(numel(shape));
  }
}

std::string Writer::acts(Spread spread) const {
  const std::string first_block = grid_.cluster > 1 ? " && block == 0" : "";
  switch (spread) {
    case Spread::Uniform: return "threadIdx.x == 0" + first_block;
    case Spread::Row: return grid_.columns_across() > 1 ? "tc == 0" : "";
    case Spread::Column: return grid_.row_threads > 1 ? "tr == 0" : "";
    default: return "";
  }
}

std::string Writer::affine_element(const Form& form, Spread loops, const Shape& shape) {
  std::string text;
  const auto plus = [&](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  if (form.root >= 0) plus(a_.name(form.root));
  if (form.rest >= 0) plus(element(form.rest, loops));
  if (!form.base.is(0)) plus(form.base.code());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Term& stride = form.stride[static_cast<std::size_t>(axis)];
    if (stride.is(0) || shape[axis] == 1) continue;
    const std::string coordinate_text = coordinate(axis, loops, shape);
    plus(stride.is(1) ? coordinate_text : coordinate_text + " * " + stride.code());
  }
  if (text.empty()) return "0ll";
  if (form.root >= 0 || form.rest >= 0) return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  return "static_cast<long long>(" + text + ")";
}

std::string Writer::limit_name(const Term& limit) {
  if (limit.known) return std::to_string(std::clamp<std::int64_t>(limit.value, 0, 1 << 30));
  for (auto scope = limits_.rbegin(); scope != limits_.rend(); ++scope) {
    if (const auto found = scope->find(limit.text); found != scope->end()) return found->second;
  }
  return "bounded(" + limit.text + ")";
}

std::string Writer::condition_text(const Condition& condition, Spread loops, const Shape& shape) {
  switch (condition.kind) {
    case Condition::Kind::Uniform: return condition.limit.text;
    case Condition::Kind::Tile: return element(condition.tile, loops);
    case Condition::Kind::Below: return coordinate(condition.axis, loops, shape) + " < " + limit_name(condition.limit);
    default: return coordinate(condition.axis, loops, shape) + " >= " + limit_name(condition.limit);
  }
}

std::string Writer::box_element(const Form& form, Spread loops, const Shape& shape) {
  std::string text;
  for (const Condition& condition : form.conditions) { text += (text.empty() ? "(" : " && ") + condition_text(condition, loops, shape); }
  return text + ")";
}

std::string Writer::element(Id id, Spread loops) {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter || self.type.shape.empty()) return a_.name(id);
  const Form& form = a_.form(id);
  // A form is written with the coordinates of its own shape: those of the loops where the axes are the same.
  if (form.kind == Form::Kind::Affine) return affine_element(form, loops, self.type.shape);
  if (form.kind == Form::Kind::Box) return box_element(form, loops, self.type.shape);
  if (renames(id)) return element(self.operands[0], loops);
  if (local_.contains(id)) return a_.name(id);
  if (recipes_.contains(id)) return "(" + word_text(id, loops) + ")";
  if (at_hand(id) || packed_.contains(id)) return "element_of(" + packed_vector(id) + ", k)";
  return a_.name(id) + place(spread(id));
}

std::string Writer::packed_vector(Id load) const {
  if (at_hand(load)) return "x" + std::to_string(load);
  return a_.name(load) + (spread(load) == Spread::Full ? "[r][c]" : "[c]");
}

}  // namespace tegula::gpu
