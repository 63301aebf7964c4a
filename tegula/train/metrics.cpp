#include "tegula/train/metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/train/progress.h"

namespace tegula::metrics {
namespace {

struct Scores {
  std::vector<double> values;  // (rows, classes)
  std::int64_t rows, classes;
  std::span<const double> row(std::int64_t i) const {
    return std::span(values).subspan(static_cast<std::size_t>(i * classes), static_cast<std::size_t>(classes));
  }
};

Scores scores_of(const char* op, const Tensor& scores, const Line& where) {
  const Shape& shape = scores.shape(where);
  if (shape.rank() != 2 || shape[1] < 1) {
    throw Error({.op = op, .got = "scores " + to_string(shape), .expected = "(N, C) with at least one class", .where = where});
  }
  return {scores.to_host<double>(where), shape[0], shape[1]};
}

std::vector<std::int64_t> labels_of(const char* op, const Tensor& labels, std::int64_t rows, const Line& where) {
  if (labels.shape(where) != Shape{rows} || is_float(labels.dtype())) {
    throw Error({.op = op,
                 .got = "labels " + to_string(labels.shape()) + " " + std::string(name(labels.dtype())),
                 .expected = "an integer for each of the " + std::to_string(rows) + " rows of scores",
                 .where = where});
  }
  return labels.to_host<std::int64_t>(where);
}

double ratio(std::int64_t part, std::int64_t whole) { return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

std::vector<std::int64_t> predicted_classes(const Tensor& scores, Line where) {
  const Scores s = scores_of("predicted_classes", scores, where);
  std::vector<std::int64_t> classes(static_cast<std::size_t>(s.rows));
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const auto row = s.row(i);
    classes[static_cast<std::size_t>(i)] = std::max_element(row.begin(), row.end()) - row.begin();
  }
  return classes;
}

namespace {

double hit_rate(const char* op, const Tensor& scores, const Tensor& labels, int k, const Line& where) {
  const Scores s = scores_of(op, scores, where);
  const auto truth = labels_of(op, labels, s.rows, where);
  if (k < 1 || k > s.classes) {
    throw Error({.op = op, .got = "k = " + std::to_string(k), .expected = "1 to " + std::to_string(s.classes), .where = where});
  }
  if (s.rows == 0) return std::numeric_limits<double>::quiet_NaN();
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const auto row = s.row(i);
    const std::int64_t label = truth[static_cast<std::size_t>(i)];
    if (label < 0 || label >= s.classes) continue;
    const double own = row[static_cast<std::size_t>(label)];
    std::int64_t better = 0;
    for (std::int64_t c = 0; c < s.classes; ++c) {
      const double other = row[static_cast<std::size_t>(c)];
      better += other > own || (other == own && c < label);
    }
    hits += better < k && own == own;  // a score of NaN never hits
  }
  return ratio(hits, s.rows);
}

}  // namespace

double accuracy(const Tensor& scores, const Tensor& labels, Line where) { return hit_rate("accuracy", scores, labels, 1, where); }

double top_k_accuracy(const Tensor& scores, const Tensor& labels, int k, Line where) {
  return hit_rate("top_k_accuracy", scores, labels, k, where);
}

namespace {

std::vector<std::string> numbers_below(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < count; ++c) names.push_back(std::to_string(c));
  return names;
}

void require_classes(std::int64_t classes) {
  if (classes >= 1 && classes <= 10000) return;
  throw Error({.op = "ConfusionMatrix", .got = std::to_string(classes) + " classes", .expected = "1 to 10000"});
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : classes_(classes) {
  require_classes(classes);
  names_ = numbers_below(classes);
  counts_.resize(static_cast<std::size_t>(classes * classes));
}

ConfusionMatrix::ConfusionMatrix(std::vector<std::string> names) : ConfusionMatrix(static_cast<std::int64_t>(names.size())) {
  names_ = std::move(names);
  std::vector<std::string> sorted = names_;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error({.op = "ConfusionMatrix", .got = "two classes named " + *twice, .expected = "each name once"});
}

void ConfusionMatrix::add(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted) {
  if (truth.size() != predicted.size()) {
    throw Error({.op = "ConfusionMatrix",
                 .got = std::to_string(truth.size()) + " true and " + std::to_string(predicted.size()) + " predicted classes",
                 .expected = "equally many"});
  }
  for (const auto list : {truth, predicted}) {
    for (auto c : list) {
      if (c < 0 || c >= classes_) {
        throw Error({.op = "ConfusionMatrix", .got = "class " + std::to_string(c), .expected = "0 to " + std::to_string(classes_ - 1)});
      }
    }
  }
  for (std::size_t i = 0; i < truth.size(); ++i) ++counts_[static_cast<std::size_t>(truth[i] * classes_ + predicted[i])];
}

void ConfusionMatrix::add(const Tensor& scores, const Tensor& labels, Line where) {
  const auto predicted = predicted_classes(scores, where);
  add(labels_of("ConfusionMatrix", labels, static_cast<std::int64_t>(predicted.size()), where), predicted);
}

std::int64_t ConfusionMatrix::total() const {
  std::int64_t sum = 0;
  for (auto n : counts_) sum += n;
  return sum;
}

double ConfusionMatrix::accuracy() const {
  std::int64_t right = 0;
  for (std::int64_t c = 0; c < classes_; ++c) right += count(c, c);
  return total() == 0 ? std::numeric_limits<double>::quiet_NaN() : ratio(right, total());
}

double ConfusionMatrix::precision(std::int64_t c) const {
  std::int64_t called = 0;
  for (std::int64_t t = 0; t < classes_; ++t) called += count(t, c);
  return ratio(count(c, c), called);
}

std::int64_t ConfusionMatrix::support(std::int64_t c) const {
  std::int64_t are = 0;
  for (std::int64_t p = 0; p < classes_; ++p) are += count(c, p);
  return are;
}

double ConfusionMatrix::recall(std::int64_t c) const { return ratio(count(c, c), support(c)); }

double ConfusionMatrix::f1(std::int64_t c) const {
  const double p = precision(c), r = recall(c);
  return p + r == 0 ? 0 : 2 * p * r / (p + r);
}

double ConfusionMatrix::iou(std::int64_t c) const {
  std::int64_t either = support(c) - count(c, c);
  for (std::int64_t t = 0; t < classes_; ++t) either += count(t, c);
  return ratio(count(c, c), either);
}

double ConfusionMatrix::mean_iou() const {
  RunningMean mean;
  for (std::int64_t c = 0; c < classes_; ++c) {
    std::int64_t predicted = 0;
    for (std::int64_t t = 0; t < classes_; ++t) predicted += count(t, c);
    if (support(c) + predicted > 0) mean.add(iou(c));
  }
  return mean.value();
}

double ConfusionMatrix::macro_f1() const { return macro().f1; }

ConfusionMatrix::Averages ConfusionMatrix::averages(const std::vector<double>& weights) const {
  RunningMean p, r, f;
  for (std::int64_t c = 0; c < classes_; ++c) {
    const double weight = weights[static_cast<std::size_t>(c)];
    p.add(precision(c), weight), r.add(recall(c), weight), f.add(f1(c), weight);
  }
  return {p.value(), r.value(), f.value()};
}
ConfusionMatrix::Averages ConfusionMatrix::macro() const { return averages(std::vector<double>(static_cast<std::size_t>(classes_), 1)); }
ConfusionMatrix::Averages ConfusionMatrix::weighted() const {
  std::vector<double> weights;
  for (std::int64_t c = 0; c < classes_; ++c) weights.push_back(static_cast<double>(support(c)));
  return averages(weights);
}

namespace {

/// Characters of the longest of some names.
int width_of(const std::vector<std::string>& names) {
  int width = 0;
  for (const std::string& name : names) width = std::max(width, progress::display_width(name));
  return width;
}

std::string at_right(const std::string& text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - progress::display_width(text))), ' ') + text;
}

std::string line_of(double precision, double recall, double f1, std::int64_t support) {
  return progress::format("   %9.4f%8.4f%8.4f%9lld\n", precision, recall, f1, static_cast<long long>(support));
}

constexpr const char* kHeading = "   precision  recall      F1  support\n";

}  // namespace

std::string ConfusionMatrix::print() const {
  const auto largest = *std::max_element(counts_.begin(), counts_.end());
  const int first = std::max(5, width_of(names_)),
            width = std::max({5, static_cast<int>(std::to_string(largest).size()) + 1, width_of(names_) + 1});
  std::string text = "true \\ predicted\n" + at_right("", first);
  for (const std::string& name : names_) text += at_right(name, width);
  text += kHeading;
  for (std::int64_t t = 0; t < classes_; ++t) {
    text += at_right(name(t), first);
    for (std::int64_t p = 0; p < classes_; ++p) text += at_right(count(t, p) == 0 ? "." : std::to_string(count(t, p)), width);
    text += line_of(precision(t), recall(t), f1(t), support(t));
  }
  return text;
}

std::string ConfusionMatrix::report() const {
  const int first = std::max(width_of(names_), 16);
  std::string text = at_right("", first) + kHeading;
  for (std::int64_t c = 0; c < classes_; ++c) text += at_right(name(c), first) + line_of(precision(c), recall(c), f1(c), support(c));
  for (const auto& [label, of] : {std::pair("macro average", macro()), std::pair("weighted average", weighted())})
    text += at_right(label, first) + line_of(of.precision, of.recall, of.f1, total());
  return text + at_right("accuracy", first) + progress::format("   %9.4f%25lld\n", accuracy(), static_cast<long long>(total()));
}

io::Heatmap ConfusionMatrix::heatmap(std::string title) const {
  io::Heatmap map{.title = std::move(title), .rows = names_, .columns = names_, .row_label = "true", .column_label = "predicted"};
  for (std::int64_t t = 0; t < classes_; ++t) {
    for (std::int64_t p = 0; p < classes_; ++p) {
      map.values.push_back(ratio(count(t, p), support(t)));
      map.numbers.push_back(std::to_string(count(t, p)));
    }
  }
  return map;
}

}  // namespace tegula::metrics
