#pragma once
// Losses. Inputs are float tensors (halves computed in f32); the result is a scalar, or with LossReduction::None one value per element or sample.

#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

enum class LossReduction : std::uint8_t { None, Sum, Mean };

namespace ops {
/// Throws Error in the name of the loss whose frame is open: a mean of no losses has no value. A sum has, 0.
void require_rows(const Shape& losses, LossReduction reduction);
}  // namespace ops

struct LossOptions {
  LossReduction reduction = LossReduction::Mean;
};

/// (input - target)². In this and the next losses the shapes are equal, or one broadcasts to the other: (N) against (N, 1), which would give (N, N), is
/// refused.
Tensor mse_loss(Arg input, Arg target, const LossOptions& options = {});
/// |input - target|.
Tensor l1_loss(Arg input, Arg target, const LossOptions& options = {});

struct HuberOptions {
  double delta = 1;
  LossReduction reduction = LossReduction::Mean;
};
/// d²/2 for |d| < delta, else delta*(|d| - delta/2), with d = input - target (Huber, 1964).
Tensor huber_loss(Arg input, Arg target, const HuberOptions& options = {});
struct SmoothL1Options {
  double beta = 1;
  LossReduction reduction = LossReduction::Mean;
};
/// d²/(2 beta) for |d| < beta, else |d| - beta/2; beta = 0 is l1_loss (Girshick, "Fast R-CNN", 2015, equation 3).
Tensor smooth_l1_loss(Arg input, Arg target, const SmoothL1Options& options = {});

struct CrossEntropyOptions {
  Tensor weight = {};  // (C): a factor for each class; Mean then divides by the sum of the factors
  std::optional<std::int64_t> ignore_index = {};  // samples with this label count nothing; PyTorch's -100 must be asked for (see below)
  LossReduction reduction = LossReduction::Mean;
  double label_smoothing = 0;  // in [0, 1]: this share of the target is spread evenly over the classes
};
/// logits (C), (N, C) or (N, C, d…). labels: class numbers, an integer tensor (), (N) or (N, d…); or class probabilities, a float tensor
/// of the shape of logits. -log softmax(logits)[label] along axis 1.
/// Throws Error for a wrong shape or dtype at the call; for a label outside [0, C) when it is computed, naming the label and this line.
/// No label is ignored unless ignore_index says so: a mistake in the data is found, and the loss is a plain mean.
Tensor cross_entropy(Arg logits, Arg labels, const CrossEntropyOptions& options = {});

struct NllOptions {
  Tensor weight = {};
  std::optional<std::int64_t> ignore_index = {};
  LossReduction reduction = LossReduction::Mean;
};
/// -log_probabilities[label]; shapes and errors as for cross_entropy.
Tensor nll_loss(Arg log_probabilities, Arg labels, const NllOptions& options = {});

struct BinaryCrossEntropyOptions {
  Tensor weight = {};  // a factor for each element, broadcast
  Tensor pos_weight = {};  // bce_with_logits only: a factor for the positive class, broadcast
  LossReduction reduction = LossReduction::Mean;
};
/// -(t*log(p) + (1-t)*log(1-p)), logarithms >= -100, gradient (p-t)/max(p(1-p), 1e-12), as PyTorch's. Throws Error when it meets a p outside [0, 1].
Tensor binary_cross_entropy(Arg input, Arg target, const BinaryCrossEntropyOptions& options = {});
/// The same of sigmoid(input), without overflow: max(x, 0) - x*t + log1p(exp(-|x|)).
Tensor binary_cross_entropy_with_logits(Arg input, Arg target, const BinaryCrossEntropyOptions& options = {});

struct FocalOptions {
  double alpha = 0.25;  // the weight of the positive class, 1 - alpha of the negative one; below 0: none
  double gamma = 2;  // 0: no focus, binary_cross_entropy_with_logits
  LossReduction reduction = LossReduction::None;
};
/// binary_cross_entropy_with_logits times (1 - p_t)^gamma, p_t the probability of what is true: easy examples count little (Lin et al., "Focal loss
/// for dense object detection", 2017). Targets in [0, 1]. None is torchvision's default.
Tensor sigmoid_focal_loss(Arg input, Arg target, const FocalOptions& options = {});
struct DiceOptions {
  double smooth = 1;  // added to both sums, so that an empty mask that is found empty costs nothing
  LossReduction reduction = LossReduction::Mean;
};
/// 1 - (2 Σ p t + smooth) / (Σ p + Σ t + smooth) over all axes but the first: probabilities p (N, …) against masks t of the same shape in [0, 1]
/// (Milletari et al., "V-Net", 2016). One value for each of N.
Tensor dice_loss(Arg input, Arg target, const DiceOptions& options = {});

struct KlDivOptions {
  LossReduction reduction = LossReduction::Mean;
  bool log_target = false;  // the target is given as logarithms
  bool batch_mean = false;  // divide the sum by the size of axis 0: the divergence as mathematics defines it
};
/// Kullback-Leibler divergence of the target from exp(input): t*(log t - input), 0 with no gradient where t is 0, whatever the input is.
Tensor kl_div(Arg input, Arg target, const KlDivOptions& options = {});

/// max(0, 1 - target*input) with targets -1 and 1: the perceptron with a margin, the loss of the support vector machine.
Tensor hinge_loss(Arg input, Arg target, const LossOptions& options = {});

struct MultiMarginOptions {
  double margin = 1;
  LossReduction reduction = LossReduction::Mean;
};
/// Σ_{i ≠ label} max(0, margin - x[label] + x[i]) / C for x (N, C), labels (N).
Tensor multi_margin_loss(Arg input, Arg labels, const MultiMarginOptions& options = {});

struct CosineEmbeddingOptions {
  double margin = 0;
  LossReduction reduction = LossReduction::Mean;
};
/// a, b (N, D), target (N) of 1 and -1: 1 - cos(a, b) for 1, max(0, cos(a, b) - margin) for -1. Throws Error when another target is computed.
Tensor cosine_embedding_loss(Arg a, Arg b, Arg target, const CosineEmbeddingOptions& options = {});

struct TripletMarginOptions {
  double margin = 1;
  LossReduction reduction = LossReduction::Mean;
};
/// max(0, ‖anchor - positive‖₂ - ‖anchor - negative‖₂ + margin) over the last axis (Schroff et al., "FaceNet", 2015).
Tensor triplet_margin_loss(Arg anchor, Arg positive, Arg negative, const TripletMarginOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> loss_cases();
std::vector<OpCase> class_loss_cases();

}  // namespace tegula
