#pragma once
// Layers around a layer whose weight they make from other numbers: nn::WeightNorm<nn::Conv2d> conv{nn::Conv2d{3, 8, 3}};

#include <concepts>
#include <optional>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/module.h"

namespace tegula::nn {

/// Linear, Conv1d … ConvTranspose3d, or a layer of yours with these members.
template <class L>
concept WithWeight = requires(L& layer, Arg x, const Tensor& weight) {
  { layer.with_weight(x, weight) } -> std::convertible_to<Tensor>;
  { layer.weight } -> std::convertible_to<Variable&>;
  { layer.bias } -> std::convertible_to<Variable&>;
};

struct WeightNormOptions {
  std::optional<int> dim = 0;  // the axis with a length for each place; nothing: one for the whole weight
};
/// weight = g * v / ‖v‖₂ with trained lengths g and directions v (Salimans and Kingma, 2016). Begins as the layer it is given. Names are PyTorch's
/// torch.nn.utils.weight_norm's: "weight_g", "weight_v", "bias".
template <WithWeight L>
class WeightNorm {
 public:
  explicit WeightNorm(L layer, const WeightNormOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x) const;
  /// The weight that the layer uses.
  Tensor weight(Line where = Line::current()) const;
  void visit(Visitor& visitor, const Path& path);

  L layer;  // its weight is v
  Variable scale;  // g: the weight's shape with 1 but for dim, or ()

 private:
  std::optional<int> dim_;
};

struct SpectralNormOptions {
  std::int64_t n_power_iterations = 1;  // in each training step
  double eps = 1e-12;
  std::optional<int> dim = {};  // the axis of the outputs; nothing: 0, of transposed convolutions 1
};

namespace detail {

/// The state of SpectralNorm beside the layer.
class LargestSingularValue {
 public:
  LargestSingularValue(const Variable& weight, int dim, const SpectralNormOptions& options, const Line& where);
  /// weight / sigma; in training after a step of the power method.
  Tensor divided(const Variable& weight, bool training, const Line& where);

  Buffer u, v;  // (outputs), (the rest)

 private:
  void improve(const Tensor& matrix, std::int64_t times);
  int dim_;
  std::int64_t iterations_;
  double eps_;
};

template <class L>
inline constexpr int kOutputAxis = 0;
template <int Axes>
inline constexpr int kOutputAxis<ConvolutionTranspose<Axes>> = 1;

Tensor norm_except(const Tensor& weight, std::optional<int> dim, const Line& where);
Tensor scaled_direction(const Tensor& v, const Tensor& scale, std::optional<int> dim, const Line& where);

}  // namespace detail

/// weight / sigma, where sigma is the largest singular value of the weight as a matrix (outputs, rest), estimated by the power method with vectors
/// that are kept from step to step (Miyato et al., 2018). In evaluation the vectors stay. Names are PyTorch's torch.nn.utils.spectral_norm's:
/// "weight_orig", "weight_u", "weight_v", "bias".
template <WithWeight L>
class SpectralNorm {
 public:
  explicit SpectralNorm(L layer, const SpectralNormOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x);
  void visit(Visitor& visitor, const Path& path);

  L layer;  // its weight is the one before the division
  detail::LargestSingularValue sigma;
  Flag training{1};
  Flag frozen{0};  // the vectors stay also while training (nn/freeze.h)
};

template <WithWeight L>
WeightNorm<L>::WeightNorm(L given, const WeightNormOptions& options, Line where)
    : layer(std::move(given)),
      scale(stop_gradient(Arg(detail::norm_except(layer.weight.read(where), options.dim, where), where))),
      dim_(options.dim) {}

template <WithWeight L>
Tensor WeightNorm<L>::weight(Line where) const {
  return detail::scaled_direction(layer.weight.read(where), scale.read(where), dim_, where);
}
template <WithWeight L>
Tensor WeightNorm<L>::operator()(Arg x) const {
  return layer.with_weight(x, weight(x.loc));
}

template <WithWeight L>
void WeightNorm<L>::visit(Visitor& visitor, const Path& path) {
  visitor.parameter(Path{&path, "weight_g"}, scale);
  visitor.parameter(Path{&path, "weight_v"}, layer.weight);
  if (layer.bias.defined()) visitor.parameter(Path{&path, "bias"}, layer.bias);
}

template <WithWeight L>
SpectralNorm<L>::SpectralNorm(L given, const SpectralNormOptions& options, Line where)
    : layer(std::move(given)),
      sigma(layer.weight, options.dim.value_or(detail::kOutputAxis<L>), options, where) {}

template <WithWeight L>
Tensor SpectralNorm<L>::operator()(Arg x) {
  return layer.with_weight(x, sigma.divided(layer.weight, training && !frozen, x.loc));
}

template <WithWeight L>
void SpectralNorm<L>::visit(Visitor& visitor, const Path& path) {
  visitor.parameter(Path{&path, "weight_orig"}, layer.weight);
  visitor.buffer(Path{&path, "weight_u"}, sigma.u);
  visitor.buffer(Path{&path, "weight_v"}, sigma.v);
  if (layer.bias.defined()) visitor.parameter(Path{&path, "bias"}, layer.bias);
  visitor.flag(Path{&path, "training"}, training);
  visitor.flag(Path{&path, "frozen"}, frozen);
}

}  // namespace tegula::nn
