#include "tegula/tile/scalar_words.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/special.h"

namespace tegula::tile {
namespace {

using Signed = std::int64_t;
using Unsigned = std::uint64_t;
__extension__ using Wide = unsigned __int128;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double float_unary(Word word, double x) {
  switch (word) {
    case Word::Neg: return -x;
    case Word::Abs: return std::abs(x);
    case Word::Sign: return static_cast<double>((x > 0) - (x < 0));
    case Word::Floor: return std::floor(x);
    case Word::Ceil: return std::ceil(x);
    case Word::Round: return std::nearbyint(x);
    case Word::Trunc: return std::trunc(x);
    case Word::Sqrt: return std::sqrt(x);
    case Word::Rsqrt: return 1 / std::sqrt(x);
    case Word::Exp: return std::exp(x);
    case Word::Exp2: return std::exp2(x);
    case Word::Expm1: return std::expm1(x);
    case Word::Log: return std::log(x);
    case Word::Log2: return std::log2(x);
    case Word::Log1p: return std::log1p(x);
    case Word::Sin: return std::sin(x);
    case Word::Cos: return std::cos(x);
    case Word::Tan: return std::tan(x);
    case Word::Asin: return std::asin(x);
    case Word::Acos: return std::acos(x);
    case Word::Atan: return std::atan(x);
    case Word::Sinh: return std::sinh(x);
    case Word::Cosh: return std::cosh(x);
    case Word::Tanh: return std::tanh(x);
    case Word::Asinh: return std::asinh(x);
    case Word::Acosh: return std::acosh(x);
    case Word::Atanh: return std::atanh(x);
    case Word::Erf: return std::erf(x);
    case Word::Erfinv: return special::erfinv(x);
    case Word::Sigmoid: return special::sigmoid(x);
    case Word::Lgamma: return special::log_gamma(x);
    case Word::Digamma: return special::digamma(x);
    default: throw Error({.op = "interpreter", .got = std::string(name(word)), .expected = "a word of one float"});
  }
}

double float_binary(Word word, double a, double b) {
  switch (word) {
    case Word::Add: return a + b;
    case Word::Sub: return a - b;
    case Word::Mul: return a * b;
    case Word::Div: return a / b;
    case Word::Rem: return std::fmod(a, b);
    case Word::Min: return std::isnan(a) || std::isnan(b) ? kNaN : std::fmin(a, b);
    case Word::Max: return std::isnan(a) || std::isnan(b) ? kNaN : std::fmax(a, b);
    case Word::Pow: return std::pow(a, b);
    case Word::Atan2: return std::atan2(a, b);
    default: throw Error({.op = "interpreter", .got = std::string(name(word)), .expected = "a word of two floats"});
  }
}

Signed integer_unary(Word word, Signed x, DType dtype) {
  switch (word) {
    case Word::Neg: return static_cast<Signed>(0 - static_cast<Unsigned>(x));
    case Word::Abs: return x < 0 && !is_unsigned(dtype) ? static_cast<Signed>(0 - static_cast<Unsigned>(x)) : x;
    case Word::Sign: return is_unsigned(dtype) ? x != 0 : (x > 0) - (x < 0);
    case Word::Not: return dtype == boolean ? !x : ~x;
    case Word::Popcount: return std::popcount(size_of(dtype) == 4 ? static_cast<Unsigned>(x) & 0xffffffffu : static_cast<Unsigned>(x));
    default: throw Error({.op = "interpreter", .got = std::string(name(word)), .expected = "a word of one integer"});
  }
}

/// For two u64 numbers: the words that differ from i64's.
Signed unsigned_binary(Word word, Unsigned a, Unsigned b) {
  switch (word) {
    case Word::Div: return static_cast<Signed>(b == 0 ? 0 : a / b);
    case Word::Rem: return static_cast<Signed>(b == 0 ? 0 : a % b);
    case Word::Min: return static_cast<Signed>(a < b ? a : b);
    case Word::Max: return static_cast<Signed>(a > b ? a : b);
    default: return static_cast<Signed>(a >> b % 64);  // Shr
  }
}

bool depends_on_sign(Word word) {
  return word == Word::Div || word == Word::Rem || word == Word::Min || word == Word::Max || word == Word::Shr;
}

/// Numbers of u32 come as those of i64.
Signed integer_binary(Word word, Signed a, Signed b, DType dtype) {
  if (dtype == u64 && depends_on_sign(word)) return unsigned_binary(word, static_cast<Unsigned>(a), static_cast<Unsigned>(b));
  const auto ua = static_cast<Unsigned>(a), ub = static_cast<Unsigned>(b);
  const unsigned amount = static_cast<unsigned>(b) % (8 * static_cast<unsigned>(size_of(dtype)));
  switch (word) {
    case Word::Add: return static_cast<Signed>(ua + ub);
    case Word::Sub: return static_cast<Signed>(ua - ub);
    case Word::Mul: return static_cast<Signed>(ua * ub);
    case Word::Div: return b == 0 ? 0 : b == -1 ? static_cast<Signed>(0 - ua) : a / b;
    case Word::Rem: return b == 0 || b == -1 ? 0 : a % b;
    case Word::Min: return a < b ? a : b;
    case Word::Max: return a > b ? a : b;
    case Word::And: return a & b;
    case Word::Or: return a | b;
    case Word::Xor: return a ^ b;
    case Word::Shl: return static_cast<Signed>(ua << amount);
    case Word::Shr: return a >> amount;
    case Word::MulHi:
      if (size_of(dtype) == 8) return static_cast<Signed>(static_cast<Wide>(ua) * ub >> 64);
      return static_cast<Signed>((ua & 0xffffffffu) * (ub & 0xffffffffu) >> 32);
    default: throw Error({.op = "interpreter", .got = std::string(name(word)), .expected = "a word of two integers"});
  }
}

template <class T>
bool compare(Word word, T a, T b) {
  switch (word) {
    case Word::Eq: return a == b;
    case Word::Ne: return a != b;
    case Word::Lt: return a < b;
    case Word::Le: return a <= b;
    case Word::Gt: return a > b;
    default: return a >= b;
  }
}

/// The end of the dtype's range that is nearer, for what lies beyond it; 0 for NaN.
template <class T>
Signed limited(double x) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(x)) return 0;
  if (x < static_cast<double>(Limits::min())) return static_cast<Signed>(Limits::min());
  if (x >= std::ldexp(1.0, Limits::digits)) return static_cast<Signed>(Limits::max());
  return static_cast<Signed>(static_cast<T>(x));
}

Scalar cast(Scalar x, DType from, DType to) {
  if (to == f32 && !is_float(from))  // rounded once
    return {static_cast<double>(from == u64 ? static_cast<float>(static_cast<Unsigned>(x.integer)) : static_cast<float>(x.integer)), 0};
  if (is_float(to))
    return {is_float(from) ? x.real
            : from == u64  ? static_cast<double>(static_cast<Unsigned>(x.integer))
                           : static_cast<double>(x.integer),
            0};
  if (to == boolean) return {0, is_float(from) ? x.real != 0 : x.integer != 0};
  if (!is_float(from)) return x;
  switch (to) {
    case i32: return {0, limited<std::int32_t>(x.real)};
    case u32: return {0, limited<std::uint32_t>(x.real)};
    case u64: return {0, limited<std::uint64_t>(x.real)};
    default: return {0, limited<std::int64_t>(x.real)};
  }
}

Scalar narrow(Scalar x, DType stored) {
  return visit(stored, [&](auto zero) -> Scalar {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return {0, static_cast<Signed>(static_cast<T>(x.integer))};
    else return {as_double(from_double<T>(x.real)), 0};
  });
}

Scalar bitcast(Scalar x, DType from, DType to) {
  if (is_float(from) == is_float(to)) return x;
  if (from == f32) return {0, std::bit_cast<std::int32_t>(static_cast<float>(x.real))};
  if (from == f64) return {0, std::bit_cast<Signed>(x.real)};
  if (to == f32) return {static_cast<double>(std::bit_cast<float>(static_cast<std::int32_t>(x.integer))), 0};
  return {std::bit_cast<double>(x.integer), 0};
}

Scalar fma(const Scalar* x, DType dtype) {
  if (dtype == f64) return {std::fma(x[0].real, x[1].real, x[2].real), 0};
  return {static_cast<double>(std::fma(static_cast<float>(x[0].real), static_cast<float>(x[1].real), static_cast<float>(x[2].real))), 0};
}

}  // namespace

Scalar rounded(Scalar value, DType dtype) {
  if (dtype == f32) value.real = static_cast<double>(static_cast<float>(value.real));
  if (dtype == i32) value.integer = static_cast<std::int32_t>(value.integer);
  if (dtype == u32) value.integer = static_cast<std::uint32_t>(value.integer);
  return value;
}

bool comes_before(Scalar a, Scalar b, DType dtype) {
  if (dtype == u64) return static_cast<Unsigned>(a.integer) < static_cast<Unsigned>(b.integer);
  if (!is_float(dtype)) return a.integer < b.integer;
  if (std::isnan(a.real)) return false;
  return std::isnan(b.real) || a.real < b.real;
}

Scalar evaluate(Word word, DType from, DType to, std::int64_t attribute, const Scalar* x) {
  switch (word) {
    case Word::IsNan: return {0, std::isnan(x[0].real)};
    case Word::IsInf: return {0, std::isinf(x[0].real)};
    case Word::Select: return x[0].integer ? x[1] : x[2];
    case Word::Fma: return fma(x, to);
    case Word::Cast: return rounded(cast(x[0], from, to), to);
    case Word::Narrow: return narrow(x[0], static_cast<DType>(attribute));
    case Word::Bitcast: return rounded(bitcast(x[0], from, to), to);
    default: break;
  }
  if (word >= Word::Eq && word <= Word::Ge && from == u64)
    return {0, compare(word, static_cast<Unsigned>(x[0].integer), static_cast<Unsigned>(x[1].integer))};
  if (word >= Word::Eq && word <= Word::Ge)
    return {0, is_float(from) ? compare(word, x[0].real, x[1].real) : compare(word, x[0].integer, x[1].integer)};
  const bool one = word <= Word::IsInf;
  if (is_float(from)) return rounded({one ? float_unary(word, x[0].real) : float_binary(word, x[0].real, x[1].real), 0}, to);
  return rounded({0, one ? integer_unary(word, x[0].integer, from) : integer_binary(word, x[0].integer, x[1].integer, from)}, to);
}

}  // namespace tegula::tile
