#include "tegula/ops/elementwise/compare.h"

#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"

namespace tegula {
namespace formula {

struct Equal {
  static constexpr OpInfo info{"equal", "a == b", Operands::Compared};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a == b;
  }
};

struct NotEqual {
  static constexpr OpInfo info{"not_equal", "a != b", Operands::Compared};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a != b;
  }
};

struct Less {
  static constexpr OpInfo info{"less", "a < b", Operands::Ordered};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a < b;
  }
};

struct LessEqual {
  static constexpr OpInfo info{"less_equal", "a <= b", Operands::Ordered};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a <= b;
  }
};

struct Greater {
  static constexpr OpInfo info{"greater", "a > b", Operands::Ordered};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a > b;
  }
};

struct GreaterEqual {
  static constexpr OpInfo info{"greater_equal", "a >= b", Operands::Ordered};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a >= b;
  }
};

struct IsClose {
  static constexpr OpInfo info{"isclose", "|a - b| <= absolute + relative * |b|", Operands::Classified};
  template <Numeric T>
  static auto forward(T a, T b, T relative, T absolute) {
    return a == b || (!isinf(b) && abs(a - b) <= absolute + relative * abs(b));
  }
};

}  // namespace formula

Tensor operator==(Arg a, Arg b) { return elementwise<formula::Equal>(a, b); }
Tensor operator!=(Arg a, Arg b) { return elementwise<formula::NotEqual>(a, b); }
Tensor operator<(Arg a, Arg b) { return elementwise<formula::Less>(a, b); }
Tensor operator<=(Arg a, Arg b) { return elementwise<formula::LessEqual>(a, b); }
Tensor operator>(Arg a, Arg b) { return elementwise<formula::Greater>(a, b); }
Tensor operator>=(Arg a, Arg b) { return elementwise<formula::GreaterEqual>(a, b); }

Tensor isclose(Arg a, Arg b, const Closeness& closeness) {
  if (is_float(result_type("isclose", {a, b}))) return elementwise<formula::IsClose>(a, b, closeness.relative, closeness.absolute);
  return elementwise<formula::IsClose>(Arg(a.tensor("isclose", f64), a.loc), Arg(b.tensor("isclose", f64), b.loc), closeness.relative,
                                       closeness.absolute);
}

std::vector<OpCase> compare_cases() {
  std::vector<OpCase> cases{
      binary_case("equal", operator==, 0, 3),
      binary_case("not_equal", operator!=, 0, 3),
      binary_case("less", operator<, 0, 3),
      binary_case("less_equal", operator<=, 0, 3),
      binary_case("greater", operator>, 0, 3),
      binary_case("greater_equal", operator>=, 0, 3),
      binary_case(
          "isclose", [](Arg a, Arg b) { return isclose(a, b, {.relative = 0.1, .absolute = 0.5}); }, 0, 3),
  };
  for (OpCase& one : cases) {
    one.gradient = false;
    one.dtypes = kEverything;
    one.jumps = one.op == "isclose";
  }
  return cases;
}

void add_compare_ops(OpTable& table) {
  add_formulas<formula::Equal, formula::NotEqual, formula::Less, formula::LessEqual, formula::Greater, formula::GreaterEqual,
               formula::IsClose>(table);
}

}  // namespace tegula
