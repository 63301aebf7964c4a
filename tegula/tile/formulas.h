#pragma once
// Formulas that libraries have as epilogues, written once over any value type of formulas (ops/elementwise/formula.h): the ops use them, and devices
// compare an epilogue with the words that they print (runtime/expression.h).

#include <cmath>
#include <numbers>

#include "tegula/tile/builder.h"

namespace tegula::formula {

// Of the vocabulary (ops/elementwise/formula.h), the part that the formulas below use.
using std::erf, std::tanh;
inline double minimum(double a, double b) { return a != a || a < b ? a : b; }
inline double maximum(double a, double b) { return a != a || a > b ? a : b; }
inline double where(bool condition, double a, double b) { return condition ? a : b; }
inline tile::Value erf(tile::Value x) { return unary(tile::Word::Erf, x); }
inline tile::Value tanh(tile::Value x) { return unary(tile::Word::Tanh, x); }
// clang-format off: one word a line
template <class A, class B> requires tile::Operands<A, B> tile::Value minimum(A a, B b) { return binary_lifted(tile::Word::Min, a, b); }
template <class A, class B> requires tile::Operands<A, B> tile::Value maximum(A a, B b) { return binary_lifted(tile::Word::Max, a, b); }
// clang-format on
template <class A, class B>
requires tile::Operands<A, B>
tile::Value where(tile::Value condition, A a, B b) {
  if constexpr (std::same_as<A, tile::Value>) return select(condition, a, tile::lift(b, a));
  else return select(condition, tile::lift(a, b), b);
}

namespace known {

/// A NaN stays one.
template <class T>
T relu(T x) {
  return where(x <= 0.0, 0.0, x);
}

/// x Φ(x).
template <class T>
T gelu(T x) {
  return 0.5 * x * (1.0 + erf(x * (1.0 / std::numbers::sqrt2)));
}

inline constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
inline constexpr double kCube = 0.044715;

/// gelu's tanh form.
template <class T>
T gelu_tanh(T x) {
  return 0.5 * x * (1.0 + tanh(kSqrt2OverPi * (x + kCube * x * x * x)));
}
/// Its derivative.
template <class T>
T gelu_tanh_slope(T x) {
  const T u = minimum(maximum(x, -30.0), 30.0);  // beyond, tanh is 1; the square of x may overflow
  const T t = tanh(kSqrt2OverPi * (u + kCube * u * u * u));
  return 0.5 * (1.0 + t) + 0.5 * u * ((1.0 - t * t) * (kSqrt2OverPi * (1.0 + (3.0 * kCube) * u * u)));
}

}  // namespace known
}  // namespace tegula::formula
