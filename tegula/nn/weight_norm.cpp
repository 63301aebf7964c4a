#include "tegula/nn/weight_norm.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn::detail {
namespace {

/// The axes that are not `dim`.
Dims others(std::string_view layer, const Tensor& weight, int dim, const Line& where) {
  const int kept = ops::axis_of(layer, dim, weight.shape(), where);
  Dims axes;
  for (int i = 0; i < weight.rank(); ++i) {
    if (i != kept) axes.push_back(i);
  }
  return axes;
}

/// (outputs, rest), at least f32.
Tensor as_matrix(const Tensor& weight, int dim) {
  const Tensor x = movedim(ops::widen(weight), dim, 0);
  return reshape(x, {x.shape()[0], x.numel() / x.shape()[0]});
}

// Products with a vector as sums, which no Precision rounds.
Tensor times(const Tensor& matrix, const Tensor& v) { return sum(matrix * v, 1); }
Tensor transposed_times(const Tensor& matrix, const Tensor& u) { return sum(matrix * expand_dims(u, 1), 0); }

}  // namespace

Tensor norm_except(const Tensor& weight, std::optional<int> dim, const Line& where) {
  const In frame("WeightNorm", where);
  return dim ? norm(weight, 2, others("WeightNorm", weight, *dim, where), Keep::Yes) : norm(weight);
}

Tensor scaled_direction(const Tensor& v, const Tensor& scale, std::optional<int> dim, const Line& where) {
  const In frame("WeightNorm", where);
  const Tensor wide = ops::widen(v);
  return ops::narrow(wide * (ops::widen(scale) / norm_except(wide, dim, where)), v.dtype());
}

LargestSingularValue::LargestSingularValue(const Variable& weight, int dim, const SpectralNormOptions& options, const Line& where)
    : iterations_(options.n_power_iterations),
      eps_(options.eps) {
  const In frame("SpectralNorm", where);
  if (iterations_ < 1) ops::refuse("SpectralNorm", "n_power_iterations = " + std::to_string(iterations_), "at least 1", where);
  dim_ = ops::axis_of("SpectralNorm", dim, weight.shape(), where);
  const Tensor matrix = as_matrix(weight.read(where), dim_);
  const auto begin = [&](std::int64_t n) { return l2_normalize(normal({n}, 0, 1, {.dtype = matrix.dtype()}, where), 0, eps_); };
  u = begin(matrix.shape()[0]);
  v = begin(matrix.shape()[1]);
  improve(matrix, 15);  // as PyTorch begins
}

void LargestSingularValue::improve(const Tensor& matrix, std::int64_t times_more) {
  for (std::int64_t i = 0; i < times_more; ++i) {
    u = l2_normalize(times(matrix, v), 0, eps_);
    v = l2_normalize(transposed_times(matrix, u), 0, eps_);
  }
}

Tensor LargestSingularValue::divided(const Variable& weight, bool training, const Line& where) {
  const In frame("SpectralNorm", where);
  const Tensor w = weight.read(where), matrix = as_matrix(w, dim_);
  if (training) improve(graph::stop_gradient(matrix, where), iterations_);
  const Tensor sigma = sum(Tensor(u) * times(matrix, v));  // a Buffer's value passes no gradient on
  return ops::narrow(ops::widen(w) / sigma, w.dtype());
}

}  // namespace tegula::nn::detail
