#pragma once
// Gradients of several small batches for one step.

#include <functional>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::optim {

/// The gradient of a batch that does not fit, from parts of it:
///   optim::GradientAccumulator accumulator(parameters(net));
///   for (part : parts) accumulator.add(grad(loss(part), parameters(net)));
///   adam.step(accumulator.mean());
/// add() and mean() may stand in jit-ed functions of their own, or together in one. Sums are f32 (f64 of f64 parameters).
///
/// Parts that are not equally large count by the numbers whose means their losses are, rows or tokens that are no padding:
///   accumulator.add(grad(loss(part), parameters(net)), count(part));
class GradientAccumulator {
 public:
  explicit GradientAccumulator(const Parameters& parameters, Line where = Line::current());

  /// One gradient for each parameter, of its shape. Throws Error otherwise, naming the parameter.
  void add(const std::vector<Tensor>& gradients, Line where = Line::current());
  /// The same of a part that counts `weight` () times, a number that is not negative. A part of weight 0 adds nothing, whatever its gradients are: the loss of a
  /// part of padding alone is NaN.
  void add(const std::vector<Tensor>& gradients, Arg weight);
  /// The sums divided by the weights that were added since the last time (zeros when there were none), and begins anew: the gradient of the mean over all.
  std::vector<Tensor> mean(Line where = Line::current());

  /// From now on it adds up parts of the gradients: the parts that this rank keeps (Optimizer::take_parts).
  void take_parts(const std::function<Variable(std::size_t i, const Variable& whole)>& part_of);

  /// () i64: how many were added.
  const Variable& count() const { return count_; }
  /// () f64: the sum of their weights, each 1 unless it was given. Between ranks: parallel.mean(accumulator.mean(), weight) with its value before mean().
  const Variable& weight() const { return weight_; }
  /// The state for a checkpoint: "count", "weight", "conv1.weight.gradient", …
  Parameters state() const;

 private:
  std::vector<std::string> names_;
  std::vector<Variable> sums_;
  Variable count_, weight_;
};

}  // namespace tegula::optim
