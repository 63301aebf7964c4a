#pragma once
// Loss and accuracy over batches, from what Evaluator::loss_and_hits gives.

#include "tegula/train/metrics.h"

namespace tegula::train_detail {

struct Means {
  metrics::RunningMean loss, accuracy;

  /// Returns the loss of this batch.
  double add(const std::vector<Tensor>& results, std::int64_t rows) {
    const auto weight = static_cast<double>(rows);
    const auto value = results[0].item<double>();
    loss.add(value, weight);
    if (results.size() > 1) accuracy.add(results[1].item<double>() / weight, weight);
    return value;
  }
};

}  // namespace tegula::train_detail
