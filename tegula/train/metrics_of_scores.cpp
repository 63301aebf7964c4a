// Metrics of scores and of numbers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tegula/core/error.h"
#include "tegula/train/metrics.h"

namespace tegula::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Scores from the greatest on, with the number of rows of the class and of others at each different score.
struct Threshold {
  std::int64_t positives = 0, negatives = 0;
};
std::vector<Threshold> thresholds(const char* op, const std::vector<double>& scores, const std::vector<bool>& is_positive,
                                  const Line& where) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const double score : scores) {
    if (std::isnan(score))
      throw Error({.op = op, .got = "a score that is NaN", .expected = "numbers that can be put in order", .where = where});
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<Threshold> out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || scores[order[i]] != scores[order[i - 1]]) out.emplace_back();
    ++(is_positive[order[i]] ? out.back().positives : out.back().negatives);
  }
  return out;
}

std::vector<bool> positives_of(const char* op, const Tensor& scores, const Tensor& labels, const Line& where) {
  const Shape& shape = scores.shape(where);
  if (shape.rank() != 1 || labels.shape(where) != shape || is_float(labels.dtype())) {
    throw Error({.op = op,
                 .got = "scores " + to_string(shape) + " and labels " + to_string(labels.shape()) + " " + std::string(name(labels.dtype())),
                 .expected = "(N,) both, labels integer or boolean",
                 .advice = "the scores of one class: select(scores, 1, 1)",
                 .where = where});
  }
  std::vector<bool> out;
  for (const std::int64_t label : labels.to_host<std::int64_t>(where)) {
    if (label != 0 && label != 1) {
      throw Error({.op = op,
                   .got = "label " + std::to_string(label),
                   .expected = "0 or 1",
                   .advice = "macro_roc_auc takes more classes",
                   .where = where});
    }
    out.push_back(label == 1);
  }
  return out;
}

double area(const std::vector<Threshold>& thresholds) {
  double before = 0, pairs = 0, negatives = 0;  // positives above
  for (const Threshold& t : thresholds) {
    pairs += static_cast<double>(t.negatives) * (before + 0.5 * static_cast<double>(t.positives));
    before += static_cast<double>(t.positives);
    negatives += static_cast<double>(t.negatives);
  }
  return before > 0 && negatives > 0 ? pairs / (before * negatives) : kNone;
}

/// Elements of both, of one shape.
struct Pairs {
  std::vector<double> predictions, targets;
};
Pairs pairs_of(const char* op, const Tensor& predictions, const Tensor& targets, const Line& where) {
  if (predictions.shape(where) != targets.shape(where)) {
    throw Error({.op = op,
                 .got = "predictions " + to_string(predictions.shape()) + " and targets " + to_string(targets.shape()),
                 .expected = "one shape",
                 .where = where});
  }
  return {predictions.to_host<double>(where), targets.to_host<double>(where)};
}

}  // namespace

double roc_auc(const Tensor& scores, const Tensor& labels, Line where) {
  const auto positives = positives_of("roc_auc", scores, labels, where);
  return area(thresholds("roc_auc", scores.to_host<double>(where), positives, where));
}

double macro_roc_auc(const Tensor& scores, const Tensor& labels, Line where) {
  const Shape& shape = scores.shape(where);
  if (shape.rank() != 2 || labels.shape(where) != Shape{shape[0]} || is_float(labels.dtype())) {
    throw Error({.op = "macro_roc_auc",
                 .got = "scores " + to_string(shape) + " and labels " + to_string(labels.shape()) + " " + std::string(name(labels.dtype())),
                 .expected = "(N, C) and an integer for each row",
                 .where = where});
  }
  const auto values = scores.to_host<double>(where);
  const auto classes = labels.to_host<std::int64_t>(where);
  const auto count = static_cast<std::size_t>(shape[1]);
  RunningMean mean;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<double> own;
    std::vector<bool> is_positive;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      own.push_back(values[i * count + c]);
      is_positive.push_back(classes[i] == static_cast<std::int64_t>(c));
    }
    const double of_class = area(thresholds("macro_roc_auc", own, is_positive, where));
    if (!std::isnan(of_class)) mean.add(of_class);
  }
  return mean.value();
}

double average_precision(const Tensor& scores, const Tensor& labels, Line where) {
  const auto positives = positives_of("average_precision", scores, labels, where);
  const auto all = static_cast<double>(std::ranges::count(positives, true));
  double sum = 0, found = 0, seen = 0;
  for (const Threshold& t : thresholds("average_precision", scores.to_host<double>(where), positives, where)) {
    found += static_cast<double>(t.positives), seen += static_cast<double>(t.positives + t.negatives);
    sum += static_cast<double>(t.positives) / all * (found / seen);
  }
  return all > 0 ? sum : kNone;
}

double r2(const Tensor& predictions, const Tensor& targets, Line where) {
  const Pairs pairs = pairs_of("r2", predictions, targets, where);
  RunningMean mean;
  for (const double y : pairs.targets) mean.add(y);
  double residual = 0, spread = 0;
  for (std::size_t i = 0; i < pairs.targets.size(); ++i) {
    residual += std::pow(pairs.targets[i] - pairs.predictions[i], 2);
    spread += std::pow(pairs.targets[i] - mean.value(), 2);
  }
  return spread > 0 ? 1 - residual / spread : kNone;
}

double mean_absolute_error(const Tensor& predictions, const Tensor& targets, Line where) {
  const Pairs pairs = pairs_of("mean_absolute_error", predictions, targets, where);
  RunningMean mean;
  for (std::size_t i = 0; i < pairs.targets.size(); ++i) mean.add(std::abs(pairs.targets[i] - pairs.predictions[i]));
  return mean.value();
}

double root_mean_squared_error(const Tensor& predictions, const Tensor& targets, Line where) {
  const Pairs pairs = pairs_of("root_mean_squared_error", predictions, targets, where);
  RunningMean mean;
  for (std::size_t i = 0; i < pairs.targets.size(); ++i) mean.add(std::pow(pairs.targets[i] - pairs.predictions[i], 2));
  return std::sqrt(mean.value());
}

}  // namespace tegula::metrics
