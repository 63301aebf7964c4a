#pragma once
// Activation functions, element by element. PyTorch's names, defaults and values at the kinks.

#include "tegula/graph/tensor.h"
#include "tegula/ops/elementwise/math.h"  // sigmoid, tanh

namespace tegula {

/// max(x, 0); the gradient at 0 is 0.
Tensor relu(Arg x);
/// min(max(x, 0), 6).
Tensor relu6(Arg x);
/// x, or slope * x below 0.
Tensor leaky_relu(Arg x, double slope = 0.01);
/// leaky_relu with a learnt slope: one number, or one for each channel (axis 1 of x).
Tensor prelu(Arg x, Arg slope);
/// x, or alpha * (exp(x) - 1) below 0 (Clevert et al. 2016).
Tensor elu(Arg x, double alpha = 1);
/// elu scaled to keep mean 0 and variance 1 (Klambauer et al. 2017).
Tensor selu(Arg x);
/// max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)) (Barron 2017).
Tensor celu(Arg x, double alpha = 1);

enum class Approximate : std::uint8_t { None, Tanh };
/// x * Phi(x) (Hendrycks and Gimpel 2016), exact or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))).
Tensor gelu(Arg x, Approximate approximate = Approximate::None);
/// log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.
Tensor softplus(Arg x, double beta = 1, double threshold = 20);
/// x / (1 + |x|).
Tensor softsign(Arg x);
/// x * sigmoid(x); silu is PyTorch's name.
Tensor swish(Arg x);
Tensor silu(Arg x);
/// x * tanh(softplus(x)) (Misra 2019).
Tensor mish(Arg x);
/// log(sigmoid(x)).
Tensor log_sigmoid(Arg x);
Tensor tanhshrink(Arg x);

/// x limited to [low, high], gradient 0 at the bounds.
Tensor hardtanh(Arg x, double low = -1, double high = 1);
/// relu6(x + 3) / 6.
Tensor hardsigmoid(Arg x);
/// x * hardsigmoid(x), and its limit 0 at -inf (PyTorch and ONNX give NaN there: docs/differences.md).
Tensor hardswish(Arg x);
/// 0 where |x| <= lambda, else x.
Tensor hardshrink(Arg x, double lambda = 0.5);
/// x moved toward 0 by lambda, 0 where |x| <= lambda.
Tensor softshrink(Arg x, double lambda = 0.5);
/// x where x > bound, else value; NaN where x is NaN, as in PyTorch.
Tensor threshold(Arg x, double bound, double value);

/// The maximum of each group of `groups` consecutive channels along `axis` (Goodfellow et al. 2013): the axis becomes `groups` times shorter.
Tensor maxout(Arg x, int groups, int axis = 1);

}  // namespace tegula
