#include "tegula/ops/dropout.h"

#include <cmath>

#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/op_families.h"

namespace tegula {
namespace formula {

/// `where` for decisions that do not depend on x: the zeros of its gradient absorb nothing, and the layers before it keep their kernels.
struct Keep {
  static constexpr OpInfo info{"keep", "x where it is kept, else 0", Operands::Chosen};
  template <Numeric T>
  static auto forward(T kept, T x) {
    return where(kept, x, 0.0);
  }
  static Tensor vjp(Input<0>, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return Tensor(); }
  static Tensor vjp(Input<1>, const Tensor& kept, const Tensor&, const Tensor&, const Tensor& dy) { return kept_where(kept, dy); }
};

}  // namespace formula

namespace {

Tensor input_of(std::string_view op, const Arg& x, double p) {
  if (!(p >= 0 && p <= 1)) ops::refuse(op, "p = " + number_text(p), "a probability", x.loc);
  return ops::float_tensor(op, x);
}

Tensor kept(std::string_view op, const Arg& arg, const Shape& decisions, double p, Generator* generator) {
  const In frame(op, arg.loc);
  Tensor x = input_of(op, arg, p);
  if (p == 0) return graph::distinct(x, arg.tensor(op), arg.loc);
  const Tensor keep = graph::expand(bernoulli(Arg(1 - p, arg.loc), decisions, generator), x.shape(), arg.loc);
  return elementwise<formula::Keep>(keep, p == 1 ? x : x * (1 / (1 - p)));
}

}  // namespace

Tensor dropout(Arg x, double p, Generator* generator) { return kept("dropout", x, x.tensor("dropout").shape(), p, generator); }

Tensor dropout_channels(Arg x, double p, Generator* generator, AxisOrder layout) {
  Shape decisions = x.tensor("dropout_channels").shape();
  const bool is_last = layout == Layout::NHWC;
  if (decisions.rank() < 2)
    ops::refuse("dropout_channels", "shape " + to_string(decisions), is_last ? "(batch, …, channels)" : "(batch, channels, …)", x.loc);
  const int channels = is_last ? decisions.rank() - 1 : 1;
  for (int i = 1; i < decisions.rank(); ++i)
    if (i != channels) decisions[i] = 1;
  return kept("dropout_channels", x, decisions, p, generator);
}

Tensor stochastic_depth(Arg x, double p, int axis, Generator* generator) {
  Shape decisions = x.tensor("stochastic_depth").shape();
  const int kept_axis = axis < 0 ? axis + decisions.rank() : axis;
  if (kept_axis < 0 || kept_axis >= decisions.rank())
    ops::refuse("stochastic_depth", "axis " + std::to_string(axis) + " of shape " + to_string(decisions), "one of its axes", x.loc);
  for (int i = 0; i < decisions.rank(); ++i) {
    if (i != kept_axis) decisions[i] = 1;
  }
  return kept("stochastic_depth", x, decisions, p, generator);
}

Tensor alpha_dropout(Arg arg, double p, Generator* generator) {
  const In frame("alpha_dropout", arg.loc);
  Tensor x = input_of("alpha_dropout", arg, p);
  if (p == 0) return graph::distinct(x, arg.tensor("alpha_dropout"), arg.loc);
  constexpr double kSaturation = -1.7580993408473766;  // -lambda * alpha of selu: where its negative part ends
  const double q = 1 - p;
  if (q == 0) return x * 0.0;
  const double a = 1 / std::sqrt(q + kSaturation * kSaturation * q * p), b = -a * kSaturation * p;
  return where(bernoulli(Arg(q, arg.loc), x.shape(), generator), x, kSaturation) * a + b;
}

std::vector<OpCase> dropout_cases() {
  // A generator of its own for every call, so that finite differences see the same zeros.
  return {
      {.op = "dropout",
       .function =
           [](const auto& x) {
             Generator g(3);
             return dropout(x[0], 0.3, &g);
           },
       .inputs = {{{7, 33}}},
       .more_shapes = {{{0, 3}}}},
      {.op = "dropout_channels",
       .function =
           [](const auto& x) {
             Generator g(3);
             return dropout_channels(x[0], 0.3, &g);
           },
       .inputs = {{{4, 5, 3}}}},
      {.op = "dropout_channels",
       .function =
           [](const auto& x) {
             Generator g(3);
             return dropout_channels(x[0], 0.3, &g, Layout::NHWC);
           },
       .inputs = {{{4, 2, 3, 5}}}},
      {.op = "stochastic_depth",
       .function =
           [](const auto& x) {
             Generator g(3);
             return stochastic_depth(x[0], 0.4, 1, &g);
           },
       .inputs = {{{4, 9, 3}}}},
      {.op = "alpha_dropout",
       .function =
           [](const auto& x) {
             Generator g(3);
             return alpha_dropout(x[0], 0.3, &g);
           },
       .inputs = {{{7, 33}}}},
  };
}

void add_dropout_ops(OpTable& table) { add_formulas<formula::Keep>(table); }

}  // namespace tegula
