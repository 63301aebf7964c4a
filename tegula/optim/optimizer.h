#pragma once
// What all optimisers share: the parameters, the learning rate, the number of steps, the state of a checkpoint.

#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::optim {

/// adam.step(grad(loss, parameters(net))) updates the parameters, in a jit together with everything else. All state lies in Variables: the learning
/// rate may change between calls of a jit-ed function without another trace.
/// For groups with options of their own, make one optimiser for each.
class Optimizer {
 public:
  using Location = std::source_location;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;  // two optimisers of the same parameters would be a mistake
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) noexcept = default;
  Optimizer& operator=(Optimizer&&) noexcept = default;

  /// One update. gradients[i] belongs to parameters()[i] and has its shape. Throws Error otherwise, naming the parameter.
  void step(const std::vector<Tensor>& gradients, Location where = Location::current());

  /// () f64. optimizer.lr = 1e-4, or a schedule's value: optimizer.lr = schedule(epoch).
  Variable lr;

  const Parameters& parameters() const { return parameters_; }
  /// () i64: updates made so far.
  const Variable& steps() const { return steps_; }
  /// Everything a checkpoint needs, by name: "lr", "steps", "conv1.weight.exp_avg" … state_dict(adam.state()), load(adam.state(), …).
  Parameters state() const;

 protected:
  /// Throws Error for an empty list and for parameters that are not floats.
  Optimizer(std::string_view name, Parameters parameters, double lr, Location where);

  /// A tensor of state for each parameter, filled with `value`: of f32, or f64 for f64 parameters. Listed in the state under "<parameter>.<name>".
  std::vector<Variable>& add_state(std::string_view name, double value = 0);

  /// The update of parameter i: the formula of the optimiser. p and g are f32 (or f64), scalars() has been called before.
  /// Returns the new parameter.
  virtual Tensor update(std::size_t i, const Tensor& p, const Tensor& g) = 0;
  /// What all the parameters share in this step, computed once: rank-0 tensors. t is the number of this step from 1, lr the rate, both f64.
  virtual void scalars(const Tensor& t, const Tensor& lr) = 0;

 private:
  std::string_view name_;
  Parameters parameters_;
  Variable steps_;
  struct State {
    std::string name;
    std::unique_ptr<std::vector<Variable>> values;  // its address stays when the optimiser is moved
  };
  std::vector<State> states_;
};

}  // namespace tegula::optim
