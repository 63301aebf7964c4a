#include "tegula/ops/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/promote.h"

namespace tegula::formula {
namespace {

[[noreturn]] void refuse(const OpInfo& info, DType dtype, const char* expected, const char* advice, const Line& where) {
  throw Error({.op = info.name,
               .got = "operands of dtype " + std::string(name(dtype)),
               .expected = expected,
               .advice = advice,
               .where = origin_at(where).where});
}

/// The dtype that operand `index` is converted to, given the common dtype.
DType operand_dtype(const OpInfo& info, DType common, std::size_t index, const Line& where) {
  switch (info.operands) {
    case Operands::Numbers:
      if (common == boolean)
        refuse(info, common, "numbers", "convert with cast(x, i64), or use logical_and, logical_or, logical_xor", where);
      return common;
    case Operands::Floats:
    case Operands::Classified: return as_float(common);
    case Operands::Ordered: return common == boolean ? u8 : common;
    case Operands::Logical: return boolean;
    case Operands::Bits:
      if (is_float(common)) refuse(info, common, "integers or booleans", "bits of floats have no meaning here; convert with cast", where);
      return common;
    case Operands::Integers:
      if (!is_integer(common)) refuse(info, common, "integers", "convert with cast", where);
      return common;
    case Operands::Chosen: return index == 0 ? boolean : common;
    default: return common;
  }
}

/// A tensor of u32 or u64 is compared with a negative number by value, which in its dtype would wrap around.
DType compared_as(const OpInfo& info, DType common, std::span<const Arg> operands) {
  const bool compares = info.operands == Operands::Compared || info.operands == Operands::Ordered;
  if (!compares || !is_unsigned(common) || tile::compute_type(common) != common) return common;
  const bool negative = std::any_of(operands.begin(), operands.end(), [](const Arg& x) { return x.is_number() && x.value().real() < 0; });
  return !negative ? common : common == u32 ? i64 : f64;
}

bool has_boolean_result(Operands operands) {
  return operands == Operands::Compared || operands == Operands::Ordered || operands == Operands::Logical ||
         operands == Operands::Classified;
}

}  // namespace

Value wrapped(Value x, DType dtype) { return is_integer(dtype) && dtype != tile::compute_type(dtype) ? tile::narrow(x, dtype) : x; }

namespace {

tile::Program traced(const Emitted& formula) {
  tile::Builder builder("formula");
  std::vector<Value> inputs;
  for (std::size_t k = 0; k < formula.count; ++k)
    inputs.push_back(builder.scalar("x" + std::to_string(k), k == 0 && formula.condition_first ? boolean : f64));
  const Value out = builder.pointer("out", f64, true);
  builder.store(out, formula.emit(inputs));
  return builder.finish();
}

}  // namespace

std::optional<Word> single_word(const Emitted& formula) {
  const tile::Program program = traced(formula);
  std::optional<Word> found;
  for (const tile::Id id : program.body.body) {
    const auto& instruction = program[id];
    if (!tile::is_elementwise(instruction.word)) continue;
    if (found || instruction.operands.size() != formula.count) return std::nullopt;
    for (std::size_t k = 0; k < formula.count; ++k) {
      const auto& from = program[instruction.operands[k]];
      if (from.word != Word::Parameter || from.attribute != static_cast<std::int64_t>(k)) return std::nullopt;
    }
    found = instruction.word;
  }
  return found;
}

std::uint32_t used_inputs(const Emitted& formula) {
  const tile::Program program = traced(formula);
  std::uint32_t mask = 0;
  for (const auto& instruction : program.instructions) {
    for (const tile::Id operand : instruction.operands) {
      const auto& from = program[operand];
      if (from.word == Word::Parameter && from.attribute < static_cast<std::int64_t>(formula.count)) mask |= 1u << from.attribute;
    }
  }
  return mask;
}

bool keeps_zeros(const Emitted& formula) {
  const tile::Program program = traced(formula);
  std::vector<char> zero(program.instructions.size());
  bool result = false;
  for (const tile::Id id : program.body.body) {
    const auto& instruction = program[id];
    const auto is_zero = [&](std::size_t k) { return zero[static_cast<std::size_t>(instruction.operands[k])] != 0; };
    const auto is_number = [&](std::size_t k) {
      const auto& operand = program[instruction.operands[k]];
      return operand.word == Word::Constant && std::isfinite(operand.real);
    };
    char& own = zero[static_cast<std::size_t>(id)];
    switch (instruction.word) {
      case Word::Parameter: own = instruction.attribute == static_cast<std::int64_t>(formula.count) - 1; break;
      case Word::Constant: own = instruction.type.dtype == f64 && instruction.real == 0; break;
      case Word::Neg: own = is_zero(0); break;
      case Word::Add:
      case Word::Sub: own = is_zero(0) && is_zero(1); break;
      case Word::Mul: own = (is_zero(0) && (is_zero(1) || is_number(1))) || (is_number(0) && is_zero(1)); break;
      case Word::Select: own = is_zero(1) && is_zero(2); break;
      case Word::Store: result = is_zero(1); break;
      default: break;
    }
  }
  return result;
}

bool are_numbers(const Node& y, std::uint32_t used, std::size_t operands) {
  if (used >> operands & 1) return false;  // y itself
  for (std::size_t k = 0; k < operands; ++k) {
    if (!(used >> k & 1)) continue;
    const Op& op = y.inputs()[k]->op();
    if (op.role() != Role::Scalar) return false;
    const double number = static_cast<const ScalarOp&>(op).value().real();
    if (number == 0 || !std::isfinite(number)) return false;
  }
  return true;
}

Tensor scaled(const Tensor& dy, double number) {
  if (number == 1) return dy;
  return number == -1 ? -Arg(dy) : Arg(dy) * number;
}

Tensor build(const OpInfo& info, const Ref<const Op>& op, std::span<const Arg> operands) {
  const Making making;
  const Line& where = operands[0].loc;
  const bool chosen = info.operands == Operands::Chosen;
  const DType common = compared_as(info, result_type(info.name, chosen ? operands.subspan(1) : operands), operands);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType dtype = operand_dtype(info, common, i, where);
    if (operands[i].is_number()) inputs.push_back(graph::scalar(operands[i].value(), dtype, where));
    else inputs.push_back(graph::cast(operands[i].tensor(info.name), dtype, where));
  }
  const Shape shape = common_shape(info.name, inputs, where);
  for (Tensor& x : inputs) {
    if (x.rank() > 0) x = graph::expand(x, shape, where);
  }
  const DType dtype = has_boolean_result(info.operands) ? boolean : inputs.back().dtype();
  return make_node(op, inputs, shape, dtype, where);
}

}  // namespace tegula::formula

bool tegula::gives(formula::Operands operands, DType dtype) {
  if (operands == formula::Operands::Floats) return is_float(dtype);
  return operands != formula::Operands::Integers || !is_float(dtype);
}
