#pragma once
// Measures of predictions. Computed on the host, in double.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/io/plot.h"

namespace tegula::metrics {

/// The share of rows whose greatest score belongs to the label. scores (N, C), labels (N) integer. NaN for no rows.
double accuracy(const Tensor& scores, const Tensor& labels, Line where = Line::current());

/// The share of rows whose label is among the k greatest scores (of equal scores the earlier classes count first).
double top_k_accuracy(const Tensor& scores, const Tensor& labels, int k, Line where = Line::current());

/// The class with the greatest score of each row, the first of equal ones. scores (N, C).
std::vector<std::int64_t> predicted_classes(const Tensor& scores, Line where = Line::current());

/// The area under the curve of true over false positive rates: the probability that a row of the class has a greater score than one that is not, ties counted half
/// (Hanley and McNeil, 1982). scores (N), of which greater ones speak for the class; labels (N) integer or boolean, 0 or 1. NaN unless both occur.
double roc_auc(const Tensor& scores, const Tensor& labels, Line where = Line::current());
/// The mean over classes of each one's against all others, of those of which there are rows and others: scores (N, C), labels (N) in [0, C).
double macro_roc_auc(const Tensor& scores, const Tensor& labels, Line where = Line::current());

/// The sum of precisions at each threshold, weighted by the recall that it adds (scikit-learn: average_precision_score). Arguments as for roc_auc; NaN without
/// a row of the class.
double average_precision(const Tensor& scores, const Tensor& labels, Line where = Line::current());

/// 1 - Σ (y - p)² / Σ (y - mean(y))² over all elements of predictions and targets of one shape. NaN for no elements or targets that are all alike.
double r2(const Tensor& predictions, const Tensor& targets, Line where = Line::current());
/// The mean of |p - y|, and the root of the mean of (p - y)². NaN for no elements.
double mean_absolute_error(const Tensor& predictions, const Tensor& targets, Line where = Line::current());
double root_mean_squared_error(const Tensor& predictions, const Tensor& targets, Line where = Line::current());

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

/// Counts of (true class, predicted class), and ratios derived from them. Ratios whose denominator is 0 are 0, as in scikit-learn.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int64_t classes);
  /// The classes by their names. Throws Error for names that are twice.
  explicit ConfusionMatrix(std::vector<std::string> names);

  /// Throws Error for a class outside [0, classes) and for lists of different lengths.
  void add(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted);
  void add(const Tensor& scores, const Tensor& labels, Line where = Line::current());

  std::int64_t classes() const { return classes_; }
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(truth * classes_ + predicted)];
  }
  std::int64_t total() const;
  std::int64_t support(std::int64_t c) const;  // how many are c
  const std::string& name(std::int64_t c) const { return names_[static_cast<std::size_t>(c)]; }  // its number unless names were given

  double accuracy() const;  // the share on the diagonal; NaN when empty
  double precision(std::int64_t c) const;  // share of the samples predicted as c that are c
  double recall(std::int64_t c) const;  // share of the samples of class c that are predicted as c
  double f1(std::int64_t c) const;  // the harmonic mean of both
  double iou(std::int64_t c) const;  // the samples that are c and predicted as c, over the samples that are either; f1 is dice
  double mean_iou() const;  // over the classes that occur in truth or prediction; NaN when empty
  double macro_f1() const;  // the mean of f1 over classes

  /// Means over classes: all alike, or each by its support.
  struct Averages {
    double precision, recall, f1;
  };
  Averages macro() const;
  Averages weighted() const;

  /// A table: rows are true classes, columns predicted ones, with precision, recall, F1 and support of each class.
  std::string print() const;
  /// A line for each class, its precision, recall, F1 and support, and the averages (scikit-learn: classification_report).
  std::string report() const;
  /// A picture with the counts in its cells; a shade is the share of the true class: io::plot("confusion.png", matrix.heatmap("digits")). For up to 200
  /// classes.
  io::Heatmap heatmap(std::string title = "") const;

 private:
  Averages averages(const std::vector<double>& weights) const;

  std::int64_t classes_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> counts_;  // (classes, classes)
};

}  // namespace tegula::metrics
