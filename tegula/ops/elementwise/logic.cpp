#include "tegula/ops/elementwise/logic.h"

#include <optional>

#include "tegula/graph/autodiff/absorb.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/promote.h"

namespace tegula {
namespace formula {

struct LogicalAnd {
  static constexpr OpInfo info{"logical_and", "a && b", Operands::Logical};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a && b;
  }
};

struct LogicalOr {
  static constexpr OpInfo info{"logical_or", "a || b", Operands::Logical};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a || b;
  }
};

struct LogicalXor {
  static constexpr OpInfo info{"logical_xor", "either a or b", Operands::Logical};
  template <Numeric T>
  static auto forward(T a, T b) {
    return a != b;
  }
};

struct LogicalNot {
  static constexpr OpInfo info{"logical_not", "!x", Operands::Logical};
  static auto forward(Numeric auto x) { return !x; }
};

struct BitwiseAnd {
  static constexpr OpInfo info{"bitwise_and", "a & b", Operands::Bits};
  template <Numeric T>
  static auto forward(T a, T b) {
    return bitwise_and(a, b);
  }
};

struct BitwiseOr {
  static constexpr OpInfo info{"bitwise_or", "a | b", Operands::Bits};
  template <Numeric T>
  static auto forward(T a, T b) {
    return bitwise_or(a, b);
  }
};

struct BitwiseXor {
  static constexpr OpInfo info{"bitwise_xor", "a ^ b", Operands::Bits};
  template <Numeric T>
  static auto forward(T a, T b) {
    return bitwise_xor(a, b);
  }
};

struct BitwiseNot {
  static constexpr OpInfo info{"bitwise_not", "~x", Operands::Integers};
  static double forward(double x) { return -x - 1.0; }
  static Value forward(Value x) { return !x; }
};

struct LeftShift {
  static constexpr OpInfo info{"left_shift", "a << b", Operands::Integers};
  template <Numeric T>
  static auto forward(T a, T b) {
    return left_shift(a, b);
  }
};

struct RightShift {
  static constexpr OpInfo info{"right_shift", "a >> b", Operands::Integers};
  template <Numeric T>
  static auto forward(T a, T b) {
    return right_shift(a, b);
  }
};

/// The gradient of `where` for a branch: dy where that branch was taken.
struct KeptWhere {
  static constexpr OpInfo info{"kept_where", "x where the condition holds, else 0", Operands::Chosen};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T condition, T x) {
    return where(condition, x, 0.0);
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return Tensor(); }
  static Tensor vjp(Input<1>, const Tensor& condition, const Tensor&, const Tensor&, const Tensor& dy) {
    return elementwise<KeptWhere>(condition, dy);
  }
};

struct DroppedWhere {
  static constexpr OpInfo info{"dropped_where", "0 where the condition holds, else x", Operands::Chosen};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T condition, T x) {
    return where(condition, 0.0, x);
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return Tensor(); }
  static Tensor vjp(Input<1>, const Tensor& condition, const Tensor&, const Tensor&, const Tensor& dy) {
    return elementwise<DroppedWhere>(condition, dy);
  }
};

struct Where {
  static constexpr OpInfo info{"where", "a where the condition holds, else b", Operands::Chosen};
  static constexpr auto zeros = Zeros::AbsorbAll;
  template <Numeric T>
  static auto forward(T condition, T a, T b) {
    return where(condition, a, b);
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return Tensor(); }
  static Tensor vjp(Input<1>, const Tensor& condition, const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) {
    return elementwise<KeptWhere>(condition, dy);
  }
  static Tensor vjp(Input<2>, const Tensor& condition, const Tensor&, const Tensor&, const Tensor&, const Tensor& dy) {
    return elementwise<DroppedWhere>(condition, dy);
  }
};

namespace {

/// A cotangent that is 0 where a condition says so: `inner`, kept or dropped by it.
struct Masked {
  bool kept;
  Tensor condition, inner;
};

bool is_view(const Node& node) { return node.op().role() == Role::View && !node.inputs().empty(); }

bool are_same_condition(const Node& a, const Node& b) {
  if (&a == &b) return true;
  const bool told_by_shape = a.op().name() == "expand" || a.op().name() == "reshape";
  return is_view(a) && is_view(b) && told_by_shape && a.op().name() == b.op().name() && a.shape() == b.shape() &&
         are_same_condition(a.input(0), b.input(0));
}

/// The mask that gradients of `where` put on a cotangent, on the base of a view, or on all the terms of a sum.
std::optional<Masked> masked(const Tensor& dy) {
  const Node& node = *dy.node();
  if (node.forgotten()) return std::nullopt;
  const bool kept = node.op_ref() == Elementwise<KeptWhere>::instance();
  if (kept || node.op_ref() == Elementwise<DroppedWhere>::instance())
    return Masked{kept, Tensor(node.inputs()[0]), Tensor(node.inputs()[1])};
  std::optional<Masked> all;
  if (is_view(node)) {
    if ((all = masked(Tensor(node.inputs()[0])))) {
      const Zeros zeros = all->inner.node()->zeros();
      const auto& where = node.origin().where;
      for (Tensor* x : {&all->condition, &all->inner})
        *x = make_node(node.op_ref(), {graph::expand(*x, node.input(0).shape(), where)}, node.shape(), x->dtype(), where);
      all->inner.node()->raise_zeros(zeros);
    }
    return all;
  }
  if (node.op().name() != "add_n") return std::nullopt;
  std::vector<Tensor> terms;
  Zeros zeros = Zeros::AbsorbAll;
  for (const auto& input : node.inputs()) {
    const std::optional<Masked> one = masked(Tensor(input));
    if (!one || (all && (all->kept != one->kept || !are_same_condition(*all->condition.node(), *one->condition.node()))))
      return std::nullopt;
    if (!all) all = one;
    terms.push_back(one->inner);
    zeros = std::min(zeros, one->inner.node()->zeros());
  }
  all->inner = graph::add_n(terms, node.origin().where);
  all->inner.node()->raise_zeros(zeros);
  return all;
}

}  // namespace

Tensor times_partial(const Tensor& dy, const Partial& partial) {
  if (const std::optional<Masked> mask = masked(dy)) {
    const Tensor inner = times_partial(mask->inner, partial);
    if (!inner.defined()) return inner;
    return mask->kept ? elementwise<KeptWhere>(mask->condition, inner) : elementwise<DroppedWhere>(mask->condition, inner);
  }
  const Tensor product = absorbed_by(dy, partial.times(dy), partial.factor);
  if (product.defined()) product.node()->raise_zeros(std::max(dy.node()->zeros(), partial.zeros));
  return product;
}

Tensor kept_where(const Tensor& condition, const Tensor& x) { return elementwise<KeptWhere>(condition, x); }

Tensor absorbed_by(const Tensor& cotangent, const Tensor& product, Factor factor) {
  const Zeros zeros = cotangent.node()->zeros();
  const bool absorbs = zeros == Zeros::AbsorbAll ? factor != Factor::Safe : zeros == Zeros::AbsorbPoles && factor == Factor::Pole;
  return absorbs && product.defined() ? absorbed(product, std::span(&cotangent, 1)) : product;
}

}  // namespace formula

Tensor operator&&(Arg a, Arg b) { return logical_and(a, b); }
Tensor operator||(Arg a, Arg b) { return logical_or(a, b); }
Tensor operator!(Arg x) { return logical_not(x); }
Tensor logical_and(Arg a, Arg b) { return elementwise<formula::LogicalAnd>(a, b); }
Tensor logical_or(Arg a, Arg b) { return elementwise<formula::LogicalOr>(a, b); }
Tensor logical_xor(Arg a, Arg b) { return elementwise<formula::LogicalXor>(a, b); }
Tensor logical_not(Arg x) { return elementwise<formula::LogicalNot>(x); }

Tensor operator&(Arg a, Arg b) { return bitwise_and(a, b); }
Tensor operator|(Arg a, Arg b) { return bitwise_or(a, b); }
Tensor operator^(Arg a, Arg b) { return bitwise_xor(a, b); }
Tensor operator~(Arg x) { return bitwise_not(x); }
Tensor operator<<(Arg a, Arg amount) { return left_shift(a, amount); }
Tensor operator>>(Arg a, Arg amount) { return right_shift(a, amount); }
Tensor bitwise_and(Arg a, Arg b) { return elementwise<formula::BitwiseAnd>(a, b); }
Tensor bitwise_or(Arg a, Arg b) { return elementwise<formula::BitwiseOr>(a, b); }
Tensor bitwise_xor(Arg a, Arg b) { return elementwise<formula::BitwiseXor>(a, b); }
Tensor bitwise_not(Arg x) { return result_type("bitwise_not", {x}) == boolean ? logical_not(x) : elementwise<formula::BitwiseNot>(x); }
Tensor left_shift(Arg a, Arg amount) { return elementwise<formula::LeftShift>(a, amount); }
Tensor right_shift(Arg a, Arg amount) { return elementwise<formula::RightShift>(a, amount); }

Tensor where(Arg condition, Arg a, Arg b) { return elementwise<formula::Where>(condition, a, b); }

Tensor cast(Arg x, DType dtype) {
  if (!x.is_number()) {
    const Tensor t = x.tensor("cast");
    return graph::distinct(graph::cast(t, dtype, x.loc), t, x.loc);
  }
  return graph::scalar(x.value(), dtype, x.loc);
}

namespace {

OpCase cast_case(DType to) {
  OpCase one = unary_case("cast to " + std::string(name(to)), nullptr, is_integer(to) ? 0 : -5, 100);
  one.function = [to](const std::vector<Tensor>& x) { return cast(x[0], to); };
  one.dtypes = kEverything;
  one.jumps = is_integer(to);
  one.gradient = to == f64;  // finite differences of a rounded value mean nothing
  return one;
}

}  // namespace

std::vector<OpCase> logic_cases() {
  const CaseInput small{.low = 0, .high = 100}, amount{.low = 0, .high = 3}, bit{.low = 0, .high = 1};
  std::vector<OpCase> cases{
      binary_case("logical_and", logical_and, bit, bit),
      binary_case("logical_or", logical_or, bit, bit),
      binary_case("logical_xor", logical_xor, bit, bit),
      unary_case("logical_not", logical_not, 0, 1),
      binary_case("bitwise_and", bitwise_and, small, small),
      binary_case("bitwise_or", bitwise_or, small, small),
      binary_case("bitwise_xor", bitwise_xor, small, small),
      unary_case("bitwise_not", bitwise_not, 0, 100),
      binary_case("left_shift", left_shift, CaseInput{.low = 0, .high = 15}, amount),
      binary_case("right_shift", right_shift, small, amount),
  };
  for (OpCase& one : cases) {
    one.gradient = false;
    const bool shift = one.op.ends_with("shift"), bits = one.op.starts_with("bitwise");
    one.dtypes = shift || one.op == "bitwise_not" ? kIntegers
                 : bits                           ? std::vector<DType>{i64, i32, i16, i8, u64, u32, u16, u8, boolean}
                                                  : kEverything;
    if (one.op == "bitwise_not") one.dtypes = {i64, i32, i16, i8};
  }
  const auto choose = [](const std::vector<Tensor>& x) { return where(x[0], x[1], x[2]); };
  const CaseInput condition{.shape = {33, 7}, .low = 0, .high = 1, .dtype = boolean};
  cases.push_back({.op = "where",
                   .function = choose,
                   .inputs = {condition, {{33, 7}, 0, 5}, {{33, 7}, 0, 5}},
                   .dtypes = kEverything,
                   .more_shapes = {{{33, 1}, {7}, {}}, {{}, {5}, {5}}, {{0, 3}, {3}, {1, 3}}}});
  for (DType to : kAllDTypes) cases.push_back(cast_case(to));
  return cases;
}

void add_logic_ops(OpTable& table) {
  add_formulas<formula::LogicalAnd, formula::LogicalOr, formula::LogicalXor, formula::LogicalNot, formula::BitwiseAnd, formula::BitwiseOr,
               formula::BitwiseXor, formula::BitwiseNot, formula::LeftShift, formula::RightShift, formula::KeptWhere, formula::DroppedWhere,
               formula::Where>(table);
}

}  // namespace tegula
