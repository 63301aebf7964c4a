#pragma once
// Normalisation. All are compositions: (x - mean) * rsqrt(variance + eps) * weight + bias, the variance in two passes and biased
// (divided by n); halves are computed in f32.

#include "tegula/graph/tensor.h"

namespace tegula {

struct NormOptions {
  Tensor weight = {};  // scale; empty: 1
  Tensor bias = {};    // empty: 0
  double eps = 1e-5;    // at least 0
};

/// The result of batch normalisation in training: y, and the statistics for the running averages.
struct BatchNormResult {
  Tensor y;
  Tensor mean;      // (C)
  Tensor variance;  // (C), unbiased (n - 1): what PyTorch averages
};

/// x (N, C) or (N, C, spatial…), weight and bias (C): normalised over all axes but 1 by the statistics of the batch
/// (Ioffe and Szegedy, 2015). Throws Error when there is only one value per channel.
BatchNormResult batch_norm_training(Arg x, const NormOptions& options = {});
/// The same with given statistics (C), as in evaluation.
Tensor batch_norm(Arg x, Arg mean, Arg variance, const NormOptions& options = {});

/// Over the last axes, whose sizes are `normalized_shape`; weight and bias of that shape (Ba et al., 2016).
Tensor layer_norm(Arg x, const Shape& normalized_shape, const NormOptions& options = {});
/// x * rsqrt(mean(x²) + eps) * weight over the last axes (Zhang and Sennrich, 2019). No bias.
Tensor rms_norm(Arg x, const Shape& normalized_shape, const NormOptions& options = {});
/// x (N, C, …), the channels in `groups` groups, each normalised per sample; weight and bias (C) (Wu and He, 2018).
Tensor group_norm(Arg x, std::int64_t groups, const NormOptions& options = {});
/// x (N, C, spatial…), each channel of each sample over its spatial axes; weight and bias (C) (Ulyanov et al., 2016).
Tensor instance_norm(Arg x, const NormOptions& options = {});

struct LocalResponseNormOptions {
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};
/// x (N, C, …) / (k + alpha/size * Σ x²)^beta, summed over `size` neighbouring channels (Krizhevsky et al., 2012, section 3.3, which writes
/// alpha for PyTorch's alpha/size).
Tensor local_response_norm(Arg x, const LocalResponseNormOptions& options = {});

/// x / max(‖x‖₂, eps) along `axis`.
Tensor l2_normalize(Arg x, int axis = 1, double eps = 1e-12);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> normalization_cases();

}  // namespace tegula
