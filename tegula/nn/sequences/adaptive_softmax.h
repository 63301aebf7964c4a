#pragma once
// Softmax over many classes of very different frequency.

#include <array>
#include <vector>

#include "tegula/nn/linear.h"

namespace tegula::nn {

struct AdaptiveLogSoftmaxOptions {
  double div_value = 4;  // the classes of cluster i are told by in_features / div_value^(i + 1) features
  bool head_bias = false;
  DType dtype = f32;
};
/// Log-probabilities (…) of the labels, and the loss (), minus their mean.
struct AdaptiveLogSoftmaxOutput {
  Tensor output, loss;
};

/// Classes by falling frequency: the first cutoffs[0] have scores of their own, the others are in clusters that end at the further cutoffs and at n_classes; a
/// cluster has one score beside the first classes', and its classes are told apart by fewer features (Grave et al., "Efficient softmax approximation for GPUs", 2017).
/// PyTorch's names, "head.weight", "tail.0.0.weight", "tail.0.1.weight", and its numbers. Shapes do not depend on the labels: every cluster is computed for every row,
/// with its scores never in memory as a whole (linear_cross_entropy); the savings are weights, features and memory, not rows.
class AdaptiveLogSoftmaxWithLoss {
 public:
  /// Throws Error for cutoffs that do not rise, or leave [1, n_classes - 1].
  AdaptiveLogSoftmaxWithLoss(std::int64_t in_features, std::int64_t n_classes, std::vector<std::int64_t> cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {}, Line where = Line::current());
  /// input (…, in_features), labels (…), integers. A label outside [0, n_classes) is an Error when it is computed.
  AdaptiveLogSoftmaxOutput operator()(Arg input, Arg labels) const;
  /// (…, in_features) -> (…, n_classes): all log-probabilities.
  Tensor log_prob(Arg input) const;
  /// (…): the most probable class.
  Tensor predict(Arg input) const;

  Linear head;  // in_features -> cutoffs[0] + clusters
  std::vector<std::array<Linear, 2>> tail;
  static constexpr auto fields = nn::fields<&AdaptiveLogSoftmaxWithLoss::head, &AdaptiveLogSoftmaxWithLoss::tail>;

 private:
  Tensor rows_of(const Arg& input) const;
  std::int64_t features_;
  std::vector<std::int64_t> ends_;  // class numbers at which the first classes and each cluster end
};

}  // namespace tegula::nn
