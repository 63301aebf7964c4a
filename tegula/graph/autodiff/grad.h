#pragma once
// Reverse-mode differentiation by building more graph.

#include <concepts>
#include <functional>

#include "tegula/graph/variable.h"

namespace tegula {

/// Something to differentiate with respect to: a tensor, a Variable (by reference: a copy would be another cell) or a Parameter.
class Wrt {
 public:
  Wrt(const Tensor& tensor) : tensor_(tensor) {}
  Wrt(const Variable& variable, Line where = Line::current());
  Wrt(const Parameter& parameter, Line where = Line::current());
  const Tensor& tensor() const { return tensor_; }
  const std::string& name() const { return name_; }
  const Cell* cell() const { return cell_.get(); }

 private:
  Tensor tensor_;
  Ref<Cell> cell_;
  std::string name_;
};

/// The arguments to differentiate with respect to: {a, b} of tensors, Variables and Parameters, or a container of these (parameters(net), a
/// std::vector<Tensor>).
class WrtList {
 public:
  WrtList(std::initializer_list<Wrt> xs) : xs_(xs) {}
  WrtList(std::vector<Wrt> xs) : xs_(std::move(xs)) {}
  WrtList(const std::vector<Tensor>& xs);
  WrtList(const Parameters& xs, Line where = Line::current());
  template <class List>
  requires requires(const List& list) {
    { *list.begin() } -> std::convertible_to<Wrt>;
  }
  WrtList(const List& list, Line where = Line::current()) {
    for (const auto& x : list) {
      using X = std::remove_cvref_t<decltype(x)>;
      if constexpr (std::is_base_of_v<Variable, X> || std::is_base_of_v<Parameter, X>) xs_.emplace_back(x, where);
      else xs_.emplace_back(x);
    }
  }
  const std::vector<Wrt>& list() const { return xs_; }

 private:
  std::vector<Wrt> xs_;
};

/// d y / d x for each x, of x's shape and dtype. y is a scalar (one element) of a float type. Values may have been looked at before, in any
/// order: what y was computed from is kept while y, or something computed from it, is alive.
/// Throws when y is not a scalar, when none of the xs is reached, for a Variable that was assigned after y was computed from its earlier
/// value, and where history that may lead to an x was given up (set_history_budget, graph/history.h): never a part of the gradient.
/// If some xs are reached, the others get zeros, as do those reached only through steps (floor, round, sign), and frozen Parameters (nn/freeze.h), for which
/// nothing is computed. Reads of Variables are leaves (graph/variable.h). The result is graph: it can be differentiated again.
std::vector<Tensor> grad(const Tensor& y, const WrtList& xs, Line where = Line::current());
/// The gradient with respect to one; a list of one, grad(y, {x}), gives a list of one.
template <class X>
requires std::convertible_to<const X&, Wrt>
Tensor grad(const Tensor& y, const X& x, Line where = Line::current()) {
  return grad(y, WrtList{x}, where)[0];
}

/// The names of the parameters that y does not depend on: their gradients are zeros, which is mostly a mistake in the network.
std::vector<std::string> without_gradient(const Tensor& y, const Parameters& xs, Line where = Line::current());

/// Vector-Jacobian products: Σ_i dys[i] · d ys[i] / d x for each x.
std::vector<Tensor> vjp(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const WrtList& xs, Line where = Line::current());

/// The value of f() and its gradients.
template <class F>
std::pair<Tensor, std::vector<Tensor>> value_and_grad(F&& f, const WrtList& xs, Line where = Line::current()) {
  Tensor y = f();
  return {y, grad(y, xs, where)};
}

/// x, through which no gradient flows.
Tensor stop_gradient(Arg x);

/// f(inputs) with a gradient of one's own: vjp(inputs, y, dy) gives the gradient of each input (empty: none flows).
using Function = std::function<Tensor(const std::vector<Tensor>&)>;
using Vjp = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Tensor& y, const Tensor& dy)>;
Tensor custom_function(std::string name, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs,
                       Line where = Line::current());
/// The same, with the function's options by name ({{"axis", std::int64_t{1}}}): printed graphs and graph files show them.
Tensor custom_function(std::string name, NamedOptions options, const Function& f, const Vjp& vjp, const std::vector<Tensor>& inputs,
                       Line where = Line::current());

/// f(inputs), whose intermediate values are computed again in the backward pass instead of being kept
/// (Chen et al., "Training deep nets with sublinear memory cost", 2016). The inputs, the tensors that f captured and the results are kept. f may read
/// and assign Variables; random numbers repeat, and checks are made again. Checkpoints and scans may be nested in each other.
/// Second derivatives are those of f, too. A target of differentiation must be an input, captured, or a result.
Tensor checkpoint(const Function& f, const std::vector<Tensor>& inputs, Line where = Line::current());

/// The same for a function with several results, in one go; to gradients none of them is computed from another.
using Functions = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> checkpoints(const Functions& f, const std::vector<Tensor>& inputs, Line where = Line::current());

}  // namespace tegula
