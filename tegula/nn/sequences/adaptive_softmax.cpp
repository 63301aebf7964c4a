#include "tegula/nn/sequences/adaptive_softmax.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/linear_cross_entropy.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {

constexpr std::string_view kName = "AdaptiveLogSoftmaxWithLoss";

const std::vector<std::int64_t>& checked(const std::vector<std::int64_t>& cutoffs, std::int64_t features, std::int64_t classes,
                                         double div_value, const Line& where) {
  require_positive(kName, {{"in_features", features}, {"n_classes", classes}}, where);
  std::int64_t before = 0;
  std::string list;
  for (const std::int64_t cutoff : cutoffs) list += (list.empty() ? "" : ", ") + std::to_string(cutoff);
  for (const std::int64_t cutoff : cutoffs) {
    if (cutoff <= before || cutoff >= classes)
      ops::refuse(kName, "cutoffs " + list, "rising numbers from 1 to " + std::to_string(classes - 1), where);
    before = cutoff;
  }
  if (cutoffs.empty()) ops::refuse(kName, "no cutoffs", "where the first classes and the clusters behind them end", where);
  if (!(div_value > 0)) ops::refuse(kName, "div_value " + number_text(div_value), "a positive number", where);
  return cutoffs;
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(std::int64_t in_features, std::int64_t n_classes, std::vector<std::int64_t> cutoffs,
                                                       const AdaptiveLogSoftmaxOptions& o, Line where)
    : head(in_features, checked(cutoffs, in_features, n_classes, o.div_value, where)[0] + static_cast<std::int64_t>(cutoffs.size()),
           {.bias = o.head_bias, .dtype = o.dtype}, where),
      features_(in_features),
      ends_(std::move(cutoffs)) {
  ends_.push_back(n_classes);
  for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
    const auto narrow =
        static_cast<std::int64_t>(std::floor(static_cast<double>(in_features) / std::pow(o.div_value, static_cast<double>(i + 1))));
    require_positive(kName, {{"features of a cluster (in_features / div_value^i)", narrow}}, where);
    tail.push_back({Linear(in_features, narrow, {.bias = false, .dtype = o.dtype}, where),
                    Linear(narrow, ends_[i + 1] - ends_[i], {.bias = false, .dtype = o.dtype}, where)});
  }
}

Tensor AdaptiveLogSoftmaxWithLoss::rows_of(const Arg& input) const {
  const Tensor x = input.tensor(kName);
  require_features(kName, x, -1, features_, "features", input.loc);
  return reshape(x, {-1, features_});
}

AdaptiveLogSoftmaxOutput AdaptiveLogSoftmaxWithLoss::operator()(Arg input, Arg labels) const {
  const In frame(kName, input.loc);
  const Tensor x = rows_of(input), given = labels.tensor(kName);
  Shape shape = input.tensor(kName).shape();
  shape.erase(shape.rank() - 1);
  if (given.shape() != shape || !is_integer(given.dtype()))
    ops::refuse(kName, "labels of shape " + to_string(given.shape()) + " and dtype " + std::string(name(given.dtype())),
                "integers of shape " + to_string(shape), input.loc);
  const Tensor own = cast(reshape(given, {-1}), i64), label = clamp(own, 0, ends_.back() - 1);
  Tensor place = label, within;  // index in the head, and inside the cluster
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const Tensor inside = i + 1 < tail.size() ? label >= ends_[i] && label < ends_[i + 1] : label >= ends_[i];
    const Tensor losses =
        linear_cross_entropy(tail[i][0](x), tail[i][1].weight, where(inside, label - ends_[i], 0), {.reduction = LossReduction::None});
    const Tensor part = where(inside, losses, 0.0);
    place = where(inside, ends_[0] + static_cast<std::int64_t>(i), place);
    within = within.defined() ? within + part : part;
  }
  const Tensor loss = ops::check_labels(kName, cross_entropy(head(x), place, {.reduction = LossReduction::None}) + within, own,
                                        {.count = ends_.back()}, input.loc);
  return {reshape(-loss, shape), mean(loss)};
}

Tensor AdaptiveLogSoftmaxWithLoss::log_prob(Arg input) const {
  const In frame(kName, input.loc);
  const Tensor x = rows_of(input), first = log_softmax(head(x), 1);
  std::vector<Tensor> parts{slice(first, 1, {0, ends_[0]})};
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const std::int64_t at = ends_[0] + static_cast<std::int64_t>(i);
    parts.push_back(slice(first, 1, {at, at + 1}) + log_softmax(tail[i][1](tail[i][0](x)), 1));
  }
  Shape shape = input.tensor(kName).shape();
  shape[shape.rank() - 1] = ends_.back();
  return reshape(concat(parts, 1), shape);
}

Tensor AdaptiveLogSoftmaxWithLoss::predict(Arg input) const { return argmax(log_prob(input), -1); }

}  // namespace tegula::nn
