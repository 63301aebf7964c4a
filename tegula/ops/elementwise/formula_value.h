#pragma once
// The vocabulary over tile values: each function emits one word. A few stand in tile/formulas.h.

#include "tegula/ops/elementwise/formula.h"
#include "tegula/tile/builder.h"

namespace tegula::formula {

using tile::Value;
using tile::Word;

inline Value like(double number, Value x) { return tile::number(number, x); }

inline Value exp(Value x) { return unary(Word::Exp, x); }
inline Value exp2(Value x) { return unary(Word::Exp2, x); }
inline Value expm1(Value x) { return unary(Word::Expm1, x); }
inline Value log(Value x) { return unary(Word::Log, x); }
inline Value log2(Value x) { return unary(Word::Log2, x); }
inline Value log1p(Value x) { return unary(Word::Log1p, x); }
inline Value sqrt(Value x) { return unary(Word::Sqrt, x); }
inline Value rsqrt(Value x) { return unary(Word::Rsqrt, x); }
inline Value sin(Value x) { return unary(Word::Sin, x); }
inline Value cos(Value x) { return unary(Word::Cos, x); }
inline Value tan(Value x) { return unary(Word::Tan, x); }
inline Value asin(Value x) { return unary(Word::Asin, x); }
inline Value acos(Value x) { return unary(Word::Acos, x); }
inline Value atan(Value x) { return unary(Word::Atan, x); }
inline Value sinh(Value x) { return unary(Word::Sinh, x); }
inline Value cosh(Value x) { return unary(Word::Cosh, x); }
inline Value asinh(Value x) { return unary(Word::Asinh, x); }
inline Value acosh(Value x) { return unary(Word::Acosh, x); }
inline Value atanh(Value x) { return unary(Word::Atanh, x); }
inline Value erfinv(Value x) { return unary(Word::Erfinv, x); }
inline Value sigmoid(Value x) { return unary(Word::Sigmoid, x); }
inline Value lgamma(Value x) { return unary(Word::Lgamma, x); }
inline Value digamma(Value x) { return unary(Word::Digamma, x); }
inline Value abs(Value x) { return unary(Word::Abs, x); }
inline Value sign(Value x) { return unary(Word::Sign, x); }
inline Value floor(Value x) { return unary(Word::Floor, x); }
inline Value ceil(Value x) { return unary(Word::Ceil, x); }
inline Value round(Value x) { return unary(Word::Round, x); }
inline Value trunc(Value x) { return unary(Word::Trunc, x); }
inline Value isnan(Value x) { return unary(Word::IsNan, x); }
inline Value isinf(Value x) { return unary(Word::IsInf, x); }

// clang-format off: one word a line
template <class A, class B> requires tile::Operands<A, B> Value pow(A a, B b) { return binary_lifted(Word::Pow, a, b); }
template <class A, class B> requires tile::Operands<A, B> Value atan2(A a, B b) { return binary_lifted(Word::Atan2, a, b); }
template <class A, class B> requires tile::Operands<A, B> Value fmod(A a, B b) { return binary_lifted(Word::Rem, a, b); }
// clang-format on
inline Value bitwise_and(Value a, Value b) { return binary(Word::And, a, b); }
inline Value bitwise_or(Value a, Value b) { return binary(Word::Or, a, b); }
inline Value bitwise_xor(Value a, Value b) { return binary(Word::Xor, a, b); }
inline Value left_shift(Value a, Value b) { return binary(Word::Shl, a, b); }
inline Value right_shift(Value a, Value b) { return binary(Word::Shr, a, b); }
inline Value multiply_add(Value a, Value b, Value c) { return tile::fma(a, b, c); }

}  // namespace tegula::formula
