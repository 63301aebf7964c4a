#include "tegula/ops/rows/allowed.h"

#include <limits>
#include <string>

#include "tegula/core/text.h"
#include "tegula/graph/op_table.h"
#include "tegula/ops/op_families.h"
#include "tegula/tile/builder.h"

namespace tegula::ops {
namespace {

constexpr double kUnit = 1e-6;  // a number is reported as so many of these
constexpr std::int64_t kNan = std::numeric_limits<std::int64_t>::min();

/// (value, numbers looked at, anchor) -> value. The anchor is a value of the forward pass's own group, as of class labels (label.cpp).
class CheckAllowedOp final : public ElementwiseOp {
 public:
  CheckAllowedOp(std::string_view op, Allowed allowed, std::string_view what, std::string_view advice)
      : op_(op),
        what_(what),
        advice_(advice),
        allowed_(allowed) {}
  std::string_view name() const override { return "check_allowed"; }
  std::string_view check_name() const override { return op_; }
  bool has_check() const override { return true; }
  void attributes(Attributes& a) override {
    a("of", op_);
    a.choice("allowed", allowed_, {"probability", "probability or NaN", "-1 or 1"});
    a("what", what_);
    a("advice", advice_);
  }
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType) const override {
    const tile::Value number = x[1], nan = tile::unary(tile::Word::IsNan, number);
    tile::Value fine = allowed_ == Allowed::MinusOneOrOne ? tile::unary(tile::Word::Abs, number) == 1.0 : number >= 0.0 && number <= 1.0;
    if (allowed_ == Allowed::ProbabilityOrNan) fine = fine || nan;
    const tile::Value told = tile::cast(tile::unary(tile::Word::Round, number * (1 / kUnit)), DType::i64);
    builder.check(fine, tile::select(nan, builder.constant(kNan, DType::i64), told), 0);
    return x[0];
  }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::string check_message(std::int64_t, std::int64_t value) const override {
    return "a " + what_ + " of " + (value == kNan ? "NaN" : number_text(static_cast<double>(value) / (1 / kUnit))) + ", expected " +
           (allowed_ == Allowed::MinusOneOrOne ? "-1 or 1" : "one in [0, 1]");
  }
  std::string check_advice() const override { return advice_.empty() ? ElementwiseOp::check_advice() : advice_; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {make_node(Ref<const Op>(new CheckAllowedOp(op_, allowed_, what_, advice_)), {dy, Tensor(y.inputs()[1]), Tensor(y.inputs()[0])},
                      dy.shape(), dy.dtype(), y.origin().where),
            Tensor(), Tensor()};
  }

 private:
  std::string op_, what_, advice_;
  Allowed allowed_;
};

}  // namespace

Tensor check_allowed(std::string_view op, const Tensor& x, const Tensor& of, Allowed allowed, std::string_view what,
                     std::string_view advice, const Line& where) {
  return make_node(Ref<const Op>(new CheckAllowedOp(op, allowed, what, advice)), {x, of, x}, x.shape(), x.dtype(), where);
}

}  // namespace tegula::ops

namespace tegula {

void add_allowed_ops(OpTable& table) { table.add_class<ops::CheckAllowedOp>("check_allowed", 3, "", ops::Allowed::Probability, "", ""); }

}  // namespace tegula
