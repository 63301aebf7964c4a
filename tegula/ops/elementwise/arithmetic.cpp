#include "tegula/ops/elementwise/arithmetic.h"

#include "tegula/core/error.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"

namespace tegula {
namespace formula {

struct Add {
  static constexpr OpInfo info{"add", "a + b", Operands::Numbers};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a + b;
  }
};

struct Subtract {
  static constexpr OpInfo info{"subtract", "a - b", Operands::Numbers};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a - b;
  }
};

struct Multiply {
  static constexpr OpInfo info{"multiply", "a * b", Operands::Numbers};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a * b;
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor& b, const Tensor&, const Tensor& dy) { return dy * b; }
  static Tensor vjp(Input<1>, const Tensor& a, const Tensor&, const Tensor&, const Tensor& dy) { return dy * a; }
};

struct Divide {
  static constexpr OpInfo info{"divide", "a / b"};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a / b;
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor& b, const Tensor&, const Tensor& dy) { return dy / b; }
  template <Numeric T>
  static auto derivative(Input<1>, T, T b, T y) {
    return -y / b;
  }
};

struct Negate {
  static constexpr OpInfo info{"negate", "-x", Operands::Numbers};
  static auto forward(Numeric auto x) { return -x; }
};

/// A remainder with the sign of its dividend, moved to that of the divisor.
template <class T>
T with_sign_of(const T& remainder, const T& divisor) {
  return where(remainder != 0.0 && (remainder < 0.0) != (divisor < 0.0), remainder + divisor, remainder);
}

struct FloorDivide {
  static constexpr OpInfo info{"floor_divide", "floor(a / b)"};
  static constexpr int inputs = 0;
  template <Numeric T>
  static auto forward(T a, T b) {
    const T left = fmod(a, b);
    const T quotient = (a - left) / b;  // near an integer
    return where(b == 0.0, a / b, round(where(left != 0.0 && (left < 0.0) != (b < 0.0), quotient - 1.0, quotient)));
  }
};

struct IntegerFloorDivide {
  static constexpr OpInfo info{"floor_divide", "floor(a / b), 0 where b is 0", Operands::Integers};
  static double forward(double a, double b) { return b == 0 ? 0 : std::floor(a / b); }
  static Value forward(Value a, Value b) {
    const Value left = a % b;
    return where(left != 0.0 && (left < 0.0) != (b < 0.0), a / b - 1.0, a / b);
  }
};

struct Remainder {
  static constexpr OpInfo info{"remainder", "a - floor(a / b) * b"};
  template <Numeric T>
  static auto forward(T a, T b) {
    return with_sign_of(T(fmod(a, b)), b);
  }
};

struct IntegerRemainder {
  static constexpr OpInfo info{"remainder", "a - floor(a / b) * b, 0 where b is 0", Operands::Integers};
  static double forward(double a, double b) { return b == 0 ? 0 : a - std::floor(a / b) * b; }
  static Value forward(Value a, Value b) { return with_sign_of(a % b, b); }
};

struct Fmod {
  static constexpr OpInfo info{"fmod", "a - trunc(a / b) * b"};
  template <Numeric T>
  static auto forward(T a, T b) {
    return fmod(a, b);
  }
};

struct IntegerFmod {
  static constexpr OpInfo info{"fmod", "a - trunc(a / b) * b, 0 where b is 0", Operands::Integers};
  static double forward(double a, double b) { return b == 0 ? 0 : std::fmod(a, b); }
  static Value forward(Value a, Value b) { return a % b; }
};

struct Pow {
  static constexpr OpInfo info{"pow", "a to the power b", Operands::Floats, Numerics::Full};
  template <Numeric T>
  static auto forward(T a, T b) {
    return pow(a, b);
  }
  template <Numeric T>
  static auto derivative(Input<0>, T a, T b, T) {
    return where(b == 0.0, 0.0, b * pow(a, b - 1.0));
  }
  template <Numeric T>
  static auto derivative(Input<1>, T a, T b, T y) {
    return where(a == 0.0 && b >= 0.0, 0.0, y * log(a));
  }
};

struct IntegerPow {
  static constexpr OpInfo info{"pow", "a to the power b, wrapped", Operands::Integers, Numerics::Full};
  static double forward(double a, double b) { return b < 0 && a == 0 ? 0 : std::trunc(std::pow(a, b)); }
  static Value forward(Value a, Value b) {
    const int bits = (size_of(b.dtype()) == 8 ? 63 : 31) + is_unsigned(b.dtype());  // an odd base takes part in every bit of the exponent
    Value product = like(1.0, a), power = a;
    for (int bit = 0; bit < bits; ++bit) {
      const Value set = bitwise_and(right_shift(b, like(bit, b)), like(1.0, b)) != 0.0;
      product = where(set, product * power, product);
      if (bit + 1 < bits) power = power * power;
    }
    const Value odd = bitwise_and(b, like(1.0, b)) != 0.0;
    const Value inverse = where(a == 1.0, 1.0, where(a == -1.0, where(odd, -1.0, like(1.0, a)), like(0.0, a)));
    return where(b < 0.0, inverse, product);
  }
};

struct Square {
  static constexpr OpInfo info{"square", "x * x", Operands::Numbers, Numerics::Full};
  static auto forward(Numeric auto x) { return x * x; }
  template <Numeric T>
  static auto derivative(T x, T) {
    return 2.0 * x;
  }
};

struct Reciprocal {
  static constexpr OpInfo info{"reciprocal", "1 / x", Operands::Floats, Numerics::Full};
  static auto forward(Numeric auto x) { return 1.0 / x; }
  template <Numeric T>
  static auto derivative(T, T y) {
    return -(y * y);
  }
};

struct Abs {
  static constexpr OpInfo info{"abs", "|x|", Operands::Numbers};
  static auto forward(Numeric auto x) { return abs(x); }
};

struct Sign {
  static constexpr OpInfo info{"sign", "-1, 0 or 1", Operands::Numbers};
  static auto forward(Numeric auto x) { return sign(x); }
};

struct Minimum {
  static constexpr OpInfo info{"minimum", "the smaller one, NaN wins", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T a, T b) {
    return minimum(a, b);
  }
};

struct Maximum {
  static constexpr OpInfo info{"maximum", "the larger one, NaN wins", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T a, T b) {
    return maximum(a, b);
  }
};

// Clamps are maxima and minima, so that a NaN bound gives NaN; but at a tie x has the whole gradient, and where anything is NaN there is none.
struct ClampMin {
  static constexpr OpInfo info{"clamp_min", "low where x is below it", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T x, T low) {
    return maximum(x, low);
  }
  template <Numeric T>
  static auto pullback(Input<0>, T x, T low, T, T dy) {
    return where(x >= low, dy, 0.0);
  }
  template <Numeric T>
  static auto pullback(Input<1>, T x, T low, T, T dy) {
    return where(x < low, dy, 0.0);
  }
};

struct ClampMax {
  static constexpr OpInfo info{"clamp_max", "high where x is above it", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T x, T high) {
    return minimum(x, high);
  }
  template <Numeric T>
  static auto pullback(Input<0>, T x, T high, T, T dy) {
    return where(x <= high, dy, 0.0);
  }
  template <Numeric T>
  static auto pullback(Input<1>, T x, T high, T, T dy) {
    return where(x > high, dy, 0.0);
  }
};

struct Clamp {
  static constexpr OpInfo info{"clamp", "x limited to [low, high]", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T x, T low, T high) {
    return minimum(T(maximum(x, low)), high);
  }
  template <Numeric T>
  static auto pullback(Input<0>, T x, T low, T high, T, T dy) {
    return where(x >= low && x <= high, dy, 0.0);
  }
  template <Numeric T>
  static auto pullback(Input<1>, T x, T low, T high, T, T dy) {
    return where(x < low && low <= high, dy, 0.0);
  }
  template <Numeric T>
  static auto pullback(Input<2>, T x, T low, T high, T, T dy) {
    return where(x > high || low > high, dy, 0.0);
  }
};

struct Lerp {
  static constexpr OpInfo info{"lerp", "a + weight * (b - a)"};
  /// The difference overflows only where the signs differ; that from an infinity is one, with either sign.
  template <Numeric T>
  static auto forward(T a, T b, T weight) {
    return where((a < 0.0) != (b < 0.0) || isinf(a) || isinf(b), (1.0 - weight) * a + weight * b, a + weight * (b - a));
  }
};

struct MultiplyAdd {
  static constexpr OpInfo info{"multiply_add", "a * b + c, rounded once"};
  template <Numeric T>
  static auto forward(T a, T b, T c) {
    return multiply_add(a, b, c);
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor& b, const Tensor&, const Tensor&, const Tensor& dy) { return dy * b; }
  static Tensor vjp(Input<1>, const Tensor& a, const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy * a; }
  static Tensor vjp(Input<2>, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) { return dy; }
};

}  // namespace formula

namespace {

bool both_boolean(std::string_view op, const Arg& a, const Arg& b) { return result_type(op, {a, b}) == boolean; }

/// One op for floats, another for integers (and for booleans, which it refuses).
template <class Real, class Whole>
Tensor by_kind(const Arg& a, const Arg& b) {
  return is_float(result_type(Real::info.name, {a, b})) ? elementwise<Real>(a, b) : elementwise<Whole>(a, b);
}

}  // namespace

Tensor operator+(Arg a, Arg b) { return both_boolean("add", a, b) ? logical_or(a, b) : elementwise<formula::Add>(a, b); }
Tensor operator-(Arg a, Arg b) { return elementwise<formula::Subtract>(a, b); }
Tensor operator*(Arg a, Arg b) { return both_boolean("multiply", a, b) ? logical_and(a, b) : elementwise<formula::Multiply>(a, b); }
Tensor operator/(Arg a, Arg b) { return elementwise<formula::Divide>(a, b); }
Tensor operator%(Arg a, Arg b) { return remainder(a, b); }
Tensor operator-(Arg x) { return elementwise<formula::Negate>(x); }

Tensor& operator+=(Tensor& a, Arg b) { return a = Arg(a, b.loc) + b; }
Tensor& operator-=(Tensor& a, Arg b) { return a = Arg(a, b.loc) - b; }
Tensor& operator*=(Tensor& a, Arg b) { return a = Arg(a, b.loc) * b; }
Tensor& operator/=(Tensor& a, Arg b) { return a = Arg(a, b.loc) / b; }

Variable& operator+=(Variable& a, Arg b) { return a.assign(Arg(a, b.loc) + b, b.loc), a; }
Variable& operator-=(Variable& a, Arg b) { return a.assign(Arg(a, b.loc) - b, b.loc), a; }
Variable& operator*=(Variable& a, Arg b) { return a.assign(Arg(a, b.loc) * b, b.loc), a; }
Variable& operator/=(Variable& a, Arg b) { return a.assign(Arg(a, b.loc) / b, b.loc), a; }

Tensor floor_divide(Arg a, Arg b) { return by_kind<formula::FloorDivide, formula::IntegerFloorDivide>(a, b); }
Tensor remainder(Arg a, Arg b) { return by_kind<formula::Remainder, formula::IntegerRemainder>(a, b); }
Tensor fmod(Arg a, Arg b) { return by_kind<formula::Fmod, formula::IntegerFmod>(a, b); }

Tensor pow(Arg a, Arg b) {
  if (b.is_number() && !a.is_number()) {
    const DType dtype = result_type("pow", {a, b});
    const Tensor base = a.tensor("pow");
    const Arg x(graph::cast(base, dtype, a.loc), a.loc);
    const double exponent = b.value().real();
    if (exponent == 1) return graph::distinct(x.tensor("pow"), base, a.loc);
    if (exponent == 2) return square(x);
    if (exponent == 3) return Arg(square(x), a.loc) * x;
    if (is_float(dtype) && exponent == 0.5) return sqrt(x);
    if (is_float(dtype) && exponent == -0.5) return rsqrt(x);
    if (is_float(dtype) && exponent == -1) return reciprocal(x);
  }
  return by_kind<formula::Pow, formula::IntegerPow>(a, b);
}

Tensor square(Arg x) { return elementwise<formula::Square>(x); }
Tensor reciprocal(Arg x) { return elementwise<formula::Reciprocal>(x); }
Tensor abs(Arg x) { return elementwise<formula::Abs>(x); }
Tensor sign(Arg x) { return elementwise<formula::Sign>(x); }
namespace {

/// A negative number beside u32 or u64 would wrap around: as a bound it is 0.
Arg bound_for(const Arg& x, const Arg& bound) {
  if (!bound.is_number() || x.is_number() || !(bound.value().real() < 0)) return bound;
  const DType dtype = x.tensor("clamp").dtype();
  return dtype == u32 || dtype == u64 ? Arg(0, bound.loc) : bound;
}

}  // namespace

Tensor minimum(Arg a, Arg b) {
  return both_boolean("minimum", a, b) ? logical_and(a, b) : elementwise<formula::Minimum>(bound_for(b, a), bound_for(a, b));
}
Tensor maximum(Arg a, Arg b) {
  return both_boolean("maximum", a, b) ? logical_or(a, b) : elementwise<formula::Maximum>(bound_for(b, a), bound_for(a, b));
}
Tensor clamp(Arg x, Arg low, Arg high) { return elementwise<formula::Clamp>(x, bound_for(x, low), bound_for(x, high)); }
Tensor clamp(Arg x, const ClampBounds& bounds) {
  const auto given = [&](const Number& bound) { return bound.whole() ? Arg(bound.integer(), x.loc) : Arg(bound.real(), x.loc); };
  if (bounds.low && bounds.high) return clamp(x, given(*bounds.low), given(*bounds.high));
  if (bounds.low) return clamp_min(x, given(*bounds.low));
  if (bounds.high) return clamp_max(x, given(*bounds.high));
  throw Error(
      {.op = "clamp", .got = "no bound", .expected = ".low, .high or both", .advice = "write clamp(x, {.low = 0})", .where = x.loc});
}
Tensor clamp_min(Arg x, Arg low) { return elementwise<formula::ClampMin>(x, bound_for(x, low)); }
Tensor clamp_max(Arg x, Arg high) { return elementwise<formula::ClampMax>(x, bound_for(x, high)); }
Tensor lerp(Arg a, Arg b, Arg weight) { return elementwise<formula::Lerp>(a, b, weight); }
Tensor multiply_add(Arg a, Arg b, Arg c) { return elementwise<formula::MultiplyAdd>(a, b, c); }

std::vector<OpCase> arithmetic_cases() {
  const CaseInput any{.low = -5, .high = 5}, positive{.low = 0.5, .high = 3}, whole{.low = 1, .high = 9};
  std::vector<OpCase> cases{
      binary_case("add", operator+, -5, 5),
      binary_case("subtract", operator-, -5, 5),
      binary_case("multiply", operator*, -5, 5),
      binary_case("divide", operator/, any, positive),
      unary_case("negate", operator-, -5, 5),
      binary_case("floor_divide", floor_divide, any, whole),
      binary_case("remainder", remainder, any, whole),
      binary_case("fmod", fmod, any, whole),
      binary_case("pow", pow, positive, CaseInput{.low = 0, .high = 3}),
      unary_case("square", square, -5, 5),
      unary_case("reciprocal", reciprocal, 0.5, 4),
      unary_case("abs", abs, -5, 5, {0}),
      unary_case("sign", sign, -5, 5, {0}),
      binary_case("minimum", minimum, -5, 5),
      binary_case("maximum", maximum, -5, 5),
      unary_case("clamp", [](Arg x) { return clamp(x, -1, 2); }, -5, 5, {-1, 2}),
      unary_case("clamp_min", [](Arg x) { return clamp_min(x, -1); }, -5, 5, {-1}),
      unary_case("clamp_max", [](Arg x) { return clamp_max(x, 2); }, -5, 5, {2}),
      binary_case(
          "lerp", [](Arg a, Arg b) { return lerp(a, b, 0.3); }, -5, 5),
  };
  for (OpCase& one : cases) {
    if (one.op == "divide" || one.op == "lerp" || one.op == "reciprocal") continue;
    one.dtypes = kNumbers;
  }
  for (OpCase& one : cases) {
    const bool quotient = one.op == "floor_divide" || one.op == "remainder" || one.op == "fmod";
    if (quotient || one.op == "sign") one.gradient = false;  // a quotient's jumps are not at positions known beforehand
    one.jumps = quotient;
  }
  // Away from the jumps: trunc(a / b) is 2.
  const std::vector<CaseInput> between{{{7, 5}, 2.2, 2.8}, {{5}, 1, 1.09}};
  cases.push_back({.op = "fmod", .function = [](const auto& x) { return fmod(x[0], x[1]) + 2 * fmod(-x[0], x[1]); }, .inputs = between});
  cases.push_back(
      {.op = "remainder", .function = [](const auto& x) { return remainder(x[0], x[1]) + 2 * remainder(-x[0], x[1]); }, .inputs = between});
  cases.push_back(
      {.op = "lerp", .function = [](const auto& x) { return lerp(x[0], x[1], x[2]); }, .inputs = {{{7, 5}}, {{7, 5}}, {{5}, 0, 1}}});
  cases.push_back({.op = "multiply_add",
                   .function = [](const auto& x) { return multiply_add(x[0], x[1], x[2]); },
                   .inputs = {{{7, 5}}, {{7, 1}}, {{5}}}});
  cases.push_back({.op = "clamp",
                   .function = [](const auto& x) { return clamp(x[0], x[1], x[2]); },
                   .inputs = {{{7, 5}}, {{7, 1}, -1, 0}, {{}, 0.5, 1}}});
  cases.push_back(
      {.op = "pow",
       .function = [](const auto& x) { return pow(x[0], 3) + pow(x[0], 0.5) + pow(x[0], -1) + pow(x[0], -0.5) + pow(x[0], 2.5); },
       .inputs = {{{7, 5}, 0.5, 3}},
       .tolerance = 64});
  return cases;
}

void add_arithmetic_ops(OpTable& table) {
  add_formulas<formula::Add, formula::Subtract, formula::Multiply, formula::Divide, formula::Negate, formula::FloorDivide,
               formula::IntegerFloorDivide, formula::Remainder, formula::IntegerRemainder, formula::Fmod, formula::IntegerFmod,
               formula::Pow, formula::IntegerPow, formula::Square, formula::Reciprocal, formula::Abs, formula::Sign, formula::Minimum,
               formula::Maximum, formula::ClampMin, formula::ClampMax, formula::Clamp, formula::Lerp, formula::MultiplyAdd>(table);
}

}  // namespace tegula
