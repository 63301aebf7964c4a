// Words that the builder does not emit, because their value is already known. Only exact rules: integers wrap, booleans are logic, and
// floats are never touched (x + 0 changes -0, 0 * x drops NaN).

#include <cmath>
#include <limits>
#include <optional>

#include "tegula/tile/builder.h"
#include "tegula/tile/scalar_words.h"

namespace tegula::tile {
namespace {

using Whole = std::int64_t;

/// The value of an integer or boolean constant, also when it has been broadcast.
std::optional<Whole> known_integer(const Program& program, Id id) {
  const Instruction* instruction = &program[id];
  if (instruction->word == Word::Broadcast) instruction = &program[instruction->operands[0]];
  if (instruction->word != Word::Constant || is_float(instruction->type.dtype)) return std::nullopt;
  return instruction->integer;
}

/// True if words of two integers are computed here; not shifts, whose amounts may be undefined.
bool folds(Word word) { return word != Word::Pow && word != Word::Atan2 && word != Word::Shl && word != Word::Shr && word != Word::MulHi; }

/// True if a value of f32 has no more digits than a half: it was one in memory, or has been rounded, and was only moved or chosen since.
bool is_half_already(const Program& program, Id id, DType half, int depth = 4) {
  const Instruction& self = program[id];
  const auto operand = [&](std::size_t i) { return is_half_already(program, self.operands[i], half, depth - 1); };
  if (self.word == Word::Narrow) return static_cast<DType>(self.attribute) == half;
  if (self.word == Word::Load) return program[self.operands[0]].type.dtype == half && self.operands.size() < 3;
  if (depth == 0) return false;
  switch (self.word) {
    case Word::Neg:
    case Word::Abs:
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose: return operand(0);
    case Word::Min:
    case Word::Max: return operand(0) && operand(1);
    case Word::Select: return operand(1) && operand(2);
    case Word::Reduce: return (self.kind == Reduction::Min || self.kind == Reduction::Max) && operand(0);
    case Word::Constant: return self.real == 0 || std::isinf(self.real);  // and what reductions begin with
    default: return false;
  }
}

}  // namespace

Id Builder::simplify(const Instruction& instruction) {
  const Type type = instruction.type;
  const Word word = instruction.word;
  if (instruction.operands.empty()) return -1;
  const Id a = instruction.operands[0], b = instruction.operands.back();
  const auto is_result = [&](Id id) { return program_[id].type == type; };
  const auto filled = [&](Whole value) { return broadcast(constant(value, type.dtype), type.shape).id(); };

  switch (word) {
    case Word::Cast: {
      if (is_result(a)) return a;
      const Instruction& from = program_[a];
      if (from.word != Word::Constant || is_float(from.type.dtype) || is_float(type.dtype)) return -1;
      const Scalar x{0, from.integer};
      return filled(evaluate(Word::Cast, from.type.dtype, type.dtype, 0, &x).integer);
    }
    case Word::Broadcast:
    case Word::Reshape:
    case Word::Bitcast: return is_result(a) ? a : -1;
    case Word::Narrow: {
      const auto stored = static_cast<DType>(instruction.attribute);
      return is_half(stored) && is_half_already(program_, a, stored) ? a : -1;
    }
    case Word::Select: {
      const auto condition = known_integer(program_, a);
      const Id yes = instruction.operands[1];
      if (condition) return is_result(*condition ? yes : b) ? (*condition ? yes : b) : -1;
      return yes == b && is_result(b) ? b : -1;
    }
    default: break;
  }

  if (word < Word::Add || word > Word::Ge || is_float(program_[b].type.dtype)) return -1;
  const auto left = known_integer(program_, a), right = known_integer(program_, b);
  if (left && right) {
    const Scalar x[2]{{0, *left}, {0, *right}};
    return folds(word) ? filled(evaluate(word, program_[b].type.dtype, type.dtype, 0, x).integer) : -1;
  }
  const auto keep = [&](Id id) { return is_result(id) ? id : -1; };
  const auto left_is = [&](Whole value) { return left && *left == value; };
  const auto right_is = [&](Whole value) { return right && *right == value; };
  const bool logical = type.dtype == boolean;
  switch (word) {
    case Word::Add: return right_is(0) ? keep(a) : left_is(0) ? keep(b) : -1;
    case Word::Sub: return right_is(0) ? keep(a) : -1;
    case Word::Mul:
      if (left_is(0) || right_is(0)) return filled(0);
      return right_is(1) ? keep(a) : left_is(1) ? keep(b) : -1;
    case Word::Div: return right_is(1) ? keep(a) : -1;
    case Word::Rem: return right_is(1) ? filled(0) : -1;
    case Word::And:
      if (left_is(0) || right_is(0)) return filled(0);
      return logical && right_is(1) ? keep(a) : logical && left_is(1) ? keep(b) : -1;
    case Word::Or:
      if (logical && (left_is(1) || right_is(1))) return filled(1);
      return right_is(0) ? keep(a) : left_is(0) ? keep(b) : -1;
    default: return -1;
  }
}

}  // namespace tegula::tile
