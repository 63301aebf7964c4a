// Losses of class scores against labels.

#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"

namespace tegula {
namespace {

/// Scores (N, C, d…) and labels (N, d…) after checking; a single sample got an axis of size 1.
struct Problem {
  std::string_view op;
  Line loc;
  Tensor scores, labels;
  ops::Classes classes;
  bool single;
  DType dtype;

  Tensor mask() const { return ops::one_hot_mask(labels, scores.shape(), loc); }
};

[[noreturn]] void refuse(std::string_view op, const Tensor& scores, const Tensor& labels, std::string expected, std::string advice,
                         const Line& loc) {
  throw Error({.op = std::string(op),
               .got = "scores " + std::string(name(scores.dtype())) + to_string(scores.shape()) + " and labels " +
                      std::string(name(labels.dtype())) + to_string(labels.shape()),
               .expected = std::move(expected),
               .advice = std::move(advice),
               .where = origin_at(loc).where});
}

Tensor in_front(const Tensor& x) {
  Shape shape = x.shape();
  shape.insert(0, 1);
  return graph::reshape(x, shape);
}

Problem problem_of(std::string_view op, const Arg& arg, const Arg& label_arg, std::optional<std::int64_t> ignored) {
  const Tensor given = ops::float_tensor(op, arg);
  Tensor labels = label_arg.tensor(op);
  Shape expected = given.shape();
  if (given.rank() == 0) refuse(op, given, labels, "scores (C), (N, C) or (N, C, d…)", "", arg.loc);
  expected.erase(given.rank() == 1 ? 0 : 1);
  if (!is_integer(labels.dtype())) {
    refuse(op, given, labels, "labels of an integer dtype and shape " + to_string(expected),
           "cast(labels, i64); class probabilities have the shape of the scores", arg.loc);
  }
  if (labels.shape() != expected) {
    const bool column = labels.rank() == expected.rank() + 1 && labels.shape().back() == 1;
    refuse(op, given, labels, "labels of shape " + to_string(expected),
           column ? "squeeze(labels, -1)" : "axis 1 of the scores counts the classes", arg.loc);
  }
  labels = graph::cast(labels, DType::i64, arg.loc);
  const bool single = given.rank() == 1;
  Tensor scores = ops::widen(given);
  if (single) scores = in_front(scores), labels = in_front(labels);
  if (scores.shape()[1] == 0) refuse(op, given, labels, "at least one class", "", arg.loc);
  return {op, arg.loc, scores, labels, {scores.shape()[1], ignored}, single, given.dtype()};
}

Tensor class_weights(const Problem& p, const Tensor& weight) {
  if (weight.shape() != Shape{p.classes.count}) {
    ops::refuse(p.op, "class weights of shape " + to_string(weight.shape()), "shape (" + std::to_string(p.classes.count) + ",)", p.loc);
  }
  return ops::along_channels(graph::cast(weight, p.scores.dtype()), p.scores.rank());
}

Tensor zero_unless(const Tensor& mask, const Tensor& x) { return where(mask, x, 0.0); }

/// Per-sample losses (N, d…), and the factors that Mean divides by (empty: the number of samples).
Tensor finish(const Problem& p, Tensor losses, Tensor factors, LossReduction reduction) {
  if (p.classes.ignored) {
    const Tensor counted = p.labels != *p.classes.ignored;
    losses = zero_unless(counted, losses);
    factors = factors.defined() ? zero_unless(counted, factors) : graph::cast(counted, losses.dtype());
  }
  losses = ops::check_labels(p.op, losses, p.labels, p.classes, p.loc);
  if (reduction == LossReduction::None) return ops::narrow(p.single ? graph::reshape(losses, {}) : losses, p.dtype);
  if (reduction == LossReduction::Sum) return ops::narrow(sum(losses), p.dtype);
  ops::require_rows(losses.shape(), reduction);
  return ops::narrow(factors.defined() ? sum(losses) / sum(factors) : mean(losses), p.dtype);
}

void expect_share(std::string_view op, double smoothing, const Line& loc) {
  if (smoothing >= 0 && smoothing <= 1) return;
  ops::refuse(op, "label_smoothing = " + number_text(smoothing), "a share between 0 and 1", loc);
}

/// x - max and log Σ exp of it along axis 1: log softmax is the difference.
struct Shifted {
  Tensor x, log_sum;  // (N, C, d…), (N, d…)
};
Shifted shift(const Tensor& scores) {
  const Tensor x = scores - graph::stop_gradient(max(scores, 1, Keep::Yes));
  return {x, log(sum(exp(x), 1))};
}

Tensor against_probabilities(const Arg& arg, const Tensor& given, const Tensor& target, const CrossEntropyOptions& options) {
  const int axis = given.rank() == 1 ? 0 : 1;
  const auto classes = static_cast<double>(given.shape()[axis]);
  Tensor t = ops::widen(target);
  if (options.label_smoothing > 0) t = t * (1 - options.label_smoothing) + options.label_smoothing / classes;
  const Tensor logs = log_softmax(ops::widen(given), axis);
  Tensor terms = where(t == 0.0 && logs == -std::numeric_limits<double>::infinity(), 0.0, -t * logs);  // 0 log 0
  if (options.weight.defined()) {
    const Problem p{"cross_entropy", arg.loc,      axis == 0 ? in_front(terms) : terms, Tensor(), {given.shape()[axis], {}},
                    axis == 0,       given.dtype()};
    const Tensor weight = class_weights(p, options.weight);
    terms = terms * weight;
  }
  const Tensor losses = sum(terms, axis);
  if (options.reduction == LossReduction::None) return ops::narrow(losses, given.dtype());
  ops::require_rows(losses.shape(), options.reduction);
  const Tensor total = sum(losses);
  return ops::narrow(options.reduction == LossReduction::Sum ? total : total / (static_cast<double>(given.numel()) / classes),
                     given.dtype());
}

}  // namespace

// One pass over the scores: maximum, Σ exp and the picked score are reductions of the same rows, the label is compared, never gathered.
Tensor cross_entropy(Arg logits, Arg labels, const CrossEntropyOptions& options) {
  const In frame("cross_entropy", logits.loc);
  expect_share("cross_entropy", options.label_smoothing, logits.loc);
  const Tensor given = ops::float_tensor("cross_entropy", logits), target = labels.tensor("cross_entropy");
  if (given.rank() > 0 && given.shape()[given.rank() == 1 ? 0 : 1] == 1) {
    refuse("cross_entropy", given, target, "at least two classes: the loss of one is always 0",
           "mse_loss compares numbers; binary_cross_entropy_with_logits takes one score for two classes", logits.loc);
  }
  if (is_float(target.dtype()) && target.shape() == given.shape() && given.rank() > 0)
    return against_probabilities(logits, given, target, options);

  const Problem p = problem_of("cross_entropy", logits, labels, options.ignore_index);
  const Shifted s = shift(p.scores);
  const Tensor mask = p.mask();
  Tensor losses = s.log_sum - sum(zero_unless(mask, s.x), 1), factors;
  Tensor weight;
  if (options.weight.defined()) {
    weight = class_weights(p, options.weight);
    factors = sum(zero_unless(mask, weight), 1);
    losses = losses * factors;
  }
  if (options.label_smoothing > 0) {
    const double share = options.label_smoothing / static_cast<double>(p.classes.count);
    const Tensor even =
        weight.defined() ? s.log_sum * sum(weight) - sum(s.x * weight, 1) : s.log_sum * static_cast<double>(p.classes.count) - sum(s.x, 1);
    losses = losses * (1 - options.label_smoothing) + even * share;
  }
  return finish(p, losses, factors, options.reduction);
}

Tensor nll_loss(Arg log_probabilities, Arg labels, const NllOptions& options) {
  const In frame("nll_loss", log_probabilities.loc);
  const Problem p = problem_of("nll_loss", log_probabilities, labels, options.ignore_index);
  const Tensor mask = p.mask();
  Tensor losses = -sum(zero_unless(mask, p.scores), 1), factors;
  if (options.weight.defined()) {
    factors = sum(zero_unless(mask, class_weights(p, options.weight)), 1);
    losses = losses * factors;
  }
  return finish(p, losses, factors, options.reduction);
}

Tensor multi_margin_loss(Arg input, Arg labels, const MultiMarginOptions& options) {
  const In frame("multi_margin_loss", input.loc);
  const Problem p = problem_of("multi_margin_loss", input, labels, {});
  const Tensor mask = p.mask();
  const Tensor right = sum(zero_unless(mask, p.scores), 1, Keep::Yes);
  const Tensor slack = p.scores - right + options.margin;
  const Tensor losses = sum(where(!mask && slack > 0, slack, 0.0), 1) / static_cast<double>(p.classes.count);
  return finish(p, losses, {}, options.reduction);
}

std::vector<OpCase> class_loss_cases() {
  const CaseInput scores{{5, 7}, -4, 4}, labels{{5}, 0, 6, DType::i64}, weights{{7}, 0.5, 2, {}, false};
  const std::vector<std::vector<Shape>> shapes{{{7}, {}}, {{2, 7, 3}, {2, 3}}, {{33, 7}, {33}}};
  std::vector<OpCase> cases;
  for (const LossReduction reduction : {LossReduction::None, LossReduction::Sum, LossReduction::Mean}) {
    cases.push_back({.op = "cross_entropy",
                     .function = [=](const auto& x) { return cross_entropy(x[0], x[1], {.reduction = reduction}); },
                     .inputs = {scores, labels},
                     .more_shapes = shapes});
    cases.push_back({.op = "cross_entropy",
                     .function =
                         [=](const auto& x) {
                           return cross_entropy(x[0], x[1],
                                                {.weight = x[2], .ignore_index = 3, .reduction = reduction, .label_smoothing = 0.2});
                         },
                     .inputs = {scores, {{5}, 0, 6, DType::u8}, weights}});
    cases.push_back(
        {.op = "cross_entropy",
         .function =
             [=](const auto& x) { return cross_entropy(x[0], x[1], {.weight = x[2], .reduction = reduction, .label_smoothing = 0.1}); },
         .inputs = {scores, {{5, 7}, 0, 1}, weights}});
    cases.push_back(
        {.op = "nll_loss",
         .function = [=](const auto& x) { return nll_loss(x[0], x[1], {.weight = x[2], .ignore_index = 2, .reduction = reduction}); },
         .inputs = {scores, labels, weights}});
    cases.push_back({.op = "multi_margin_loss",
                     .function = [=](const auto& x) { return multi_margin_loss(x[0], x[1], {.reduction = reduction}); },
                     .inputs = {scores, labels}});
  }
  cases.push_back({.op = "nll_loss",
                   .function = [](const auto& x) { return nll_loss(x[0], x[1]); },
                   .inputs = {scores, labels},
                   .more_shapes = shapes});
  for (OpCase& one : cases) one.tolerance = 64;
  return cases;
}

}  // namespace tegula
