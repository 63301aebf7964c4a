#pragma once
// Forward-mode differentiation: a value together with its derivative along one direction. The rules of calculus for the whole
// vocabulary stand here, once. A known constant (above all 0 and 1) is a flag, not a value: x * 0 therefore disappears here, while
// neither the graph nor the tile IR may ever drop it.

#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/formula_value.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"

namespace tegula::formula {

inline Tensor like(double number, const Tensor& x) { return graph::scalar(number, x.dtype()); }

/// A derivative: a number known while the formula is written, or a value.
template <class T>
struct Tangent {
  double number = 0;
  bool known = true;
  T value{};

  static Tangent of(T value) { return {0, false, std::move(value)}; }
  static Tangent constant(double number) { return {number, true, T{}}; }
  bool is_zero() const { return known && number == 0; }
};

template <class T>
struct Dual {
  T value{};
  Tangent<T> tangent = {};
};

/// The tangent as a value of x's type.
template <class T>
T materialized(const Tangent<T>& t, const T& x) {
  return t.known ? like(t.number, x) : t.value;
}

template <class T>
Dual<T> like(double number, const Dual<T>& x) {
  return {like(number, x.value), {}};
}

// --- Linear arithmetic of tangents ---

template <class T>
Tangent<T> operator-(const Tangent<T>& t) {
  return t.known ? Tangent<T>::constant(-t.number) : Tangent<T>::of(-t.value);
}

/// Times a number that stands in the formula (operator* is for values, also when T is double).
template <class T>
Tangent<T> scaled(const Tangent<T>& t, double factor) {
  if (t.known) return Tangent<T>::constant(t.number * factor);
  return Tangent<T>::of(t.value * factor);
}

template <class T>
Tangent<T> operator*(const Tangent<T>& t, const T& factor) {
  if (!t.known) return Tangent<T>::of(t.value * factor);
  if (t.number == 0) return {};
  if (t.number == 1) return Tangent<T>::of(factor);
  if (t.number == -1) return Tangent<T>::of(-factor);
  return Tangent<T>::of(factor * t.number);
}

template <class T>
Tangent<T> operator/(const Tangent<T>& t, const T& divisor) {
  if (!t.known) return Tangent<T>::of(t.value / divisor);
  return t.number == 0 ? Tangent<T>{} : Tangent<T>::of(t.number / divisor);
}

template <class T>
Tangent<T> operator+(const Tangent<T>& a, const Tangent<T>& b) {
  if (a.known && b.known) return Tangent<T>::constant(a.number + b.number);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.known) return Tangent<T>::of(a.number + b.value);
  if (b.known) return Tangent<T>::of(a.value + b.number);
  return Tangent<T>::of(a.value + b.value);
}

template <class T>
Tangent<T> operator-(const Tangent<T>& a, const Tangent<T>& b) {
  if (!a.known && !b.known) return Tangent<T>::of(a.value - b.value);
  return a + -b;
}

/// x gives the type of numbers when both tangents are some.
template <class Mask, class T>
Tangent<T> choose(const Mask& mask, const Tangent<T>& a, const Tangent<T>& b, const T& x) {
  if (a.known && b.known) return a.number == b.number ? a : Tangent<T>::of(where(mask, like(a.number, x), b.number));
  if (a.known) return Tangent<T>::of(where(mask, a.number, b.value));
  if (b.known) return Tangent<T>::of(where(mask, a.value, b.number));
  return Tangent<T>::of(where(mask, a.value, b.value));
}

// clang-format off: one rule a line, to be read as a table

// --- Operators ---

template <class T> Dual<T> operator-(const Dual<T>& x) { return {-x.value, -x.tangent}; }

template <class T> Dual<T> operator+(const Dual<T>& a, const Dual<T>& b) { return {a.value + b.value, a.tangent + b.tangent}; }
template <class T> Dual<T> operator+(const Dual<T>& a, double b) { return {a.value + b, a.tangent}; }
template <class T> Dual<T> operator+(double a, const Dual<T>& b) { return {a + b.value, b.tangent}; }

template <class T> Dual<T> operator-(const Dual<T>& a, const Dual<T>& b) { return {a.value - b.value, a.tangent - b.tangent}; }
template <class T> Dual<T> operator-(const Dual<T>& a, double b) { return {a.value - b, a.tangent}; }
template <class T> Dual<T> operator-(double a, const Dual<T>& b) { return {a - b.value, -b.tangent}; }

template <class T> Dual<T> operator*(const Dual<T>& a, const Dual<T>& b) {
  return {a.value * b.value, a.tangent * b.value + b.tangent * a.value};
}
template <class T> Dual<T> operator*(const Dual<T>& a, double b) { return {a.value * b, scaled(a.tangent, b)}; }
template <class T> Dual<T> operator*(double a, const Dual<T>& b) { return {a * b.value, scaled(b.tangent, a)}; }

template <class T> Dual<T> multiply_add(const Dual<T>& a, const Dual<T>& b, const Dual<T>& c) {
  return {multiply_add(a.value, b.value, c.value), a.tangent * b.value + b.tangent * a.value + c.tangent};
}

template <class T> Dual<T> operator/(const Dual<T>& a, const Dual<T>& b) {
  const T y = a.value / b.value;
  if (b.tangent.is_zero()) return {y, a.tangent / b.value};
  return {y, (a.tangent - b.tangent * y) / b.value};
}
template <class T> Dual<T> operator/(const Dual<T>& a, double b) { return {a.value / b, scaled(a.tangent, 1.0 / b)}; }
template <class T> Dual<T> operator/(double a, const Dual<T>& b) { return like(a, b) / b; }

// --- Masks: the value decides ---

template <class T> T value_of(const T& x) { return x; }
template <class T> auto value_of(const Dual<T>& x) { return value_of(x.value); }

template <class T> auto operator==(const Dual<T>& a, const Dual<T>& b) { return a.value == b.value; }
template <class T> auto operator==(const Dual<T>& a, double b) { return a.value == b; }
template <class T> auto operator!=(const Dual<T>& a, const Dual<T>& b) { return a.value != b.value; }
template <class T> auto operator!=(const Dual<T>& a, double b) { return a.value != b; }
template <class T> auto operator<(const Dual<T>& a, const Dual<T>& b) { return a.value < b.value; }
template <class T> auto operator<(const Dual<T>& a, double b) { return a.value < b; }
template <class T> auto operator<=(const Dual<T>& a, const Dual<T>& b) { return a.value <= b.value; }
template <class T> auto operator<=(const Dual<T>& a, double b) { return a.value <= b; }
template <class T> auto operator>(const Dual<T>& a, const Dual<T>& b) { return a.value > b.value; }
template <class T> auto operator>(const Dual<T>& a, double b) { return a.value > b; }
template <class T> auto operator>=(const Dual<T>& a, const Dual<T>& b) { return a.value >= b.value; }
template <class T> auto operator>=(const Dual<T>& a, double b) { return a.value >= b; }
template <class T> auto isnan(const Dual<T>& x) { return isnan(x.value); }
template <class T> auto isinf(const Dual<T>& x) { return isinf(x.value); }

template <class Mask, class T> Dual<T> where(const Mask& mask, const Dual<T>& a, const Dual<T>& b) {
  const auto& m = value_of(mask);
  return {where(m, a.value, b.value), choose(m, a.tangent, b.tangent, a.value)};
}
template <class Mask, class T> Dual<T> where(const Mask& mask, const Dual<T>& a, double b) {
  const auto& m = value_of(mask);
  return {where(m, a.value, b), choose(m, a.tangent, Tangent<T>{}, a.value)};
}
template <class Mask, class T> Dual<T> where(const Mask& mask, double a, const Dual<T>& b) {
  const auto& m = value_of(mask);
  return {where(m, a, b.value), choose(m, Tangent<T>{}, b.tangent, b.value)};
}

// --- Functions of one value. The partial derivative is computed only when it is needed ---

template <class T, class F>
Dual<T> chain(const Dual<T>& x, T y, F partial) {
  if (x.tangent.is_zero()) return {std::move(y), {}};
  Tangent<T> tangent = x.tangent * T(partial(x.value, y));
  return {std::move(y), std::move(tangent)};
}

template <class T> T trigamma(const T& x);

template <class T> Dual<T> exp(const Dual<T>& x) { return chain(x, T(exp(x.value)), [](const T&, const T& y) { return y; }); }
template <class T> Dual<T> exp2(const Dual<T>& x) { return chain(x, T(exp2(x.value)), [](const T&, const T& y) { return y * kLn2; }); }
template <class T> Dual<T> expm1(const Dual<T>& x) { return chain(x, T(expm1(x.value)), [](const T&, const T& y) { return y + 1.0; }); }
template <class T> Dual<T> log(const Dual<T>& x) { return {log(x.value), x.tangent / x.value}; }
template <class T> Dual<T> log2(const Dual<T>& x) { return {log2(x.value), scaled(x.tangent, 1.0 / kLn2) / x.value}; }
template <class T> Dual<T> log1p(const Dual<T>& x) { return chain(x, T(log1p(x.value)), [](const T& v, const T&) { return 1.0 / (v + 1.0); }); }
template <class T> Dual<T> sqrt(const Dual<T>& x) { return chain(x, T(sqrt(x.value)), [](const T&, const T& y) { return 0.5 / y; }); }
template <class T> Dual<T> rsqrt(const Dual<T>& x) { return chain(x, T(rsqrt(x.value)), [](const T&, const T& y) { return -0.5 * y * y * y; }); }
template <class T> Dual<T> sin(const Dual<T>& x) { return chain(x, T(sin(x.value)), [](const T& v, const T&) { return cos(v); }); }
template <class T> Dual<T> cos(const Dual<T>& x) { return chain(x, T(cos(x.value)), [](const T& v, const T&) { return -sin(v); }); }
template <class T> Dual<T> tan(const Dual<T>& x) { return chain(x, T(tan(x.value)), [](const T&, const T& y) { return y * y + 1.0; }); }
template <class T> Dual<T> asin(const Dual<T>& x) { return chain(x, T(asin(x.value)), [](const T& v, const T&) { return rsqrt((1.0 - v) * (v + 1.0)); }); }
template <class T> Dual<T> acos(const Dual<T>& x) { return chain(x, T(acos(x.value)), [](const T& v, const T&) { return -rsqrt((1.0 - v) * (v + 1.0)); }); }
template <class T> Dual<T> atan(const Dual<T>& x) { return chain(x, T(atan(x.value)), [](const T& v, const T&) { return 1.0 / (v * v + 1.0); }); }
template <class T> Dual<T> sinh(const Dual<T>& x) { return chain(x, T(sinh(x.value)), [](const T& v, const T&) { return cosh(v); }); }
template <class T> Dual<T> cosh(const Dual<T>& x) { return chain(x, T(cosh(x.value)), [](const T& v, const T&) { return sinh(v); }); }
template <class T> Dual<T> tanh(const Dual<T>& x) { return chain(x, T(tanh(x.value)), [](const T&, const T& y) { return 1.0 - y * y; }); }
template <class T> Dual<T> asinh(const Dual<T>& x) { return chain(x, T(asinh(x.value)), [](const T& v, const T&) { return where(abs(v) > 1e9, 1.0 / abs(v), rsqrt(v * v + 1.0)); }); }
template <class T> Dual<T> acosh(const Dual<T>& x) { return chain(x, T(acosh(x.value)), [](const T& v, const T&) { return rsqrt(v - 1.0) * rsqrt(v + 1.0); }); }
template <class T> Dual<T> atanh(const Dual<T>& x) { return chain(x, T(atanh(x.value)), [](const T& v, const T&) { return 1.0 / ((1.0 - v) * (v + 1.0)); }); }
template <class T> Dual<T> erf(const Dual<T>& x) {
  return chain(x, T(erf(x.value)), [](const T& v, const T&) { return 2.0 * std::numbers::inv_sqrtpi * exp(-(v * v)); });
}
template <class T> Dual<T> erfinv(const Dual<T>& x) {
  return chain(x, T(erfinv(x.value)), [](const T&, const T& y) { return 0.5 / std::numbers::inv_sqrtpi * exp(y * y); });
}
template <class T> Dual<T> sigmoid(const Dual<T>& x) { return chain(x, T(sigmoid(x.value)), [](const T&, const T& y) { return y * (1.0 - y); }); }
template <class T> Dual<T> lgamma(const Dual<T>& x) { return chain(x, T(lgamma(x.value)), [](const T& v, const T&) { return digamma(v); }); }
template <class T> Dual<T> digamma(const Dual<T>& x) { return chain(x, T(digamma(x.value)), [](const T& v, const T&) { return trigamma(v); }); }
template <class T> Dual<T> abs(const Dual<T>& x) { return chain(x, T(abs(x.value)), [](const T& v, const T&) { return sign(v); }); }
template <class T> Dual<T> sign(const Dual<T>& x) { return {sign(x.value), {}}; }
template <class T> Dual<T> floor(const Dual<T>& x) { return {floor(x.value), {}}; }
template <class T> Dual<T> ceil(const Dual<T>& x) { return {ceil(x.value), {}}; }
template <class T> Dual<T> round(const Dual<T>& x) { return {round(x.value), {}}; }
template <class T> Dual<T> trunc(const Dual<T>& x) { return {trunc(x.value), {}}; }

// clang-format on
/// The derivative of digamma: eight steps of the recurrence, then the asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12).
template <class T>
T trigamma(const T& x) {
  const auto reflected = x < 0.5;
  const T z = where(reflected, 1.0 - x, x);
  T sum = 1.0 / (z * z);
  for (int k = 1; k < 8; ++k) sum = sum + 1.0 / ((z + static_cast<double>(k)) * (z + static_cast<double>(k)));
  const T w = z + 8.0;
  const T r = 1.0 / (w * w);
  sum = sum + 1.0 / w + 0.5 * r + r / w * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * (5.0 / 66)))));
  const T s = sin(kPi * (x - round(x)));
  return where(reflected, kPi * kPi / (s * s) - sum, sum);
}

/// log(1 + exp(x)) without overflow. A word of its own here, because the derivative of the expression is wrong twice over at 0.
template <class T>
requires std::same_as<T, double> || std::same_as<T, Value>
T softplus(const T& x) {
  return maximum(x, 0.0) + log1p(exp(-abs(x)));
}
template <class T>
Dual<T> softplus(const Dual<T>& x) {
  return chain(x, T(softplus(x.value)), [](const T& v, const T&) { return sigmoid(v); });
}

// --- Functions of two values ---
// clang-format off

// Ties share the derivative.
template <class T> Dual<T> minimum(const Dual<T>& a, const Dual<T>& b) {
  return {minimum(a.value, b.value), choose(a.value == b.value, scaled(a.tangent + b.tangent, 0.5),
                                            choose(a.value < b.value, a.tangent, b.tangent, a.value), a.value)};
}
template <class T> Dual<T> maximum(const Dual<T>& a, const Dual<T>& b) {
  return {maximum(a.value, b.value), choose(a.value == b.value, scaled(a.tangent + b.tangent, 0.5),
                                            choose(a.value > b.value, a.tangent, b.tangent, a.value), a.value)};
}
template <class T> Dual<T> minimum(const Dual<T>& a, double b) { return minimum(a, like(b, a)); }
template <class T> Dual<T> maximum(const Dual<T>& a, double b) { return maximum(a, like(b, a)); }

template <class T> Dual<T> pow(const Dual<T>& a, double b) {
  if (b == 1.0) return a;
  return chain(a, T(pow(a.value, b)), [b](const T& v, const T&) { return b * pow(v, b - 1.0); });
}
template <class T> Dual<T> pow(const Dual<T>& a, const Dual<T>& b) {
  const T y = pow(a.value, b.value);
  Tangent<T> tangent;
  if (!a.tangent.is_zero()) tangent = a.tangent * T(where(b.value == 0.0, 0.0, b.value * pow(a.value, b.value - 1.0)));
  if (!b.tangent.is_zero()) tangent = tangent + b.tangent * T(where(a.value == 0.0 && b.value >= 0.0, 0.0, y * log(a.value)));
  return {y, tangent};
}
template <class T> Dual<T> atan2(const Dual<T>& y, const Dual<T>& x) {
  // Squares are of multiples by a power of two where those of the values are no numbers.
  const T size = maximum(abs(y.value), abs(x.value));
  const T s = where(size > 0x1p50, like(0x1p-80, size), where(size < 0x1p-50, like(0x1p80, size), 1.0));
  const T u = y.value * s, v = x.value * s, square = u * u + v * v;
  return {atan2(y.value, x.value), (y.tangent * T(v * s) - x.tangent * T(u * s)) / square};
}
template <class T> Dual<T> fmod(const Dual<T>& a, const Dual<T>& b) {
  Tangent<T> tangent = a.tangent;
  if (!b.tangent.is_zero()) tangent = tangent - b.tangent * T(trunc(a.value / b.value));
  return {fmod(a.value, b.value), tangent};
}
// clang-format on

}  // namespace tegula::formula
