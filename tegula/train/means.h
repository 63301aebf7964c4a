#pragma once
// Loss, metrics and accuracy over batches, from what Evaluator::measured gives.

#include <map>
#include <string>
#include <vector>

#include "tegula/train/loss.h"
#include "tegula/train/metrics.h"

namespace tegula::train_detail {

struct Means {
  explicit Means(const std::vector<Metric>& metrics) : named(metrics), of_metrics(metrics.size()) {}

  metrics::RunningMean loss, accuracy;
  const std::vector<Metric>& named;
  std::vector<metrics::RunningMean> of_metrics;

  /// Returns the loss of this batch.
  double add(const std::vector<Tensor>& results, std::int64_t rows) {
    const auto weight = static_cast<double>(rows);
    const auto value = results[0].item<double>();
    loss.add(value, weight);
    for (std::size_t i = 0; i < of_metrics.size(); ++i) of_metrics[i].add(results[1 + i].item<double>(), weight);
    if (results.size() > 1 + of_metrics.size()) accuracy.add(results.back().item<double>() / weight, weight);
    return value;
  }
  std::map<std::string, double> metrics() const {
    std::map<std::string, double> out;
    for (std::size_t i = 0; i < of_metrics.size(); ++i) out[named[i].name] = of_metrics[i].value();
    return out;
  }
};

}  // namespace tegula::train_detail
