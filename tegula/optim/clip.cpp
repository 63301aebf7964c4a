#include "tegula/optim/clip.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::optim {

ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm, std::source_location where) {
  return clip_grad_norm(gradients, max_norm, [](const Tensor& square) { return square; }, where);
}

ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm, const std::function<Tensor(const Tensor&)>& of_all,
                                std::source_location where) {
  In frame("clip_grad_norm", where);
  if (gradients.empty()) {
    throw Error({.op = "clip_grad_norm", .got = "no gradients", .expected = "at least one", .where = origin_at(where).where});
  }
  std::vector<Tensor> squares;  // () each
  for (const Tensor& g : gradients) {
    const Tensor wide = g.dtype(where) == f64 ? g : cast(g, f32);  // halves would overflow
    squares.push_back(cast(sum(wide * wide), f64));
  }
  if (!(max_norm >= 0)) {
    throw Error(
        {.op = "clip_grad_norm", .got = "max_norm " + std::to_string(max_norm), .expected = "at least 0", .where = origin_at(where).where});
  }
  const Tensor norm = sqrt(of_all(graph::add_n(squares, where)));  // () f64
  const Tensor factor = clamp_max(max_norm / (norm + 1e-6), 1.0);
  const Tensor narrow = cast(factor, f32);
  const bool fine = std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return g.dtype() == f64; });
  ClippedGradients result{.gradients = {}, .norm = fine ? norm : cast(norm, f32)};
  for (const Tensor& g : gradients) result.gradients.push_back(cast(g * (g.dtype() == f64 ? factor : narrow), g.dtype()));
  return result;
}

std::vector<Tensor> clip_grad_value(const std::vector<Tensor>& gradients, double limit, std::source_location where) {
  In frame("clip_grad_value", where);
  std::vector<Tensor> clipped;
  for (const Tensor& g : gradients) clipped.push_back(clamp(g, -limit, limit));
  return clipped;
}

}  // namespace tegula::optim
