#pragma once
// Shared by all optimisers: the parameters, the learning rate, the number of steps, the state of a checkpoint.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula::optim {

/// adam.step(grad(loss, parameters(net))) updates the parameters, in a jit together with everything else. All state lies in Variables:
/// the learning rate may change between calls of a jit-ed function without another trace.
/// Groups with options of their own: optim/groups.h.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;  // two optimisers of the same parameters would be a mistake
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) noexcept = default;
  Optimizer& operator=(Optimizer&&) noexcept = default;

  /// One update. gradients[i] belongs to parameters()[i] and has its shape. Throws Error otherwise, naming the parameter. Frozen parameters (nn/freeze.h) and
  /// their moments stay as they are. Outside of jit the update is pending until a value is read, at most until the next step: a loop that reads nothing also
  /// computes step by step, with its losses and their sums.
  void step(const std::vector<Tensor>& gradients, Line where = Line::current());

  /// The compiler's message for a loss as the argument of a step.
  template <class T>
  requires std::is_same_v<T, Tensor>
  void step(const T&) {
    static_assert(!std::is_same_v<T, Tensor>, "tegula: a step takes gradients: adam.step(grad(loss, parameters(net)))");
  }
  /// Says where gradients are.
  template <class T = Tensor>
  void zero_grad() const {
    static_assert(!std::is_same_v<T, Tensor>,
                  "tegula: gradients are values, there is nothing to zero: adam.step(grad(loss, parameters(net)))");
  }

  /// () f64. optimizer.lr = 1e-4, or a schedule's value: optimizer.lr = schedule(epoch).
  Variable lr;

  const Parameters& parameters() const { return parameters_; }
  /// () i64: updates made so far.
  const Variable& steps() const { return steps_; }
  /// Everything a checkpoint needs, by name: "lr", "steps", "conv1.weight.exp_avg" … state_dict(adam.state()), load(adam.state(), …).
  Parameters state() const;

  /// True if each element is updated by its own gradient and state alone, independently of the others of its parameter; false if norms count. Needed for take_parts().
  virtual bool elementwise() const { return false; }
  /// From now on it updates parts[i] in place of parameter i: some of its elements, in any order and shape, those of other ranks being theirs (dist/parallel/data_parallel.h).
  /// `part_of(i, state)` makes of a Variable of the whole parameter's shape one of the part's, which the optimiser keeps. Throws Error unless elementwise().
  void take_parts(const Parameters& parts, const std::function<Variable(std::size_t i, const Variable& whole)>& part_of,
                  Line where = Line::current());

 protected:
  /// Throws Error for an empty list and for parameters that are not floats.
  Optimizer(std::string_view name, Parameters parameters, double lr, Line where);

  /// A tensor of state for each parameter, filled with `value`: f32, or f64 for f64 parameters. In the state it is "<parameter>.<name>".
  /// The address stays when the optimiser is moved.
  std::vector<Variable>* add_state(std::string_view name, double value = 0);
  /// State of the shape that `shape_of` gives for a parameter's shape, zeros; parameters for which it gives none have no state.
  std::vector<Variable>* add_state(std::string_view name, std::optional<Shape> (*shape_of)(const Shape&));
  /// Throws Error in the name of the optimiser: an option does not make sense.
  /// Throws Error for the first option that is negative or NaN.
  void require_not_negative(std::initializer_list<std::pair<std::string_view, double>> options, Line where) const;
  void require(bool holds, std::string_view got, std::string_view expected, Line where) const;

  /// A number that all parameters share in one step, computed once in f64. Every parameter uses the same formula and the same numbers,
  /// so that the compiler makes one program of all the updates.
  class Number {
   public:
    Number(const Tensor& value);  // () f64
    const Tensor& like(const Tensor& x) const { return x.dtype() == f64 ? wide_ : narrow_; }

   private:
    Tensor wide_, narrow_;
  };
  struct Step {
    Tensor t, lr;  // () f64; the number of this step from 1, the rate
    std::vector<Tensor> p, g;  // parameters and gradients in f32, or f64
    std::vector<DType> stored;  // the dtypes in which the parameters are stored
  };
  /// The new parameters: the formula of the optimiser. Parameters may be fewer than parameters() has, and state of as many: frozen ones are left out.
  virtual std::vector<Tensor> update(const Step& step) = 0;
  /// update() of the parameters that are not frozen; the others' as they are.
  virtual std::vector<Tensor> update_some(const Step& step);
  /// The state made by add_state, by name.
  virtual Parameters update_state() const;
  /// take_parts(), of those from `first` on.
  using PartOf = std::function<Variable(std::size_t i, const Variable& whole)>;
  virtual void adopt(const Parameters& parts, std::size_t first, const PartOf& part_of);
  // For an optimiser that is made of others.
  static std::vector<Tensor> update_of(Optimizer& other, const Step& step) { return other.update_some(step); }
  static Parameters update_state_of(const Optimizer& other) { return other.update_state(); }
  static void adopt_by(Optimizer& other, const Parameters& parts, std::size_t first, const PartOf& part_of) {
    other.adopt(parts, first, part_of);
  }

  /// The compiler's message for a constructor with a bare number.
  template <class T>
  static void options_have_names() {
    static_assert(!std::is_arithmetic_v<T>, "tegula: an optimiser's options are given by name: optim::Adam(parameters(net), {.lr = 0.01})");
  }

 private:
  [[noreturn]] void refuse_parts(std::string got, std::string advice, const Line& where) const;

  std::string_view name_;
  Parameters parameters_;
  Variable steps_;
  std::uint64_t last_step_ = 0;  // the last one outside of a trace: the sequence number of its first nodes
  void compute_step_before(const Line& where) const;
  void warn_of_others_gradients(const std::vector<Tensor>& gradients, const Line& where) const;
  struct State {
    std::string name;
    std::unique_ptr<std::vector<Variable>> values;  // its address stays when the optimiser is moved
  };
  std::vector<State> states_;
};

}  // namespace tegula::optim
