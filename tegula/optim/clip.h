#pragma once
// Limits on gradients, between grad and step.

#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::optim {

struct ClippedGradients {
  std::vector<Tensor> gradients;
  Tensor norm;  // () f32, or f64 where a gradient is: before clipping
};
/// All gradients times min(1, max_norm / (norm + 1e-6)), where norm is that of all of them as one vector (Pascanu et al., 2013).
/// auto [clipped, norm] = optim::clip_grad_norm(grad(loss, parameters(net)), 1.0);
ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm, Line where = Line::current());
/// Clips for ranks that hold parts of the vector. Gradient i is that of parameter i: for a parameter that ranks split (Cell::partition) the norm counts all
/// parts.
ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, const Parameters& parameters, double max_norm,
                                Line where = Line::current());

/// Each element limited to [-limit, limit].
std::vector<Tensor> clip_grad_value(const std::vector<Tensor>& gradients, double limit, Line where = Line::current());

}  // namespace tegula::optim
