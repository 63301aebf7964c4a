#pragma once
// How good predictions are. Computed on the host, in double.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::metrics {

/// The share of rows whose greatest score belongs to the label. scores (N, C), labels (N) integer. NaN for no rows.
double accuracy(const Tensor& scores, const Tensor& labels, std::source_location where = std::source_location::current());

/// The share of rows whose label is among the k greatest scores (of equal scores the earlier classes count first).
double top_k_accuracy(const Tensor& scores, const Tensor& labels, int k, std::source_location where = std::source_location::current());

/// The class with the greatest score of each row, the first of equal ones. scores (N, C).
std::vector<std::int64_t> predicted_classes(const Tensor& scores, std::source_location where = std::source_location::current());

/// A weighted mean, one value after the other.
class RunningMean {
 public:
  void add(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  double value() const { return sum_ / weight_; }  // NaN without values
  double sum() const { return sum_; }
  double weight() const { return weight_; }
  void reset() { *this = {}; }

 private:
  double sum_ = 0, weight_ = 0;
};

/// Counts of (true class, predicted class), and what follows from them. Ratios whose denominator is 0 are 0, as in scikit-learn.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int64_t classes);

  /// Throws Error for a class outside [0, classes) and for lists of different lengths.
  void add(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);
  void add(const Tensor& scores, const Tensor& labels, std::source_location where = std::source_location::current());

  std::int64_t classes() const { return classes_; }
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(truth * classes_ + predicted)];
  }
  std::int64_t total() const;

  double accuracy() const;                   // the share on the diagonal; NaN when empty
  double precision(std::int64_t c) const;    // of those called c, the share that is
  double recall(std::int64_t c) const;       // of those that are c, the share called so
  double f1(std::int64_t c) const;           // the harmonic mean of both
  double macro_f1() const;                   // the mean of f1 over classes

  /// A table: rows are true classes, columns predicted ones, with precision, recall and F1 of each class.
  std::string print() const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;  // (classes, classes)
};

}  // namespace tegula::metrics
