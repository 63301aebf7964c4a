#pragma once
// Layers that prepare a table's columns for a net's first layer. Their state is in buffers, so it is saved and loaded with the net:
//
//   struct Net {
//     nn::Imputer fill{3};           // a missing number (NaN) becomes the column's mean
//     nn::StandardScaler scale{3};   // each column has mean 0 and deviation 1
//     nn::Linear first{3, 16}, last{16, 1};
//     Tensor operator()(Tensor x) { return last(relu(first(scale(fill(x))))); }
//   };
//   Net net;
//   Tensor x = from_array(io::read_csv("houses.csv", {.missing = {"NA"}}).numbers({"area", "rooms", "age"}, NAN));
//   net.fill.fit(x), net.scale.fit(x);   // of the training set
//
// None of them is trained, and none passes a gradient to the data it was fitted to.

#include <cstdint>
#include <vector>

#include "tegula/nn/module.h"

namespace tegula::nn {

/// (x - mean) / deviation for each feature, the last axis: scikit-learn's StandardScaler, Keras' Normalization.
class StandardScaler {
 public:
  /// Does nothing until it was fitted: mean 0, deviation 1.
  explicit StandardScaler(std::int64_t features, Line where = Line::current());
  /// Takes mean and deviation (of all n rows, by n) of each feature of x (…, features); NaN does not count. A feature that never changes, or has no
  /// number, keeps deviation 1 (a millionth of a mean above 1e6, whose last digits are no number) and the mean it has, or 0. Throws Error for another number of features, an integer type, and no row.
  void fit(Arg x);
  Tensor operator()(Arg x) const;
  /// From its results back to x: the predictions of a net trained on scaled targets, in their unit.
  Tensor inverse(Arg y) const;
  void visit(Visitor& visitor, const Path& path);

  Buffer mean, deviation;  // (features) f32
};

/// The value that an Imputer puts in the place of a missing number.
enum class Fill : std::uint8_t { Mean, Median };

/// x with another number for each NaN: the feature's mean or median (scikit-learn's SimpleImputer).
class Imputer {
 public:
  /// NaN becomes 0 until it was fitted.
  explicit Imputer(std::int64_t features, Fill fill = Fill::Mean, Line where = Line::current());
  /// Takes the means or medians of the numbers of x (…, features) that are there; 0 for a feature without any. Throws Error as StandardScaler::fit does.
  void fit(Arg x);
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Buffer values;  // (features) f32

 private:
  Fill fill_;
};

/// Class numbers of several columns side by side: codes (…, K), of any type, -> (…, sum of the sizes) f32, 1 at the class and 0 elsewhere. A number that is none
/// of the column's classes, such as -1 or NaN (io::Unknown::MinusOne), gives zeros. The layer has no state: names of classes are metadata of the file.
class OneHot {
 public:
  /// `sizes`: the number of classes of each column. Throws Error for none, and for a size below 1.
  explicit OneHot(std::vector<std::int64_t> sizes, Line where = Line::current());
  Tensor operator()(Arg codes) const;
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::int64_t features() const;  // the sum
  void visit(Visitor&, const Path&) {}

 private:
  std::vector<std::int64_t> sizes_;
};

}  // namespace tegula::nn
