#pragma once
// First values of weights: net.head.weight = nn::init::he_normal(net.head.weight.shape());
//
// A weight is (out, in, window…): fan_in = in * window, fan_out = out * window, as in PyTorch. All draw from the default generator
// (manual_seed) unless another is given.

#include "tegula/ops/random.h"

namespace tegula::nn::init {

Tensor zeros(const Shape& shape, DType dtype = f32, Line where = Line::current());
Tensor ones(const Shape& shape, DType dtype = f32, Line where = Line::current());
Tensor constant(const Shape& shape, double value, DType dtype = f32, Line where = Line::current());
/// Rank 2, 1 on the diagonal.
Tensor eye(const Shape& shape, DType dtype = f32, Line where = Line::current());
Tensor uniform(const Shape& shape, double low = 0, double high = 1, const RandomOptions& options = {}, Line where = Line::current());
Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, const RandomOptions& options = {}, Line where = Line::current());
/// Gaussian, restricted to [low, high].
Tensor truncated_normal(const Shape& shape, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                        const RandomOptions& options = {}, Line where = Line::current());

struct GlorotOptions {
  double gain = 1;
  RandomOptions random = {};
};
/// Variance 2 gain² / (fan_in + fan_out) (Glorot and Bengio, 2010); PyTorch's xavier_uniform_ and xavier_normal_.
Tensor glorot_uniform(const Shape& shape, const GlorotOptions& options = {}, Line where = Line::current());
Tensor glorot_normal(const Shape& shape, const GlorotOptions& options = {}, Line where = Line::current());

enum class Fan : std::uint8_t { In, Out };
struct HeOptions {
  double gain = 1.4142135623730951;  // for relu; see the functions below for others
  Fan mode = Fan::In;
  RandomOptions random = {};
};
/// Variance gain² / fan (He et al., 2015); PyTorch's kaiming_uniform_ and kaiming_normal_.
Tensor he_uniform(const Shape& shape, const HeOptions& options = {}, Line where = Line::current());
Tensor he_normal(const Shape& shape, const HeOptions& options = {}, Line where = Line::current());

/// sqrt(2 / (1 + slope²)); 5/3 for tanh, 3/4 for selu, 1 for linear layers, convolutions and sigmoid (PyTorch's calculate_gain).
double leaky_relu_gain(double slope = 0.01);
inline constexpr double kReluGain = 1.4142135623730951, kTanhGain = 5.0 / 3, kSeluGain = 0.75;

/// Rank ≥ 2, seen as (shape[0], rest): rows, or where there are more rows than columns the columns, are orthonormal times gain
/// (Saxe et al., 2014). Computed at once on the host: not inside a jit.
Tensor orthogonal(const Shape& shape, const GlorotOptions& options = {}, Line where = Line::current());

/// The initialisation of PyTorch's layers: he_uniform with gain sqrt(1/3), so that the bound is 1 / sqrt(fan_in); and the bias with the same bound.
Tensor default_weight(const Shape& shape, DType dtype, Line where = Line::current());
Tensor default_bias(std::int64_t count, const Shape& weight, DType dtype, Line where = Line::current());

struct Fans {
  std::int64_t in, out;
};
/// Throws Error for rank < 2.
Fans fans(const Shape& weight, Line where = Line::current());

}  // namespace tegula::nn::init
