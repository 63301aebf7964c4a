// Any elementwise op by the words of its own formula, as the device would run it: in the formula's dtype, rounded to the node's at the end.

#include <array>
#include <numbers>

#include "tegula/core/rounded.h"
#include "tegula/onnx/out/words.h"
#include "tegula/tile/builder.h"

namespace tegula::onnx {
namespace {

using tile::Instruction;

/// A word that is one operator for all dtypes in which formulas compute.
const char* operator_of(tile::Word word) {
  switch (word) {
    case tile::Word::Neg: return "Neg";
    case tile::Word::Abs: return "Abs";
    case tile::Word::Sign: return "Sign";
    case tile::Word::Floor: return "Floor";
    case tile::Word::Ceil: return "Ceil";
    case tile::Word::Round: return "Round";
    case tile::Word::Sqrt: return "Sqrt";
    case tile::Word::Exp: return "Exp";
    case tile::Word::Log: return "Log";
    case tile::Word::Sin: return "Sin";
    case tile::Word::Cos: return "Cos";
    case tile::Word::Tan: return "Tan";
    case tile::Word::Asin: return "Asin";
    case tile::Word::Acos: return "Acos";
    case tile::Word::Atan: return "Atan";
    case tile::Word::Sinh: return "Sinh";
    case tile::Word::Cosh: return "Cosh";
    case tile::Word::Tanh: return "Tanh";
    case tile::Word::Asinh: return "Asinh";
    case tile::Word::Acosh: return "Acosh";
    case tile::Word::Atanh: return "Atanh";
    case tile::Word::Erf: return "Erf";
    case tile::Word::Sigmoid: return "Sigmoid";
    case tile::Word::IsNan: return "IsNaN";
    case tile::Word::IsInf: return "IsInf";
    case tile::Word::Add: return "Add";
    case tile::Word::Sub: return "Sub";
    case tile::Word::Mul: return "Mul";
    case tile::Word::Min: return "Min";
    case tile::Word::Max: return "Max";
    case tile::Word::Pow: return "Pow";
    case tile::Word::Eq: return "Equal";
    case tile::Word::Lt: return "Less";
    case tile::Word::Le: return "LessOrEqual";
    case tile::Word::Gt: return "Greater";
    case tile::Word::Ge: return "GreaterOrEqual";
    case tile::Word::Select: return "Where";
    default: return nullptr;
  }
}

class Formula {
 public:
  explicit Formula(Site& site) : site_(site) {}

  void write() {
    tile::Builder builder("onnx");
    std::vector<tile::Value> x;
    for (std::size_t i = 0; i < site_.size(); ++i)
      x.push_back(builder.scalar("x" + std::to_string(i), tile::compute_type(site_.input(i).dtype)));
    const DType dtype = site_.result().dtype;
    const tile::Value y = static_cast<const ElementwiseOp&>(*site_.node().op).emit(builder, x, dtype);
    const auto& instructions = builder.program().instructions;
    std::vector<bool> needed(instructions.size());
    needed[static_cast<std::size_t>(y.id())] = true;
    for (std::size_t id = instructions.size(); id-- > 0;) {
      if (!needed[id]) continue;
      for (const tile::Id operand : instructions[id].operands) needed[static_cast<std::size_t>(operand)] = true;
    }
    values_.resize(instructions.size());
    dtypes_.resize(instructions.size());
    for (std::size_t id = 0; id < instructions.size(); ++id) {
      if (!needed[id]) continue;
      dtypes_[id] = instructions[id].type.dtype;
      values_[id] = value(instructions[id]);
    }
    const auto last = static_cast<std::size_t>(y.id());
    site_.give_elementwise(dtypes_[last] == dtype ? values_[last] : out().cast(values_[last], dtype), reads_);
  }

 private:
  NodeList& out() { return site_.out(); }
  const std::string& operand(const Instruction& one, std::size_t k) { return values_[static_cast<std::size_t>(one.operands[k])]; }
  DType operand_dtype(const Instruction& one, std::size_t k) const { return dtypes_[static_cast<std::size_t>(one.operands[k])]; }
  std::string number(double value, DType dtype) { return out().number(value, dtype); }

  [[noreturn]] void refuse(const Instruction& one, const std::string& advice = "") {
    site_.refuse("whose formula has the word " + std::string(tile::name(one.word)) + " of " + std::string(name(one.type.dtype)), advice);
  }

  std::string parameter(const Instruction& one) {
    const auto i = static_cast<std::size_t>(one.attribute);
    if (i >= 64) site_.refuse("of more than 64 operands");
    reads_ |= std::uint64_t{1} << i;
    const DType dtype = site_.input(i).dtype, compute = tile::compute_type(dtype);
    if (const auto known = site_.number(i)) return out().number(*known, compute);
    return compute == dtype ? site_.loose(i) : out().cast(site_.loose(i), compute);
  }

  std::string value(const Instruction& one) {
    const DType dtype = one.type.dtype;
    const auto x = [&](std::size_t k) { return operand(one, k); };
    switch (one.word) {
      case tile::Word::Parameter: return parameter(one);
      case tile::Word::Constant: return out().number(is_float(dtype) ? Number(one.real) : Number(one.integer), dtype);
      case tile::Word::Hint: return x(0);
      case tile::Word::Cast: return out().cast(x(0), dtype);
      case tile::Word::Narrow: return out().cast(out().cast(x(0), static_cast<DType>(one.attribute)), dtype);
      case tile::Word::Trunc:
        return out().add("Where", {out().add("Less", {x(0), number(0, dtype)}), out().add("Ceil", {x(0)}), out().add("Floor", {x(0)})});
      case tile::Word::Rsqrt: return out().add("Reciprocal", {out().add("Sqrt", {x(0)})});
      case tile::Word::Exp2: return out().add("Pow", {number(2, dtype), x(0)});
      case tile::Word::Log2: return out().add("Mul", {out().add("Log", {x(0)}), number(std::numbers::log2e, dtype)});
      case tile::Word::Expm1: return expm1(x(0), dtype);
      case tile::Word::Log1p: return log1p(x(0), dtype);
      case tile::Word::Atan2: return atan2(x(0), x(1), dtype);
      case tile::Word::Ne: return out().add("Not", {out().add("Equal", {x(0), x(1)})});
      case tile::Word::Fma: return out().add("Add", {out().add("Mul", {x(0), x(1)}), x(2)});
      case tile::Word::Neg:
        if (is_unsigned(dtype)) return out().add("Sub", {number(0, dtype), x(0)});
        break;
      case tile::Word::Div:
        if (is_float(dtype)) return out().add("Div", {x(0), x(1)});
        return unless_zero("Div", x(0), x(1), dtype, {});
      case tile::Word::Rem:
        if (is_float(dtype)) return out().add("Mod", {x(0), x(1)}, {attribute("fmod", std::int64_t{1})});
        return unless_zero("Mod", x(0), x(1), dtype, {attribute("fmod", std::int64_t{1})});
      case tile::Word::Not:
        if (dtype == boolean) return out().add("Not", {x(0)});
        return bitwise(one, "BitwiseNot", {x(0)});
      case tile::Word::And: return dtype == boolean ? out().add("And", {x(0), x(1)}) : bitwise(one, "BitwiseAnd", {x(0), x(1)});
      case tile::Word::Or: return dtype == boolean ? out().add("Or", {x(0), x(1)}) : bitwise(one, "BitwiseOr", {x(0), x(1)});
      case tile::Word::Xor: return dtype == boolean ? out().add("Xor", {x(0), x(1)}) : bitwise(one, "BitwiseXor", {x(0), x(1)});
      case tile::Word::Shl: return shift(x(0), x(1), dtype, "LEFT");
      case tile::Word::Shr: return shifted_right(one);
      case tile::Word::Lt:
      case tile::Word::Le:
      case tile::Word::Gt:
      case tile::Word::Ge:
        if (operand_dtype(one, 0) == boolean) return out().add(operator_of(one.word), {out().cast(x(0), i32), out().cast(x(1), i32)});
        break;
      default: break;
    }
    const char* const type = operator_of(one.word);
    if (!type) refuse(one);
    std::vector<std::string> operands;
    for (std::size_t k = 0; k < one.operands.size(); ++k) operands.push_back(x(k));
    return out().add(type, std::move(operands));
  }

  /// tanh(x / 2) (exp(x) + 1): exact near 0, and right where exp(x) is no number. At infinity both factors are right.
  std::string expm1(const std::string& x, DType dtype) {
    const std::string half = out().add("Mul", {x, number(0.5, dtype)});
    return out().add("Mul", {out().add("Tanh", {half}), out().add("Add", {out().add("Exp", {x}), number(1, dtype)})});
  }
  /// 2 atanh(x / (2 + x)) near 0, log(1 + x) elsewhere.
  std::string log1p(const std::string& x, DType dtype) {
    const std::string ratio = out().add("Div", {x, out().add("Add", {x, number(2, dtype)})});
    const std::string near = out().add("Mul", {out().add("Atanh", {ratio}), number(2, dtype)});
    const std::string far = out().add("Log", {out().add("Add", {x, number(1, dtype)})});
    return out().add("Where", {out().add("Less", {out().add("Abs", {x}), number(0.5, dtype)}), near, far});
  }
  /// The angle of (x, y).
  std::string atan2(const std::string& y, const std::string& x, DType dtype) {
    const std::string zero = number(0, dtype), angle = out().add("Atan", {out().add("Div", {y, x})});
    const std::string half =
        out().add("Where", {out().add("Less", {y, zero}), number(-std::numbers::pi, dtype), number(std::numbers::pi, dtype)});
    const std::string left = out().add("Where", {out().add("Less", {x, zero}), out().add("Add", {angle, half}), angle});
    const std::string neither = out().add("And", {out().add("Equal", {x, zero}), out().add("Equal", {y, zero})});
    return out().add("Where", {neither, zero, left});
  }
  std::string unless_zero(const char* type, const std::string& a, const std::string& b, DType dtype, std::vector<Attribute> attributes) {
    const std::string is_zero = out().add("Equal", {b, number(0, dtype)});
    const std::string safe = out().add("Where", {is_zero, number(1, dtype), b});
    return out().add("Where", {is_zero, number(0, dtype), out().add(type, {a, safe}, std::move(attributes))});
  }
  std::string bitwise(const Instruction& one, const char* type, std::vector<std::string> operands) {
    if (out().opset() < 18) refuse(one, "operator set 18 has it: onnx::save(path, {.opset = 18}, f, x)");
    return out().add(type, std::move(operands));
  }
  /// BitShift takes unsigned integers.
  std::string shift(const std::string& x, const std::string& by, DType dtype, const char* direction) {
    const DType bits = size_of(dtype) == 8 ? u64 : u32;
    const bool is_signed = !is_unsigned(dtype);
    const std::string a = is_signed ? out().cast(x, bits) : x, b = is_signed ? out().cast(by, bits) : by;
    const std::string y = out().add("BitShift", {a, b}, {attribute("direction", std::string(direction))});
    return is_signed ? out().cast(y, dtype) : y;
  }
  /// Shifts to the right. The bits that come into a negative number are ones: those of its complement are zeros.
  std::string shifted_right(const Instruction& one) {
    const DType dtype = one.type.dtype;
    const std::string x = operand(one, 0), by = operand(one, 1);
    if (is_unsigned(dtype)) return shift(x, by, dtype, "RIGHT");
    const std::string is_negative = out().add("Less", {x, number(0, dtype)});
    const std::string size = out().add("Where", {is_negative, bitwise(one, "BitwiseNot", {x}), x});
    const std::string y = shift(size, by, dtype, "RIGHT");
    return out().add("Where", {is_negative, bitwise(one, "BitwiseNot", {y}), y});
  }

  Site& site_;
  std::vector<std::string> values_;
  std::vector<DType> dtypes_;
  std::uint64_t reads_ = 0;  // operands that the value is made of
};

}  // namespace

void write_formula(Site& site) { Formula(site).write(); }

}  // namespace tegula::onnx
