// Losses of numbers against numbers. Losses of classes are in loss_classes.cpp.

#include "tegula/ops/rows/loss.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/allowed.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

void ops::require_rows(const Shape& losses, LossReduction reduction) {
  if (reduction != LossReduction::Mean || numel(losses) > 0) return;
  const Origin origin = origin_at({});
  const std::string path = origin.path ? *origin.path : "loss";
  throw Error({.op = path.substr(path.rfind('/') + 1),
               .got = "a batch of no rows: losses of shape " + to_string(losses),
               .expected = "at least one, for their mean",
               .advice = "leave the batch out, or take the sum: {.reduction = LossReduction::Sum}",
               .where = origin.where});
}

namespace formula {

/// The logarithms are not below -100, as in PyTorch, and its backward pass is PyTorch's, too: a saturated sigmoid's p is 0 or 1, where a derivative that
/// is infinite would meet the sigmoid's, which is 0.
struct BinaryCrossEntropy {
  static constexpr OpInfo info{"binary_cross_entropy", "-(t log p + (1 - t) log(1 - p))", Operands::Floats, Numerics::Full};
  static constexpr double kLeast = -100, kEps = 1e-12;
  template <Numeric T>
  static auto forward(T p, T t) {
    return -(t * maximum(log(p), kLeast) + (1.0 - t) * maximum(log1p(-p), kLeast));
  }
  template <Numeric T>
  static auto derivative(Input<0>, T p, T t, T) {
    return (p - t) / maximum(p * (1.0 - p), kEps);
  }
  template <Numeric T>
  static auto derivative(Input<1>, T p, T, T) {
    return maximum(log1p(-p), kLeast) - maximum(log(p), kLeast);
  }
};

}  // namespace formula

namespace {

Tensor reduced(const Tensor& x, LossReduction reduction) {
  ops::require_rows(x.shape(), reduction);
  switch (reduction) {
    case LossReduction::Sum: return sum(x);
    case LossReduction::Mean: return mean(x);
    default: return x;
  }
}

/// Two float tensors that broadcast, widened; the result is rounded to `dtype`.
struct Pair {
  Tensor input, target;
  DType dtype;
};

Pair pair_of(std::string_view op, const Arg& input, const Arg& target) {
  const Tensor x = ops::float_tensor(op, input), t = target.tensor(op);
  // (N) against (N, 1) would become (N, N): one of them has to have the shape of the losses.
  const auto common = broadcast(x.shape(), t.shape());
  if (!common || (*common != x.shape() && *common != t.shape())) {
    throw Error({.op = std::string(op),
                 .got = "input of shape " + to_string(x.shape()) + " and target of shape " + to_string(t.shape()),
                 .expected = "equal shapes, or one that broadcasts to the other",
                 .advice = common ? "reshape one of them: together they would give " + to_string(*common) : "",
                 .where = origin_at(input.loc).where});
  }
  const Tensor wide = ops::widen(x);
  return {wide, is_float(t.dtype()) ? ops::widen(t) : graph::cast(t, wide.dtype(), input.loc),
          is_float(t.dtype()) ? promote(x.dtype(), t.dtype()) : x.dtype()};
}

Tensor finish(const Tensor& x, LossReduction reduction, DType dtype) { return ops::narrow(reduced(x, reduction), dtype); }

void expect_positive(std::string_view op, std::string_view what, double value, bool zero_too, const Line& loc) {
  if (value > 0 || (zero_too && value == 0)) return;
  ops::refuse(op, std::string(what) + " = " + number_text(value), zero_too ? "at least 0" : "a number above 0", loc);
}

}  // namespace

Tensor mse_loss(Arg input, Arg target, const LossOptions& options) {
  const In frame("mse_loss", input.loc);
  const Pair p = pair_of("mse_loss", input, target);
  return finish(square(p.input - p.target), options.reduction, p.dtype);
}

Tensor l1_loss(Arg input, Arg target, const LossOptions& options) {
  const In frame("l1_loss", input.loc);
  const Pair p = pair_of("l1_loss", input, target);
  return finish(abs(p.input - p.target), options.reduction, p.dtype);
}

Tensor huber_loss(Arg input, Arg target, const HuberOptions& options) {
  const In frame("huber_loss", input.loc);
  const Pair p = pair_of("huber_loss", input, target);
  expect_positive("huber_loss", "delta", options.delta, false, input.loc);
  const Tensor d = p.input - p.target, size = abs(d);
  const Tensor loss = where(size < options.delta, 0.5 * d * d, options.delta * (size - 0.5 * options.delta));
  return finish(loss, options.reduction, p.dtype);
}

Tensor smooth_l1_loss(Arg input, Arg target, const SmoothL1Options& options) {
  const In frame("smooth_l1_loss", input.loc);
  const Pair p = pair_of("smooth_l1_loss", input, target);
  expect_positive("smooth_l1_loss", "beta", options.beta, true, input.loc);
  const Tensor d = p.input - p.target, size = abs(d);
  if (options.beta == 0) return finish(size, options.reduction, p.dtype);
  const Tensor loss = where(size < options.beta, (0.5 / options.beta) * d * d, size - 0.5 * options.beta);
  return finish(loss, options.reduction, p.dtype);
}

Tensor binary_cross_entropy(Arg input, Arg target, const BinaryCrossEntropyOptions& options) {
  const In frame("binary_cross_entropy", input.loc);
  const Pair p = pair_of("binary_cross_entropy", input, target);
  if (options.pos_weight.defined())
    ops::refuse("binary_cross_entropy", "a pos_weight", "none", input.loc, "binary_cross_entropy_with_logits takes one");
  Tensor loss = elementwise<formula::BinaryCrossEntropy>(p.input, p.target);
  loss = ops::check_allowed("binary_cross_entropy", loss, graph::expand(p.input, loss.shape(), input.loc), ops::Allowed::ProbabilityOrNan,
                            "probability", "binary_cross_entropy_with_logits takes scores of any size", input.loc);
  if (options.weight.defined()) loss = loss * options.weight;
  return finish(loss, options.reduction, p.dtype);
}

Tensor binary_cross_entropy_with_logits(Arg input, Arg target, const BinaryCrossEntropyOptions& options) {
  const In frame("binary_cross_entropy_with_logits", input.loc);
  const Pair p = pair_of("binary_cross_entropy_with_logits", input, target);
  const Tensor& x = p.input;
  const Tensor negative = -log_sigmoid(x);
  Tensor loss;
  if (options.pos_weight.defined()) {
    loss = (1.0 - p.target) * x + (1.0 + (options.pos_weight - 1.0) * p.target) * negative;
  } else {
    loss = (1.0 - p.target) * x + negative;
  }
  if (options.weight.defined()) loss = loss * options.weight;
  return finish(loss, options.reduction, p.dtype);
}

Tensor sigmoid_focal_loss(Arg input, Arg target, const FocalOptions& options) {
  const In frame("sigmoid_focal_loss", input.loc);
  const Pair pair = pair_of("sigmoid_focal_loss", input, target);
  if (!(options.gamma >= 0)) expect_positive("sigmoid_focal_loss", "gamma", options.gamma, true, input.loc);
  const Tensor &x = pair.input, &t = pair.target, p = sigmoid(x);
  const Tensor wrong = p + t - 2.0 * p * t;  // 1 - p_t
  Tensor loss = (1.0 - t) * x - log_sigmoid(x);
  if (options.gamma != 0) loss = loss * pow(wrong, options.gamma);
  if (options.alpha >= 0) loss = loss * (options.alpha * t + (1 - options.alpha) * (1.0 - t));
  return finish(loss, options.reduction, pair.dtype);
}

Tensor dice_loss(Arg input, Arg target, const DiceOptions& options) {
  const In frame("dice_loss", input.loc);
  const Pair p = pair_of("dice_loss", input, target);
  if (p.input.rank() < 2 || p.input.shape() != p.target.shape())
    ops::refuse("dice_loss", "shapes " + to_string(p.input.shape()) + " and " + to_string(p.target.shape()), "two equal ones (N, …)",
                input.loc);
  const auto total = [](const Tensor& x) { return sum(flatten(x, 1), 1); };
  const Tensor both = total(p.input * p.target), either = total(p.input) + total(p.target);
  return finish(1.0 - (2.0 * both + options.smooth) / (either + options.smooth), options.reduction, p.dtype);
}

Tensor kl_div(Arg input, Arg target, const KlDivOptions& options) {
  const In frame("kl_div", input.loc);
  const Pair p = pair_of("kl_div", input, target);
  const Tensor share = options.log_target ? exp(p.target) : p.target;
  const Tensor all = options.log_target ? share * (p.target - p.input) : xlogy(share, share) - share * p.input;
  const Tensor loss = where(share == 0, 0.0, all);  // whatever the input is: -inf is a class that cannot be
  if (!options.batch_mean) return finish(loss, options.reduction, p.dtype);
  ops::require_rows(loss.shape(), LossReduction::Mean);
  return ops::narrow(sum(loss) / static_cast<double>(loss.rank() == 0 ? 1 : loss.shape()[0]), p.dtype);
}

Tensor hinge_loss(Arg input, Arg target, const LossOptions& options) {
  const In frame("hinge_loss", input.loc);
  const Pair p = pair_of("hinge_loss", input, target);
  const Tensor slack = 1.0 - p.target * p.input;
  return finish(where(slack > 0, slack, 0.0), options.reduction, p.dtype);
}

Tensor cosine_embedding_loss(Arg a, Arg b, Arg target, const CosineEmbeddingOptions& options) {
  const In frame("cosine_embedding_loss", a.loc);
  const Pair p = pair_of("cosine_embedding_loss", a, b);
  Tensor t = target.tensor("cosine_embedding_loss");
  if (p.input.rank() == 0 || t.rank() != p.input.rank() - 1) {
    ops::refuse("cosine_embedding_loss", "inputs of shape " + to_string(p.input.shape()) + " and target of shape " + to_string(t.shape()),
                "inputs (N, D) and target (N)", a.loc);
  }
  t = is_float(t.dtype()) ? ops::widen(t) : graph::cast(t, f32, a.loc);
  t = ops::check_allowed("cosine_embedding_loss", t, t, ops::Allowed::MinusOneOrOne, "target", "", a.loc);
  constexpr double kEps = 1e-12;  // as in PyTorch, inside the root
  // In f64, which has room for the squares of numbers of f32.
  const Tensor x = graph::cast(p.input, f64), y = graph::cast(p.target, f64);
  const auto power = [](const Tensor& v) { return sum(v * v, -1) + kEps; };
  const Tensor cosine = sum(x * y, -1) * rsqrt(power(x) * power(y));
  const Tensor apart = cosine - options.margin;
  return finish(where(t > 0, 1.0 - cosine, where(apart > 0, apart, 0.0)), options.reduction, p.dtype);
}

Tensor triplet_margin_loss(Arg anchor, Arg positive, Arg negative, const TripletMarginOptions& options) {
  const In frame("triplet_margin_loss", anchor.loc);
  const Pair near = pair_of("triplet_margin_loss", anchor, positive), far = pair_of("triplet_margin_loss", anchor, negative);
  if (near.input.rank() == 0) ops::refuse("triplet_margin_loss", "shape ()", "at least one axis", anchor.loc);
  constexpr double kEps = 1e-6;  // PyTorch adds it to each difference
  const auto distance = [](const Pair& p) { return norm(p.input - p.target + kEps, 2, -1); };
  const Tensor slack = distance(near) - distance(far) + options.margin;
  return finish(where(slack > 0, slack, 0.0), options.reduction, near.dtype);
}

std::vector<OpCase> loss_cases() {
  const CaseInput real{{5, 7}}, share{{5, 7}, 0.05, 0.95}, sign{{7}, 0.5, 1};
  std::vector<OpCase> cases;
  const auto add = [&](const std::string& op, auto loss, const CaseInput& input, const CaseInput& target) {
    for (const LossReduction reduction : {LossReduction::None, LossReduction::Sum, LossReduction::Mean}) {
      cases.push_back(
          {.op = op, .function = [=](const auto& x) { return loss(x, reduction); }, .inputs = {input, target}, .tolerance = 64});
    }
  };
  add("mse_loss", [](const auto& x, LossReduction r) { return mse_loss(x[0], x[1], {r}); }, real, real);
  add("l1_loss", [](const auto& x, LossReduction r) { return l1_loss(x[0], x[1], {r}); }, real, {{7}, 2.5, 3});
  add("huber_loss", [](const auto& x, LossReduction r) { return huber_loss(x[0], x[1], {.delta = 0.7, .reduction = r}); }, real, real);
  add(
      "smooth_l1_loss", [](const auto& x, LossReduction r) { return smooth_l1_loss(x[0], x[1], {.beta = 0.7, .reduction = r}); }, real,
      real);
  add(
      "binary_cross_entropy", [](const auto& x, LossReduction r) { return binary_cross_entropy(x[0], x[1], {.reduction = r}); }, share,
      share);
  add(
      "bce_with_logits", [](const auto& x, LossReduction r) { return binary_cross_entropy_with_logits(x[0], x[1], {.reduction = r}); },
      real, share);
  add(
      "sigmoid_focal_loss", [](const auto& x, LossReduction r) { return sigmoid_focal_loss(x[0], x[1], {.gamma = 1.5, .reduction = r}); },
      real, share);
  add("dice_loss", [](const auto& x, LossReduction r) { return dice_loss(x[0], x[1], {.reduction = r}); }, share, share);
  cases.push_back(
      {.op = "bce_with_logits",
       .function = [](const auto& x) { return binary_cross_entropy_with_logits(x[0], x[1], {.weight = x[2], .pos_weight = x[2]}); },
       .inputs = {real, share, {{7}, 0.5, 2}},
       .tolerance = 64});
  add("kl_div", [](const auto& x, LossReduction r) { return kl_div(x[0], x[1], {.reduction = r}); }, real, share);
  cases.push_back({.op = "kl_div",
                   .function = [](const auto& x) { return kl_div(x[0], x[1], {.log_target = true, .batch_mean = true}); },
                   .inputs = {real, real},
                   .tolerance = 64});
  add("hinge_loss", [](const auto& x, LossReduction r) { return hinge_loss(x[0], x[1], {r}); }, real, sign);
  cases.push_back({.op = "cosine_embedding_loss",
                   .function = [](const auto& x) { return cosine_embedding_loss(x[0], x[1], x[2] * 2 - 1, {.margin = 0.1}); },
                   .inputs = {real, real, {{5}, 0, 1, DType::i64}},
                   .tolerance = 64});
  cases.push_back({.op = "triplet_margin_loss",
                   .function = [](const auto& x) { return triplet_margin_loss(x[0], x[1], x[2]); },
                   .inputs = {real, real, real},
                   .tolerance = 64});
  return cases;
}

void add_loss_ops(OpTable& table) { add_formulas<formula::BinaryCrossEntropy>(table); }

}  // namespace tegula
