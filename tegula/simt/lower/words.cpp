// One element of a word from the elements of its operands.

#include <algorithm>
#include <cstdio>

#include "tegula/core/error.h"
#include "tegula/simt/lower/lowering.h"
#include "tegula/simt/text_hash.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Id;
using tile::Word;

namespace {

/// Functions of CUDA, of doubles and of floats.
struct MathFunction {
  const char* name = nullptr;
  const char* of_floats = nullptr;
};
MathFunction math_function(Word word) {
  switch (word) {
    case Word::Floor: return {"floor", "floorf"};
    case Word::Ceil: return {"ceil", "ceilf"};
    case Word::Round: return {"rint", "rintf"};
    case Word::Trunc: return {"trunc", "truncf"};
    case Word::Sqrt: return {"sqrt", "sqrtf"};
    case Word::Rsqrt: return {"rsqrt", "rsqrtf"};
    case Word::Exp: return {"exp", "expf"};
    case Word::Exp2: return {"exp2", "exp2f"};
    case Word::Expm1: return {"expm1", "expm1f"};
    case Word::Log: return {"log", "logf"};
    case Word::Log2: return {"log2", "log2f"};
    case Word::Log1p: return {"log1p", "log1pf"};
    case Word::Sin: return {"sin", "sinf"};
    case Word::Cos: return {"cos", "cosf"};
    case Word::Tan: return {"tan", "tanf"};
    case Word::Asin: return {"asin", "asinf"};
    case Word::Acos: return {"acos", "acosf"};
    case Word::Atan: return {"atan", "atanf"};
    case Word::Sinh: return {"sinh", "sinhf"};
    case Word::Cosh: return {"cosh", "coshf"};
    case Word::Tanh: return {"tanh", "tanhf"};
    case Word::Asinh: return {"asinh", "asinhf"};
    case Word::Acosh: return {"acosh", "acoshf"};
    case Word::Atanh: return {"atanh", "atanhf"};
    case Word::Erf: return {"erf", "erff"};
    case Word::Erfinv: return {"erfinv", "erfinvf"};
    case Word::Pow: return {"pow", "powf"};
    case Word::Atan2: return {"atan2", "atan2f"};
    case Word::Rem: return {"fmod", "fmodf"};
    case Word::Fma: return {"fma", "fmaf"};
    default: return {};
  }
}

/// Functions of the prelude, overloaded for every type.
const char* own_function(Word word) {
  switch (word) {
    case Word::Abs: return "magnitude";
    case Word::Sign: return "sign_of";
    case Word::Popcount: return "bits_set";
    case Word::Sigmoid: return "sigmoid";
    case Word::Lgamma: return "log_gamma";
    case Word::Digamma: return "digamma";
    case Word::IsNan: return "is_nan";
    case Word::IsInf: return "is_infinite";
    case Word::Min: return "smaller";
    case Word::Max: return "larger";
    case Word::Div: return "divided";
    case Word::Rem: return "remainder_of";
    case Word::Shl: return "shifted_left";
    case Word::MulHi: return "upper_half";
    case Word::RandomBits: return "philox_word";
    default: return nullptr;
  }
}

const char* operator_of(Word word) {
  switch (word) {
    case Word::Add: return "+";
    case Word::Sub: return "-";
    case Word::Mul: return "*";
    case Word::Div: return "/";
    case Word::And: return "&";
    case Word::Or: return "|";
    case Word::Xor: return "^";
    case Word::Shr: return ">>";
    case Word::Eq: return "==";
    case Word::Ne: return "!=";
    case Word::Lt: return "<";
    case Word::Le: return "<=";
    case Word::Gt: return ">";
    case Word::Ge: return ">=";
    default: return nullptr;
  }
}

}  // namespace

std::string function_name(const tile::Text& text) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "asm_%016llx", static_cast<unsigned long long>(text_hash(text.text + "\n" + text.constraints)));
  return digits;
}

Expression Lowering::word(Id id, Spread loops) {
  const tile::Instruction& self = at(id);
  const tile::Type first = self.operands.empty() ? tile::Type{} : a_.type(self.operands[0]);
  const bool real = is_float(first.dtype) && !first.pointer;
  const auto x = [&](std::size_t i) { return element(self.operands[i], loops); };
  const auto call = [&](Name function) {
    simt::Expressions operands;
    operands.reserve(self.operands.size());
    for (std::size_t i = 0; i < self.operands.size(); ++i) operands.push_back(x(i));
    return simt::call(function, std::move(operands));
  };
  switch (self.word) {
    case Word::Neg: return simt::unary("-", x(0));
    case Word::Not: return simt::unary(first.dtype == DType::boolean ? "!" : "~", x(0));
    case Word::Select: return simt::choose(x(0), x(1), x(2));
    case Word::Cast:
      return self.type.dtype == DType::boolean ? simt::binary(x(0), "!=", 0) : simt::cast(simt::computed(self.type.dtype), x(0));
    case Word::InlineAsm: return call(function_name(a_.program().texts[static_cast<std::size_t>(self.attribute)]));
    case Word::Narrow: return simt::rounded(static_cast<DType>(self.attribute), x(0));
    case Word::Bitcast: return simt::call("same_bits", x(0), simt::zero(self.type.dtype));
    case Word::Fma:
      if (!real) return x(0) * x(1) + x(2);
      break;
    case Word::And:
    case Word::Or:
      if (first.dtype == DType::boolean) return simt::binary(x(0), self.word == Word::And ? "&&" : "||", x(1));
      break;
    case Word::Xor:
      if (first.dtype == DType::boolean) return simt::binary(x(0), "!=", x(1));
      break;
    default: break;
  }
  const Digits digits = decided_.digits[static_cast<std::size_t>(id)];
  // One reciprocal for a row (or for all) instead of a division for each element: the compiler takes it out of the loops.
  if (self.word == Word::Div && first.dtype == DType::f32 && repeated(self.operands[1], loops)) {
    if (digits == Digits::All) return call("quotient");
    return x(0) * simt::call("reciprocal", x(1)) * simt::call("reach", x(1));
  }
  if ((self.word == Word::Eq || self.word == Word::Ne) && !first.pointer && first.dtype == DType::i64) {
    for (const std::size_t i : {0u, 1u}) {  // a coordinate and a value for the row: in 32 bits
      if (counts_columns(self.operands[i], loops) && repeated(self.operands[1 - i], loops))
        return simt::binary("col", operator_of(self.word), simt::call("place_of", x(1 - i)));
    }
  }
  if (first.dtype == DType::f32 && digits != Digits::All) {
    if (self.word == Word::Exp) return call("quick_exp");
    if (self.word == Word::Exp2) return call("quick_exp2");
    if (self.word == Word::Sigmoid) return call("quick_sigmoid");
    if (self.word == Word::Tanh && digits == Digits::Brief) return call("quick_tanh");
    if (self.word == Word::Erf) return call(digits == Digits::Brief ? "quick_erf" : "fine_erf");
  }
  const bool float_only = self.word == Word::Rem;
  if (const MathFunction function = math_function(self.word); function.name != nullptr && (real || !float_only))
    return call(first.dtype == DType::f32 ? function.of_floats : function.name);
  if ((self.word == Word::Div || self.word == Word::Rem) && first.dtype == DType::i64 &&
      std::max(a_.bits(self.operands[0]), a_.bits(self.operands[1])) <= 32) {
    return call(self.word == Word::Div ? "divided_short" : "remainder_short");
  }
  const bool integer_only = self.word == Word::Div;
  if (const char* function = own_function(self.word); function != nullptr && !(integer_only && real)) return call(function);
  if (const char* sign = operator_of(self.word)) return simt::binary(x(0), sign, x(1));
  throw Error({.op = "cuda",
               .got = "the tile word " + std::string(tile::name(self.word)),
               .expected = "one that works element by element",
               .where = self.where});
}

}  // namespace tegula::gpu
