#pragma once
// Loss, metrics and accuracy over batches, from the results of Evaluator::measured.

#include <map>
#include <string>
#include <vector>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/train/loss.h"
#include "tegula/train/metrics.h"

namespace tegula::train_detail {

struct Means {
  /// `counted`: the last number added is the weight of the batch, which is its rows otherwise.
  explicit Means(const std::vector<Metric>& metrics, bool counted = false)
      : named(metrics),
        of_metrics(metrics.size()),
        has_count(counted) {}

  metrics::RunningMean loss, accuracy;
  const std::vector<Metric>& named;
  std::vector<metrics::RunningMean> of_metrics;
  bool has_count;
  std::int64_t rows = 0;  // in all

  struct Added {
    double loss, weight;  // of this batch
  };
  /// A batch of which nothing counts has no loss: it adds its rows alone.
  Added add(const std::vector<Tensor>& results, std::int64_t rows_of_batch) {
    rows += rows_of_batch;
    const double weight = has_count ? results.back().item<double>() : static_cast<double>(rows_of_batch);
    const std::size_t hits = 1 + of_metrics.size();
    const auto value = results[0].item<double>();
    if (weight != 0) loss.add(value, weight);
    for (std::size_t i = 0; i < of_metrics.size() && weight != 0; ++i) of_metrics[i].add(results[1 + i].item<double>(), weight);
    if (results.size() > hits + (has_count ? 1 : 0))
      accuracy.add(results[hits].item<double>() / static_cast<double>(rows_of_batch), static_cast<double>(rows_of_batch));
    return {value, weight};
  }
  /// Adds up the means of all ranks.
  void add_up(const dist::Group& group, const Line& where) {
    if (group.size() == 1) return;
    std::vector<metrics::RunningMean*> all{&loss, &accuracy};
    for (auto& mean : of_metrics) all.push_back(&mean);
    std::vector<double> parts;
    for (const auto* mean : all) parts.insert(parts.end(), {mean->weight() > 0 ? mean->sum() : 0, mean->weight()});
    const Tensor mine = tensor(parts, {static_cast<std::int64_t>(parts.size())}, where);
    const std::vector<double> sums = dist::all_reduce(Arg(mine, where), group).to_host<double>(where);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i]->reset();
      if (sums[2 * i + 1] > 0) all[i]->add(sums[2 * i] / sums[2 * i + 1], sums[2 * i + 1]);
    }
  }

  std::map<std::string, double> metrics() const {
    std::map<std::string, double> out;
    for (std::size_t i = 0; i < of_metrics.size(); ++i) out[named[i].name] = of_metrics[i].value();
    return out;
  }
};

}  // namespace tegula::train_detail
