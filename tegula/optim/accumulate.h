#pragma once
// Gradients of several small batches for one step.

#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::optim {

/// The gradient of a batch that does not fit, from parts of it:
///   optim::GradientAccumulator accumulator(parameters(net));
///   for (part : parts) accumulator.add(grad(loss(part), parameters(net)));
///   adam.step(accumulator.mean());
/// add() and mean() may stand in jit-ed functions of their own, or together in one. Sums are f32 (f64 of f64 parameters).
class GradientAccumulator {
 public:
  using Location = std::source_location;
  explicit GradientAccumulator(const Parameters& parameters, Location where = Location::current());

  /// One gradient for each parameter, of its shape. Throws Error otherwise, naming the parameter.
  void add(const std::vector<Tensor>& gradients, Location where = Location::current());
  /// The sums divided by how many were added since the last time (zeros when none), and begins anew. When each part's loss is a mean and the parts are
  /// equally large, this is the gradient of the mean over all.
  std::vector<Tensor> mean(Location where = Location::current());

  /// () i64: how many were added.
  const Variable& count() const { return count_; }
  /// For a checkpoint: "count", "conv1.weight.gradient", …
  Parameters state() const;

 private:
  std::vector<std::string> names_;
  std::vector<Variable> sums_;
  Variable count_;
};

}  // namespace tegula::optim
