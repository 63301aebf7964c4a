// Names, types, and one element of a value.

#include <algorithm>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

simt::Place Lowering::place(Spread spread) {
  switch (spread) {
    case Spread::Uniform: return simt::Place::One;
    case Spread::Row: return simt::Place::Row;
    case Spread::Column: return simt::Place::Column;
    case Spread::Full: return simt::Place::Full;
    default: return simt::Place::Vector;
  }
}

simt::Sizes Lowering::sizes(Spread spread, const Shape& shape) const {
  switch (spread) {
    case Spread::Uniform: return {};
    case Spread::Row: return {grid_.row_steps};
    case Spread::Column: return {grid_.column_steps, grid_.vector};
    case Spread::Full: return {grid_.row_steps, grid_.column_steps_of(shape), grid_.vector};
    default: return {grid_.held(shape)};
  }
}

/// Coordinates are ints named row and col, or parts of the flat index e.
Expression Lowering::coordinate(int axis, Spread loops, const Shape& shape) const {
  if (shape[axis] == 1) return 0;
  if (loops == Spread::Flat) {
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
    Expression index = "e";
    if (stride != 1) index = std::move(index) / stride;
    bool outermost = true;
    for (int i = 0; i < axis; ++i) outermost = outermost && shape[i] == 1;
    if (!outermost) index = std::move(index) % shape[axis];
    return index.kind == Expression::Kind::Name ? index : simt::group(std::move(index));
  }
  if (shape.rank() == 1) return grid_.spread_of(shape) == Spread::Row ? "row" : "col";
  if (shape.rank() > 2) {  // rows of the axes but the last one together
    if (axis + 1 == shape.rank()) return "col";
    const auto of = [&](int begin, int end) {
      std::int64_t product = 1;
      for (int i = begin; i < end; ++i) product *= shape[i];
      return product;
    };
    const std::int64_t inner = of(axis + 1, shape.rank() - 1), outer = of(0, axis);
    Expression index = inner == 1 ? Expression("row") : Expression("row") / inner;
    if (outer > 1) index = std::move(index) % shape[axis];
    return inner == 1 && outer == 1 ? index : simt::group(std::move(index));
  }
  return axis == 0 ? "row" : "col";
}

Expression Lowering::linear(Spread loops, const Shape& shape) const {
  switch (loops) {
    case Spread::Uniform: return 0;
    case Spread::Flat: return "e";
    case Spread::Row: return "row";
    case Spread::Column: return "col";
    default: return simt::group(Expression("row") * shape.back() + "col");
  }
}

Lowering::When Lowering::inside(Spread loops, const Shape& shape) const {
  const When rows = grid_.rows_fit() ? When() : Expression("row") < grid_.rows;
  const When columns = grid_.columns_fit() || grid_.staged ? When() : Expression("col") < grid_.columns;
  switch (loops) {
    case Spread::Uniform: return {};
    case Spread::Row: return rows;
    case Spread::Column: return columns;
    case Spread::Full: return simt::all_of(rows, columns);
    default: return numel(shape) % grid_.threads() == 0 ? When() : Expression("e") < numel(shape);
  }
}

Lowering::When Lowering::acts(Spread spread) const {
  const auto zero = [](const char* name) { return simt::binary(name, "==", 0); };
  switch (spread) {
    case Spread::Uniform: return simt::all_of(zero("threadIdx.x"), grid_.cluster > 1 ? When(zero("block")) : When());
    case Spread::Row: return grid_.columns_across() > 1 ? When(zero("tc")) : When();
    case Spread::Column: return grid_.row_threads > 1 ? When(zero("tr")) : When();
    default: return {};
  }
}

Expression Lowering::expression_of(const Term& term) const {
  switch (term.kind) {
    case Term::Kind::Number: return simt::number(term.value, DType::i64);
    case Term::Kind::Scalar: return scalar(term.id);
    default: break;
  }
  const Term& first = (*term.operands)[0];
  Expression a = expression_of(first), b = expression_of((*term.operands)[1]);
  if (term.kind == Term::Kind::Difference) return simt::call("difference", {std::move(a), std::move(b)});
  if (term.kind == Term::Kind::Quotient) return simt::call("rounded_down", {std::move(a), std::move(b)});
  if (term.kind == Term::Kind::Sum) return simt::group(std::move(a) + std::move(b));
  return simt::group(first.is(-1) ? simt::unary("-", std::move(b)) : std::move(a) * std::move(b));
}

Expression Lowering::limit_of(const Term& limit) const {
  if (limit.known()) return std::clamp<std::int64_t>(limit.value, 0, 1 << 30);
  return simt::call("bounded", expression_of(limit));
}

Expression Lowering::scalar(Id id) const {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == Word::Parameter) return a_.parameter_names()[static_cast<std::size_t>(self.attribute)];
  if (self.word != Word::Constant) return variable(id);
  return is_float(self.type.dtype) ? simt::number(self.real, self.type.dtype) : simt::number(self.integer, self.type.dtype);
}

Expression Lowering::affine_element(const Form& form, Spread loops, const Shape& shape) {
  simt::Expressions parts;
  if (form.root >= 0) parts.push_back(scalar(form.root));
  if (form.rest >= 0) parts.push_back(element(form.rest, loops));
  if (!form.base.is(0)) parts.push_back(expression_of(form.base));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Term& stride = form.stride[static_cast<std::size_t>(axis)];
    if (stride.is(0) || shape[axis] == 1) continue;
    Expression along = coordinate(axis, loops, shape);
    parts.push_back(stride.is(1) ? std::move(along) : std::move(along) * expression_of(stride));
  }
  if (parts.empty()) return simt::number(std::int64_t{0}, DType::i64);
  Expression sum = std::move(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) sum = std::move(sum) + std::move(parts[i]);
  if (form.root < 0 && form.rest < 0) return simt::cast(simt::computed(DType::i64), std::move(sum));
  const bool plain = parts.size() == 1 && (sum.kind == Expression::Kind::Name || simt::text(sum).find(' ') == std::string::npos);
  return plain ? sum : simt::group(std::move(sum));
}

Expression Lowering::condition(const Condition& condition, Spread loops, const Shape& shape) {
  if (condition.axis < 0) return simt::binary(0, condition.kind == Condition::Kind::Below ? "<" : ">=", expression_of(condition.limit));
  switch (condition.kind) {
    case Condition::Kind::Uniform: return scalar(condition.value);
    case Condition::Kind::Tile: return element(condition.value, loops);
    case Condition::Kind::Below: return coordinate(condition.axis, loops, shape) < limit_of(condition.limit);
    default: return simt::binary(coordinate(condition.axis, loops, shape), ">=", limit_of(condition.limit));
  }
}

Expression Lowering::box_element(const Form& form, Spread loops, const Shape& shape) {
  std::vector<When> all;
  for (const Condition& one : form.conditions) all.emplace_back(condition(one, loops, shape));
  return simt::group(*simt::all_of(std::move(all)));
}

Expression Lowering::element(Id id, Spread loops) {
  id = a_.resolve(id);
  const tile::Instruction& self = at(id);
  if (self.word == Word::Constant || self.word == Word::Parameter || self.type.shape.empty()) return scalar(id);
  const Form& form = a_.form(id);
  // A form is written with the coordinates of its own shape: those of the loops where the axes are the same.
  if (form.kind == Form::Kind::Affine) return affine_element(form, loops, self.type.shape);
  if (form.kind == Form::Kind::Box) return box_element(form, loops, self.type.shape);
  if (renames(id)) return element(self.operands[0], loops);
  if (local_.contains(id)) return scalar(id);
  if (is_recipe(id)) return simt::group(word(id, loops));
  if (at_hand(id) || is_packed(id)) return simt::widened(packed_vector(id), "k");
  return held(id, spread(id));
}

bool Lowering::has_registers(Id value) const {
  return at(value).word != Word::Constant && a_.form(value).kind == Form::Kind::None && !renames(value) && !is_packed(value) &&
         !is_recipe(value) && !at_hand(value);
}

Expression Lowering::packed_vector(Id load) const {
  if (at_hand(load)) return Name("x", load);
  return simt::held(variable(load), vector_place(spread(load)));
}

}  // namespace tegula::gpu
