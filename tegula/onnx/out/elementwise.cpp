// Elementwise ops that have an operator, or are a short formula of such. All others are written by their own formula (formula.cpp).

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

// Dtypes that an operator takes, in all operator sets from 17 on.
constexpr unsigned kFloats = 1;  // f16, f32, f64
constexpr unsigned kIntegers = 2;  // i32, i64
constexpr unsigned kShort = 4;  // i8, i16
constexpr unsigned kUnsigned = 8;
constexpr unsigned kBooleans = 16;
constexpr unsigned kSigned = kFloats | kIntegers | kShort, kNumbers = kSigned | kUnsigned;
constexpr std::int64_t kNever = 1000;

/// An operator that computes what the op does, of the op's operands.
struct Counterpart {
  std::string_view op;
  const char* type;
  unsigned dtypes = kFloats;  // of the last operand
  std::int64_t bf16 = 13;  // the operator set from which on it takes that, too
  std::int64_t since = 17;
};

constexpr Counterpart kCounterparts[] = {
    {"add", "Add", kNumbers},
    {"subtract", "Sub", kNumbers},
    {"multiply", "Mul", kNumbers},
    {"divide", "Div"},
    {"negate", "Neg", kSigned},
    {"abs", "Abs", kNumbers},
    {"sign", "Sign", kNumbers},
    {"minimum", "Min", kNumbers},
    {"maximum", "Max", kNumbers},
    {"clamp_min", "Max", kNumbers},
    {"clamp_max", "Min", kNumbers},
    {"pow", "Pow", kFloats | kIntegers},
    {"reciprocal", "Reciprocal"},
    {"relu", "Relu", kSigned},
    {"exp", "Exp"},
    {"log", "Log"},
    {"sqrt", "Sqrt"},
    {"tanh", "Tanh"},
    {"sigmoid", "Sigmoid"},
    {"erf", "Erf"},
    {"floor", "Floor"},
    {"ceil", "Ceil"},
    {"round", "Round", kFloats, 22},
    {"sin", "Sin", kFloats, 22},
    {"cos", "Cos", kFloats, 22},
    {"tan", "Tan", kFloats, 22},
    {"asin", "Asin", kFloats, 22},
    {"acos", "Acos", kFloats, 22},
    {"atan", "Atan", kFloats, 22},
    {"sinh", "Sinh", kFloats, 22},
    {"cosh", "Cosh", kFloats, 22},
    {"asinh", "Asinh", kFloats, 22},
    {"acosh", "Acosh", kFloats, 22},
    {"atanh", "Atanh", kFloats, 22},
    {"softsign", "Softsign", kFloats, 22},
    {"mish", "Mish", kFloats, 22, 18},
    {"hardswish", "HardSwish", kFloats, 22},
    {"gelu", "Gelu", kFloats, 20, 20},
    {"equal", "Equal", kNumbers | kBooleans},
    {"less", "Less", kNumbers},
    {"less_equal", "LessOrEqual", kNumbers, 16},
    {"greater", "Greater", kNumbers},
    {"greater_equal", "GreaterOrEqual", kNumbers, 16},
    {"logical_and", "And", kBooleans, kNever},
    {"logical_or", "Or", kBooleans, kNever},
    {"logical_xor", "Xor", kBooleans, kNever},
    {"logical_not", "Not", kBooleans, kNever},
    {"bitwise_and", "BitwiseAnd", kIntegers | kShort | kUnsigned, kNever, 18},
    {"bitwise_or", "BitwiseOr", kIntegers | kShort | kUnsigned, kNever, 18},
    {"bitwise_xor", "BitwiseXor", kIntegers | kShort | kUnsigned, kNever, 18},
    {"bitwise_not", "BitwiseNot", kIntegers | kShort | kUnsigned, kNever, 18},
    {"isnan", "IsNaN"},
    {"where", "Where", kNumbers | kBooleans, 16},
};

bool takes(const Counterpart& one, DType dtype, std::int64_t opset) {
  if (opset < one.since || is_float8(dtype)) return false;
  if (dtype == bf16) return opset >= one.bf16;
  const unsigned kind = is_float(dtype)               ? kFloats
                        : dtype == boolean            ? kBooleans
                        : is_unsigned(dtype)          ? kUnsigned
                        : dtype == i8 || dtype == i16 ? kShort
                                                      : kIntegers;
  return (one.dtypes & kind) != 0;
}

/// Returns true if operators with attributes take the dtype in all operator sets, and their attributes, which are f32, say the number exactly.
bool is_plain(Site& site, double attribute = 0) {
  const DType dtype = site.result().dtype;
  return (dtype == f32 || dtype == f16 || dtype == f64) && fits_attribute(dtype, attribute);
}

void cast(Site& site) {
  if (site.input(0).dtype == site.result().dtype) return site.give_elementwise(site.loose(0));
  site.give_elementwise(site.out().cast(site.loose(0), site.result().dtype));
}

void sum_of_terms(Site& site) {
  std::string sum = site.loose(0);
  for (std::size_t i = 1; i < site.size(); ++i) sum = site.add("Add", {sum, site.loose(i)});
  site.give_elementwise(sum);
}

void square(Site& site) { site.give_elementwise(site.add("Mul", {site.loose(0), site.loose(0)})); }
void silu(Site& site) { site.give_elementwise(site.add("Mul", {site.loose(0), site.add("Sigmoid", {site.loose(0)})})); }
void rsqrt(Site& site) { site.give_elementwise(site.add("Reciprocal", {site.add("Sqrt", {site.loose(0)})})); }
void multiply_add(Site& site) { site.give_elementwise(site.add("Add", {site.add("Mul", {site.loose(0), site.loose(1)}), site.loose(2)})); }
void not_equal(Site& site) {
  if (is_float8(site.input(0).dtype)) return write_formula(site);
  site.give_elementwise(site.add("Not", {site.add("Equal", {site.loose(0), site.loose(1)})}));
}

/// x between two numbers. Clip with low > high is not ONNX's business; here high wins there, as it does in Min(Max(x, low), high).
void clamp(Site& site) {
  if (!site.numbers_fit()) return write_formula(site);
  const auto low = site.number(1), high = site.number(2);
  if (low && high && low->real() <= high->real()) return site.give_elementwise(site.add("Clip", {site.loose(0), site.in(1), site.in(2)}));
  site.give_elementwise(site.add("Min", {site.add("Max", {site.loose(0), site.loose(1)}), site.loose(2)}));
}

/// An operator with the second operand, a number, as an attribute.
template <const char* kType, const char* kAttribute>
void with_attribute(Site& site) {
  const auto number = site.number(1);
  if (!number || !is_plain(site, number->real())) return write_formula(site);
  site.give_elementwise(site.add(kType, {site.loose(0)}, {attribute(kAttribute, static_cast<float>(number->real()))}));
}
constexpr char kElu[] = "Elu", kAlpha[] = "alpha", kLeakyRelu[] = "LeakyRelu";

void leaky_relu(Site& site) {
  if (site.number(1)) return with_attribute<kLeakyRelu, kAlpha>(site);
  if (!is_plain(site)) return write_formula(site);
  site.give_elementwise(site.add("PRelu", {site.in(0), site.loose(1)}));
}

void celu(Site& site) {
  static constexpr char kCelu[] = "Celu";
  if (site.result().dtype != f32) return write_formula(site);
  with_attribute<kCelu, kAlpha>(site);
}

void selu(Site& site) {
  if (!is_plain(site, 0.1)) return write_formula(site);
  site.give_elementwise(site.add("Selu", {site.loose(0)}));
}

void hardsigmoid(Site& site) {
  if (!is_plain(site, 1.0 / 6)) return write_formula(site);
  site.give_elementwise(site.add("HardSigmoid", {site.loose(0)}, {attribute("alpha", 1.0f / 6), attribute("beta", 0.5f)}));
}

void softplus(Site& site) {
  const auto beta = site.number(1);
  if (!beta || beta->real() != 1 || !is_plain(site)) return write_formula(site);
  site.give_elementwise(site.add("Softplus", {site.loose(0)}));
}

template <bool kMovesTowardZero>
void shrink(Site& site) {
  const auto lambda = site.number(1);
  if (!lambda || !is_plain(site, lambda->real())) return write_formula(site);
  const auto size = static_cast<float>(lambda->real());
  site.give_elementwise(site.add("Shrink", {site.loose(0)}, {attribute("lambd", size), attribute("bias", kMovesTowardZero ? size : 0.0f)}));
}

void gelu_tanh(Site& site) {
  if (site.opset() < 20) return write_formula(site);
  site.give_elementwise(site.add("Gelu", {site.loose(0)}, {attribute("approximate", std::string("tanh"))}));
}

void isinf(Site& site) {
  const DType dtype = site.input(0).dtype;
  if (dtype != f32 && dtype != f64 && (site.opset() < 20 || is_float8(dtype))) return write_formula(site);
  site.give_elementwise(site.add("IsInf", {site.loose(0)}));
}

/// x where the condition holds (or does not), else 0.
template <bool kKept>
void where_or_zero(Site& site) {
  const std::string zero = site.out().number(0, site.result().dtype), x = site.loose(1);
  site.give_elementwise(site.add("Where", {site.loose(0), kKept ? x : zero, kKept ? zero : x}));
}

/// Writes a remainder with the sign of the divisor; 0 where that is 0.
void remainder(Site& site) {
  const auto divisor = site.number(1);
  if (!site.numbers_fit() || is_float(site.result().dtype) || !divisor || divisor->real() == 0) return write_formula(site);
  site.give_elementwise(site.add("Mod", {site.loose(0), site.loose(1)}));
}

/// Integers that Pow does not take are counted in wider ones, whose lowest bits are the same.
void power(Site& site) {
  const DType dtype = site.result().dtype;
  const bool is_short = !is_float(dtype) && size_of(dtype) < 4;
  if (!is_short || !site.numbers_fit()) {
    if (!write_by_operator(site)) write_formula(site);
    return;
  }
  const std::string y = site.add("Pow", {site.out().cast(site.loose(0), i32), site.out().cast(site.loose(1), i32)});
  site.give_elementwise(site.out().cast(y, dtype));
}

/// Bytes as the numbers of 4 bits in them. A constant becomes one of ONNX's type for such numbers, which operator set 21 has.
void unpack_int4(Site& site) {
  NodeList& out = site.out();
  const bool has_sign = site.described().flag("signed");
  const Result& result = site.result();
  const auto constant = site.opset() >= 21 ? out.constant_of(site.in(1)) : nullptr;
  if (constant) {
    const HostArray numbers = HostArray::empty(result.dtype, result.shape);
    const auto bytes = constant->array.values<std::uint8_t>();
    auto* const to = static_cast<std::uint8_t*>(numbers.size() > 0 ? numbers.buffer->data() : nullptr);
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      const unsigned half = bytes[static_cast<std::size_t>(i / 2)] >> (i % 2 * 4) & 15u;
      to[i] = static_cast<std::uint8_t>(has_sign && half > 7 ? half | 0xf0u : half);
    }
    return site.give(out.cast(out.constant(numbers, has_sign ? Type::Int4 : Type::Uint4), result.dtype));
  }
  const std::string bytes = out.cast(site.in(1), i32), base = out.number(std::int64_t{16}, i32);
  const auto column = [&](const char* type) { return site.add("Unsqueeze", {site.add(type, {bytes, base}), out.integers({-1})}); };
  std::string numbers = site.add("Concat", {column("Mod"), column("Div")}, {attribute("axis", std::int64_t{-1})});
  numbers = out.reshape(numbers, site.result_sizes());
  if (has_sign) {
    const std::string is_negative = site.add("Greater", {numbers, out.number(std::int64_t{7}, i32)});
    numbers = site.add("Where", {is_negative, site.add("Sub", {numbers, base}), numbers});
  }
  site.give(out.cast(numbers, result.dtype));
}

constexpr Word kWords[] = {
    {"unpack_int4", unpack_int4, true},
    {"cast", cast},
    {"pow", power},
    {"add_n", sum_of_terms},
    {"square", square},
    {"silu", silu},
    {"rsqrt", rsqrt},
    {"multiply_add", multiply_add},
    {"not_equal", not_equal},
    {"clamp", clamp},
    {"hardtanh", clamp},
    {"elu", with_attribute<kElu, kAlpha>},
    {"leaky_relu", leaky_relu},
    {"celu", celu},
    {"selu", selu},
    {"hardsigmoid", hardsigmoid},
    {"softplus", softplus},
    {"hardshrink", shrink<false>},
    {"softshrink", shrink<true>},
    {"gelu_tanh", gelu_tanh},
    {"isinf", isinf},
    {"kept_where", where_or_zero<true>},
    {"dropped_where", where_or_zero<false>},
    {"remainder", remainder},
};

}  // namespace

bool write_by_operator(Site& site) {
  const std::string_view op = site.node().op->class_name();
  if (!site.numbers_fit()) return false;
  for (const Counterpart& one : kCounterparts) {
    if (one.op != op || !takes(one, site.input(site.size() - 1).dtype, site.opset())) continue;
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < site.size(); ++i) inputs.push_back(site.loose(i));
    site.give_elementwise(site.add(one.type, std::move(inputs)));
    return true;
  }
  return false;
}

WordList elementwise_words() { return kWords; }

}  // namespace tegula::onnx
