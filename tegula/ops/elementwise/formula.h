#pragma once
// The vocabulary of formulas. A formula is written once, generic over its value type, and the type decides its meaning:
//   double            the reference of the tests                     this file; what libraries' formulas need: tile/formulas.h
//   tile::Value       words of the tile IR                           formula_value.h
//   Dual<T>           value and derivative, forward mode             dual.h
//   Tensor            primitives of the graph (second derivatives)   the public ops themselves
// Formulas live in this namespace, where the names below hide the public ops of the same name from doubles. Numbers in a formula are
// double literals; beside a value they take its dtype. Comparisons give the value type's mask, which `where`, &&, || and ! take.
// Internal: no public header includes this.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>

#include "tegula/graph/op.h"
#include "tegula/tile/formulas.h"

namespace tegula::formula {

using std::exp, std::exp2, std::expm1, std::log, std::log2, std::log1p, std::sqrt;
using std::lgamma, std::floor, std::ceil, std::trunc, std::pow, std::atan2, std::fmod, std::isnan, std::isinf;
using std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::asinh, std::acosh, std::atanh;

inline constexpr double kPi = std::numbers::pi;
inline constexpr double kLn2 = std::numbers::ln2;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Functions that std lacks, or defines otherwise.
inline double abs(double x) { return std::fabs(x); }
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline double round(double x) { return std::nearbyint(x); }
inline double sign(double x) { return static_cast<double>((x > 0) - (x < 0)); }
inline double sigmoid(double x) { return x >= 0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x)); }
double erfinv(double x);
double digamma(double x);

// Bits of integers held in doubles.
inline double bitwise_and(double a, double b) { return static_cast<double>(static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b)); }
inline double bitwise_or(double a, double b) { return static_cast<double>(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b)); }
inline double bitwise_xor(double a, double b) { return static_cast<double>(static_cast<std::int64_t>(a) ^ static_cast<std::int64_t>(b)); }
inline double left_shift(double a, double b) { return std::ldexp(a, static_cast<int>(b)); }
inline double right_shift(double a, double b) { return static_cast<double>(static_cast<std::int64_t>(a) >> static_cast<std::int64_t>(b)); }

/// A number as a value of the type (and dtype) of another: where neither branch of a `where` is a value.
inline double like(double number, double) { return number; }

/// Position of an input, to choose among a formula's derivatives.
template <int I>
struct Input {};

/// The conversion of an op's operands, and its result.
enum class Operands : std::uint8_t {
  Numbers,    // the common dtype; booleans are refused
  Floats,     // the common dtype, integers and booleans as f32
  Compared,   // the common dtype; boolean result
  Ordered,    // Compared, with booleans as 0 and 1
  Logical,    // as booleans; boolean result
  Bits,       // integers or booleans of the common dtype
  Integers,   // integers of the common dtype
  Classified, // floats as they are; boolean result
  Chosen,     // the first as boolean, the others of their common dtype, which may be any
};

/// True for ops that compare, choose and classify.
constexpr bool takes_float8(Operands operands) {
  return operands == Operands::Compared || operands == Operands::Ordered || operands == Operands::Classified ||
         operands == Operands::Chosen;
}

/// A formula's description of itself: `static constexpr OpInfo info{"gelu", "x * Phi(x)"};`.
struct OpInfo {
  const char* name;
  const char* meaning;
  Operands operands = Operands::Floats;
  Numerics numerics = Numerics::Either;
};

}  // namespace tegula::formula
