#include "tegula/simt/kernel/expression.h"

namespace tegula::simt {

using Kind = Expression::Kind;

namespace {

Expression typed(Kind kind, Type type, Expressions operands) {
  Expression result(kind, "", std::move(operands));
  result.type = type;
  return result;
}

Expression folded(Kind kind, Operation operation, Expressions operands) {
  Expression result(kind, "", std::move(operands));
  result.operation = operation;
  return result;
}

}  // namespace

Expression held(Name name, Place place) {
  Expression result(name);
  if (place == Place::One) return result;
  result.kind = Kind::Held;
  result.place = place;
  return result;
}
Expression element(Name name, Expressions indices) {
  return indices.empty() ? Expression(name) : Expression(Kind::Element, name, std::move(indices));
}
Expression call(Name function, Expressions operands) { return {Kind::Call, function, std::move(operands)}; }
Expression unary(const char* sign, Expression operand) { return {Kind::Unary, sign, list(std::move(operand))}; }
Expression binary(Expression a, const char* sign, Expression b) { return {Kind::Binary, sign, list(std::move(a), std::move(b))}; }
Expression choose(Expression when, Expression a, Expression b) {
  return {Kind::Choose, "", list(std::move(when), std::move(a), std::move(b))};
}
Expression cast(Type type, Expression operand) { return typed(Kind::Cast, type, list(std::move(operand))); }
Expression reinterpret(Type type, Expression operand) { return typed(Kind::Reinterpret, type, list(std::move(operand))); }
Expression group(Expression operand) { return {Kind::Group, "", list(std::move(operand))}; }
Expression tuple(Expression a, Expression b) { return {Kind::Tuple, "", list(std::move(a), std::move(b))}; }
Expression load(Expression pointer) { return {Kind::Load, "", list(std::move(pointer))}; }
Expression fold(Operation operation, Expression a, Expression b) { return folded(Kind::Fold, operation, list(std::move(a), std::move(b))); }
Expression nothing(Operation operation) { return folded(Kind::Nothing, operation, {}); }
Expression fold_vector(Operation operation, Expression vector) { return folded(Kind::FoldVector, operation, list(std::move(vector))); }
Expression widened(Expression vector, Expression which) { return {Kind::Widen, "", list(std::move(vector), std::move(which))}; }
Expression rounded(DType stored_as, Expression operand) { return typed(Kind::Round, stored(stored_as), list(std::move(operand))); }
Expression member(Expression operand, const char* name) { return {Kind::Member, name, list(std::move(operand))}; }
Expression number(double value, DType dtype) {
  Expression result = typed(Kind::Number, computed(dtype), {});
  result.integer = std::bit_cast<std::int64_t>(value);
  return result;
}
Expression number(std::int64_t value, DType dtype) {
  Expression result = typed(Kind::Number, computed(dtype), {});
  result.integer = value;
  return result;
}
Expression zero(DType dtype) { return is_float(dtype) ? number(0.0, dtype) : number(std::int64_t{0}, dtype); }
Expression thread_index() { return cast(computed(DType::i32), "threadIdx.x"); }

Condition both(Condition a, Condition b) {
  if (!a || !b) return a ? a : b;
  return binary(*std::move(a), "&&", *std::move(b));
}
Condition all_of(std::vector<Condition> conditions) {
  Condition all;
  for (Condition& one : conditions) all = both(std::move(all), std::move(one));
  return all;
}

}  // namespace tegula::simt
