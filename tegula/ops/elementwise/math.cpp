#include "tegula/ops/elementwise/math.h"

#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"

namespace tegula {
namespace formula {

struct Exp {
  static constexpr OpInfo info{"exp", "e to the power x", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return exp(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return y;
  }
};

struct Exp2 {
  static constexpr OpInfo info{"exp2", "2 to the power x", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return exp2(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return y * kLn2;
  }
};

struct Expm1 {
  static constexpr OpInfo info{"expm1", "exp(x) - 1", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return expm1(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return y + 1.0;
  }
};

struct Log {
  static constexpr OpInfo info{"log", "the natural logarithm", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return log(x); }
};

struct Log2 {
  static constexpr OpInfo info{"log2", "the logarithm to base 2", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return log2(x); }
};

struct Log10 {
  static constexpr OpInfo info{"log10", "the logarithm to base 10", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return log(x) * std::numbers::log10e; }
};

struct Log1p {
  static constexpr OpInfo info{"log1p", "log(1 + x)", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return log1p(x); }
};

struct Sqrt {
  static constexpr OpInfo info{"sqrt", "the square root"};
  static auto forward(Numeric auto x) { return sqrt(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return 0.5 / y;
  }
};

struct Rsqrt {
  static constexpr OpInfo info{"rsqrt", "1 / sqrt(x)", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return rsqrt(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return -0.5 * y * y * y;
  }
};

struct Hypot {
  static constexpr OpInfo info{"hypot", "sqrt(a² + b²) without overflow"};
  template <Numeric T>
  static auto forward(T a, T b) {
    const T large = maximum(abs(a), abs(b)), small = minimum(abs(a), abs(b));
    const T ratio = where(small == large, 1.0, small / large);
    return where(isinf(a) || isinf(b), kInfinity, large * sqrt(1.0 + ratio * ratio));  // infinite even beside a NaN, as in IEEE 754
  }
  template <Numeric T>
  static auto derivative(Input<0>, T a, T, T y) {
    return where(y == 0.0, 0.0, a / y);
  }
  template <Numeric T>
  static auto derivative(Input<1>, T, T b, T y) {
    return where(y == 0.0, 0.0, b / y);
  }
};

struct Sin {
  static constexpr OpInfo info{"sin", "sine of x in radians"};
  static auto forward(Numeric auto x) { return sin(x); }
};

struct Cos {
  static constexpr OpInfo info{"cos", "cosine of x in radians"};
  static auto forward(Numeric auto x) { return cos(x); }
};

struct Tan {
  static constexpr OpInfo info{"tan", "tangent of x in radians", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return tan(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return y * y + 1.0;
  }
};

struct Asin {
  static constexpr OpInfo info{"asin", "arc sine"};
  static auto forward(Numeric auto x) { return asin(x); }
};

struct Acos {
  static constexpr OpInfo info{"acos", "arc cosine"};
  static auto forward(Numeric auto x) { return acos(x); }
};

struct Atan {
  static constexpr OpInfo info{"atan", "arc tangent"};
  static auto forward(Numeric auto x) { return atan(x); }
};

struct Atan2 {
  static constexpr OpInfo info{"atan2", "the angle of the point (x, y)"};
  template <Numeric T>
  static auto forward(T y, T x) {
    return atan2(y, x);
  }
};

struct Sinh {
  static constexpr OpInfo info{"sinh", "hyperbolic sine", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return sinh(x); }
};

struct Cosh {
  static constexpr OpInfo info{"cosh", "hyperbolic cosine", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return cosh(x); }
};

struct Tanh {
  static constexpr OpInfo info{"tanh", "hyperbolic tangent"};
  static auto forward(Numeric auto x) { return tanh(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return 1.0 - y * y;
  }
};

struct Asinh {
  static constexpr OpInfo info{"asinh", "inverse hyperbolic sine"};
  static auto forward(Numeric auto x) { return asinh(x); }
};

struct Acosh {
  static constexpr OpInfo info{"acosh", "inverse hyperbolic cosine"};
  static auto forward(Numeric auto x) { return acosh(x); }
};

struct Atanh {
  static constexpr OpInfo info{"atanh", "inverse hyperbolic tangent"};
  static auto forward(Numeric auto x) { return atanh(x); }
};

struct Deg2rad {
  static constexpr OpInfo info{"deg2rad", "degrees to radians"};
  static auto forward(Numeric auto x) { return x * (kPi / 180.0); }
};

struct Rad2deg {
  static constexpr OpInfo info{"rad2deg", "radians to degrees"};
  static auto forward(Numeric auto x) { return x * (180.0 / kPi); }
};

struct Erf {
  static constexpr OpInfo info{"erf", "the error function"};
  static auto forward(Numeric auto x) { return erf(x); }
};

struct Erfc {
  static constexpr OpInfo info{"erfc", "1 - erf(x)"};
  static auto forward(Numeric auto x) { return 1.0 - erf(x); }
};

struct Erfinv {
  static constexpr OpInfo info{"erfinv", "the inverse of erf"};
  static auto forward(Numeric auto x) { return erfinv(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return 0.5 / std::numbers::inv_sqrtpi * exp(y * y);
  }
};

struct Lgamma {
  static constexpr OpInfo info{"lgamma", "log |Gamma(x)|", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return lgamma(x); }
};

struct Digamma {
  static constexpr OpInfo info{"digamma", "the derivative of lgamma", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return digamma(x); }
};

struct Sigmoid {
  static constexpr OpInfo info{"sigmoid", "1 / (1 + exp(-x))"};
  static auto forward(Numeric auto x) { return sigmoid(x); }
  template <Numeric T>
  static auto derivative(T, T y) {
    return y * (1.0 - y);
  }
};

struct Logit {
  static constexpr OpInfo info{"logit", "log(x / (1 - x))", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return log(x) - log1p(-x); }
};

struct Xlogy {
  static constexpr OpInfo info{"xlogy", "x * log(y), 0 where x is 0", Operands::Floats, Numerics::Full};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T x, T y) {
    return where(x == 0.0 && !isnan(y), 0.0, x * log(y));
  }
  template <Numeric T>
  static auto derivative(Input<0>, T x, T y, T) {
    return where(x == 0.0 && y <= 0.0, 0.0, log(y));
  }
  template <Numeric T>
  static auto derivative(Input<1>, T x, T y, T) {
    return where(x == 0.0 && y <= 0.0, 0.0, x / y);
  }
};

struct Floor {
  static constexpr OpInfo info{"floor", "the largest integer not above x"};
  static auto forward(Numeric auto x) { return floor(x); }
};

struct Ceil {
  static constexpr OpInfo info{"ceil", "the smallest integer not below x"};
  static auto forward(Numeric auto x) { return ceil(x); }
};

struct Round {
  static constexpr OpInfo info{"round", "the nearest integer, halves to even"};
  static auto forward(Numeric auto x) { return round(x); }
};

struct Trunc {
  static constexpr OpInfo info{"trunc", "the integer part"};
  static auto forward(Numeric auto x) { return trunc(x); }
};

struct Frac {
  static constexpr OpInfo info{"frac", "x - trunc(x)"};
  static auto forward(Numeric auto x) { return x - trunc(x); }
};

struct IsNan {
  static constexpr OpInfo info{"isnan", "whether x is not a number", Operands::Classified};
  static auto forward(Numeric auto x) { return isnan(x); }
};

struct IsInf {
  static constexpr OpInfo info{"isinf", "whether x is infinite", Operands::Classified};
  static auto forward(Numeric auto x) { return isinf(x); }
};

struct IsFinite {
  static constexpr OpInfo info{"isfinite", "whether x is a finite number", Operands::Classified};
  static auto forward(Numeric auto x) { return !(isnan(x) || isinf(x)); }
};

struct NanToNumber {
  static constexpr OpInfo info{"nan_to_num", "numbers for NaN and the infinities"};
  static constexpr auto zeros = Zeros::AbsorbAll;
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T nan, T positive, T negative) {
    return where(isnan(x), nan, where(x == kInfinity, positive, where(x == -kInfinity, negative, x)));
  }
};

}  // namespace formula

namespace {

double largest(DType dtype) {
  switch (dtype) {
    case f64: return std::numeric_limits<double>::max();
    case f16: return 65504;
    case bf16: return 0x1.fep127;
    default: return static_cast<double>(std::numeric_limits<float>::max());
  }
}

/// Integers are already rounded.
template <class F>
Tensor rounded(const Arg& x) {
  const bool whole = is_integer(result_type(F::info.name, {x}));
  return whole ? x.tensor(F::info.name) : elementwise<F>(x);
}

}  // namespace

Tensor exp(Arg x) { return elementwise<formula::Exp>(x); }
Tensor exp2(Arg x) { return elementwise<formula::Exp2>(x); }
Tensor expm1(Arg x) { return elementwise<formula::Expm1>(x); }
Tensor log(Arg x) { return elementwise<formula::Log>(x); }
Tensor log2(Arg x) { return elementwise<formula::Log2>(x); }
Tensor log10(Arg x) { return elementwise<formula::Log10>(x); }
Tensor log1p(Arg x) { return elementwise<formula::Log1p>(x); }
Tensor sqrt(Arg x) { return elementwise<formula::Sqrt>(x); }
Tensor rsqrt(Arg x) { return elementwise<formula::Rsqrt>(x); }
Tensor hypot(Arg a, Arg b) { return elementwise<formula::Hypot>(a, b); }

Tensor sin(Arg x) { return elementwise<formula::Sin>(x); }
Tensor cos(Arg x) { return elementwise<formula::Cos>(x); }
Tensor tan(Arg x) { return elementwise<formula::Tan>(x); }
Tensor asin(Arg x) { return elementwise<formula::Asin>(x); }
Tensor acos(Arg x) { return elementwise<formula::Acos>(x); }
Tensor atan(Arg x) { return elementwise<formula::Atan>(x); }
Tensor atan2(Arg y, Arg x) { return elementwise<formula::Atan2>(y, x); }
Tensor sinh(Arg x) { return elementwise<formula::Sinh>(x); }
Tensor cosh(Arg x) { return elementwise<formula::Cosh>(x); }
Tensor tanh(Arg x) { return elementwise<formula::Tanh>(x); }
Tensor asinh(Arg x) { return elementwise<formula::Asinh>(x); }
Tensor acosh(Arg x) { return elementwise<formula::Acosh>(x); }
Tensor atanh(Arg x) { return elementwise<formula::Atanh>(x); }
Tensor deg2rad(Arg x) { return elementwise<formula::Deg2rad>(x); }
Tensor rad2deg(Arg x) { return elementwise<formula::Rad2deg>(x); }

Tensor erf(Arg x) { return elementwise<formula::Erf>(x); }
Tensor erfc(Arg x) { return elementwise<formula::Erfc>(x); }
Tensor erfinv(Arg x) { return elementwise<formula::Erfinv>(x); }
Tensor lgamma(Arg x) { return elementwise<formula::Lgamma>(x); }
Tensor digamma(Arg x) { return elementwise<formula::Digamma>(x); }
Tensor sigmoid(Arg x) { return elementwise<formula::Sigmoid>(x); }
Tensor logit(Arg x) { return elementwise<formula::Logit>(x); }
Tensor xlogy(Arg x, Arg y) { return elementwise<formula::Xlogy>(x, y); }

Tensor floor(Arg x) { return rounded<formula::Floor>(x); }
Tensor ceil(Arg x) { return rounded<formula::Ceil>(x); }
Tensor round(Arg x) { return rounded<formula::Round>(x); }
Tensor trunc(Arg x) { return rounded<formula::Trunc>(x); }
Tensor frac(Arg x) { return elementwise<formula::Frac>(x); }

Tensor isnan(Arg x) { return elementwise<formula::IsNan>(x); }
Tensor isinf(Arg x) { return elementwise<formula::IsInf>(x); }
Tensor isfinite(Arg x) { return elementwise<formula::IsFinite>(x); }

Tensor nan_to_num(Arg x, const NanToNum& replacements) {
  const DType dtype = result_type("nan_to_num", {x});
  if (!is_float(dtype)) return x.tensor("nan_to_num");
  const double positive = replacements.positive != 0 ? replacements.positive : largest(dtype);
  const double negative = replacements.negative != 0 ? replacements.negative : -largest(dtype);
  return elementwise<formula::NanToNumber>(x, replacements.nan, positive, negative);
}

std::vector<OpCase> math_cases() {
  const CaseInput any{.low = -3, .high = 3}, positive{.low = 0.3, .high = 4};
  std::vector<OpCase> cases{
      unary_case("exp", exp, -4, 4),
      unary_case("exp2", exp2, -4, 4),
      unary_case("expm1", expm1, -4, 4),
      unary_case("log", log, 0.1, 9),
      unary_case("log2", log2, 0.1, 9),
      unary_case("log10", log10, 0.1, 9),
      unary_case("log1p", log1p, -0.8, 9),
      unary_case("sqrt", sqrt, 0.1, 9),
      unary_case("rsqrt", rsqrt, 0.1, 9),
      binary_case("hypot", hypot, any, positive),
      unary_case("sin", sin, -6, 6),
      unary_case("cos", cos, -6, 6),
      unary_case("tan", tan, -1.2, 1.2),
      unary_case("asin", asin, -0.9, 0.9),
      unary_case("acos", acos, -0.9, 0.9),
      unary_case("atan", atan, -4, 4),
      binary_case("atan2", atan2, any, positive),
      unary_case("sinh", sinh, -3, 3),
      unary_case("cosh", cosh, -3, 3),
      unary_case("tanh", tanh, -4, 4),
      unary_case("asinh", asinh, -5, 5),
      unary_case("acosh", acosh, 1.2, 6),
      unary_case("atanh", atanh, -0.9, 0.9),
      unary_case("deg2rad", deg2rad, -180, 180),
      unary_case("rad2deg", rad2deg, -3, 3),
      unary_case("erf", erf, -3, 3),
      unary_case("erfc", erfc, -3, 3),
      unary_case("erfinv", erfinv, -0.95, 0.95),
      unary_case("lgamma", lgamma, 0.3, 9),
      unary_case("digamma", digamma, 0.3, 9),
      unary_case("sigmoid", sigmoid, -6, 6),
      unary_case("logit", logit, 0.05, 0.95),
      binary_case("xlogy", xlogy, any, positive),
      unary_case("floor", floor, -5, 5),
      unary_case("ceil", ceil, -5, 5),
      unary_case("round", round, -5, 5),
      unary_case("trunc", trunc, -5, 5),
      unary_case("frac", frac, -5, 5, {-4, -3, -2, -1, 0, 1, 2, 3, 4}),
      unary_case("isnan", isnan, -5, 5),
      unary_case("isinf", isinf, -5, 5),
      unary_case("isfinite", isfinite, -5, 5),
      unary_case(
          "nan_to_num", [](Arg x) { return nan_to_num(x); }, -5, 5),
  };
  for (OpCase& one : cases) {
    const std::string& op = one.op;
    if (op == "floor" || op == "ceil" || op == "round" || op == "trunc" || op.starts_with("is")) one.gradient = false;
  }
  return cases;
}

void add_math_ops(OpTable& table) {
  add_formulas<formula::Exp, formula::Exp2, formula::Expm1, formula::Log, formula::Log2, formula::Log10, formula::Log1p, formula::Sqrt,
               formula::Rsqrt, formula::Hypot, formula::Sin, formula::Cos, formula::Tan, formula::Asin, formula::Acos, formula::Atan,
               formula::Atan2, formula::Sinh, formula::Cosh, formula::Tanh, formula::Asinh, formula::Acosh, formula::Atanh,
               formula::Deg2rad, formula::Rad2deg, formula::Erf, formula::Erfc, formula::Erfinv, formula::Lgamma, formula::Digamma,
               formula::Sigmoid, formula::Logit, formula::Xlogy, formula::Floor, formula::Ceil, formula::Round, formula::Trunc,
               formula::Frac, formula::IsNan, formula::IsInf, formula::IsFinite, formula::NanToNumber>(table);
}

}  // namespace tegula
