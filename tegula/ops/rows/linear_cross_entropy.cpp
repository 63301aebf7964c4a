#include "tegula/ops/rows/linear_cross_entropy.h"

#include <algorithm>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "linear_cross_entropy";

/// x, which is not used before `first` is there: chunks come one after the other, so that they share memory.
Tensor after(const Tensor& x, const Tensor& first) {
  return first.defined() ? make_node(barrier_op(), {x, first}, x.shape(), x.dtype(), {}) : x;
}

/// x (N, D), weight (V, D)[, bias (V)] -> f(number of the chunk, scores (N, classes of the chunk)), widened.
Tensor scores_of(const std::vector<Tensor>& in, const Tensor& x, Slice classes) {
  const Tensor w = slice(in[1], 0, classes);
  return ops::widen(in.size() > 2 ? linear(x, w, slice(in[2], 0, classes)) : linear(x, w));
}

/// (N): the logarithm of each row's Σ exp(score), chunk by chunk.
Tensor log_sums(const std::vector<Tensor>& inputs, std::int64_t chunk, const Line& where) {
  const auto forward = [chunk](const std::vector<Tensor>& in) {
    const std::int64_t classes = in[1].size(0);
    Tensor total;
    for (std::int64_t c = 0; c < classes; c += chunk) {
      const Tensor here = logsumexp(scores_of(in, after(in[0], total), {c, std::min(c + chunk, classes)}), 1);
      if (!total.defined()) {
        total = here;
        continue;
      }
      const Tensor most = maximum(total, here);
      total = most + log(exp(total - most) + exp(here - most));
    }
    return total;
  };
  const auto backward = [chunk](const std::vector<Tensor>& in, const Tensor& y, const Tensor& dy) {
    const std::int64_t classes = in[1].size(0);
    Tensor dx;
    std::vector<Tensor> dw, db;
    for (std::int64_t c = 0; c < classes; c += chunk) {
      const Slice slice_of{c, std::min(c + chunk, classes)};
      const Tensor x = after(in[0], dx);
      const Tensor p = exp(scores_of(in, x, slice_of) - unsqueeze(y, 1)) * unsqueeze(dy, 1);
      const Tensor ds = ops::narrow(p, x.dtype());
      const Tensor here = matmul(ds, slice(in[1], 0, slice_of));
      dx = dx.defined() ? dx + here : here;
      dw.push_back(matmul(transpose(ds), x));
      if (in.size() > 2) db.push_back(ops::narrow(sum(p, 0), x.dtype()));
    }
    std::vector<Tensor> out{dx, concat(dw, 0)};
    if (!db.empty()) out.push_back(concat(db, 0));
    return out;
  };
  return custom_function("log_sums", {{"chunk", chunk}}, forward, backward, inputs, where);
}

}  // namespace

Tensor linear_cross_entropy(Arg of_x, Arg of_weight, Arg of_labels, const LinearCrossEntropyOptions& options) {
  const In frame(kName, of_x.loc);
  const auto& where = of_x.loc;
  const Tensor given = ops::float_tensor(kName, of_x), weight = graph::cast(ops::float_tensor(kName, of_weight), given.dtype(), where);
  const Tensor labels = of_labels.tensor(kName);
  Shape rows = given.shape();
  const bool fits = given.rank() >= 1 && weight.rank() == 2 && weight.shape()[1] == given.shape().back() && weight.shape()[0] > 0;
  if (fits) rows.erase(given.rank() - 1);
  if (!fits || labels.shape() != rows || !is_integer(labels.dtype())) {
    ops::refuse(kName,
                "x " + to_string(given.shape()) + ", weight " + to_string(weight.shape()) + " and labels " +
                    std::string(name(labels.dtype())) + to_string(labels.shape()),
                "x (…, features), weight (classes, features) and integers (…)", where);
  }
  if (options.chunk < 1) ops::refuse(kName, "chunk = " + std::to_string(options.chunk), "at least 1", where);
  const Tensor own = graph::reshape(graph::cast(labels, i64, where), {numel(rows)}, where);
  const Tensor counts = options.ignore_index ? own != *options.ignore_index : Tensor();
  Tensor x = graph::reshape(given, {numel(rows), given.shape().back()}, where);
  if (counts.defined()) x = tegula::where(unsqueeze(counts, 1), x, 0.0);  // an ignored row must not reach the weight's gradient
  std::vector<Tensor> inputs{x, weight};
  if (options.bias.defined()) {
    if (options.bias.shape() != Shape{weight.shape()[0]})
      ops::refuse(kName, "a bias of shape " + to_string(options.bias.shape()), to_string(Shape{weight.shape()[0]}), where);
    inputs.push_back(graph::cast(options.bias, given.dtype(), where));
  }
  const std::int64_t classes = weight.shape()[0];
  const Tensor label = clamp(own, 0, classes - 1);
  Tensor picked = sum(ops::widen(x) * ops::widen(take(weight, label, 0)), 1);
  if (options.bias.defined()) picked = picked + ops::widen(take(inputs[2], label, 0));
  Tensor loss = ops::check_labels(kName, log_sums(inputs, options.chunk, where) - picked, own, {classes, options.ignore_index}, where);
  if (counts.defined()) loss = tegula::where(counts, loss, 0.0);
  if (options.reduction == LossReduction::None) return ops::narrow(graph::reshape(loss, rows, where), given.dtype());
  ops::require_rows(rows, options.reduction);
  const Tensor total = sum(loss);
  if (options.reduction == LossReduction::Sum) return ops::narrow(total, given.dtype());
  const Tensor number = counts.defined() ? cast(count_nonzero(counts), loss.dtype()) : Tensor();
  return ops::narrow(number.defined() ? total / number : total / static_cast<double>(numel(rows)), given.dtype());
}

std::vector<OpCase> linear_cross_entropy_cases() {
  using Inputs = std::vector<Tensor>;
  std::vector<OpCase> cases;
  const auto add = [&](std::vector<CaseInput> inputs, auto function, std::vector<std::vector<Shape>> more = {}) {
    cases.push_back(
        {.op = std::string(kName), .function = function, .inputs = std::move(inputs), .more_shapes = std::move(more), .tolerance = 64});
  };
  const auto labels = [](Shape shape) { return CaseInput{.shape = shape, .low = 0, .high = 10, .dtype = i64}; };
  add({{{3, 4, 5}}, {{11, 5}}, labels({3, 4})}, [](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], {.chunk = 4}); },
      {{{7}, {11, 7}, {}}, {{9, 33}, {40, 33}, {9}}});
  add({{{6, 5}}, {{11, 5}}, labels({6}), {{11}}},
      [](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], {.bias = x[3], .ignore_index = 3, .chunk = 5}); });
  add({{{6, 5}}, {{11, 5}}, labels({6})},
      [](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], {.reduction = LossReduction::None}); });
  return cases;
}

}  // namespace tegula
