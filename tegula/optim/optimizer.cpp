#include "tegula/optim/optimizer.h"

#include <map>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/graph/autodiff/gradient_owners.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/recent_scalars.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/elementwise/arithmetic.h"

namespace tegula::optim {
namespace {

// The dtype of a parameter's state and arithmetic.
DType compute_dtype(const Parameter& parameter) { return parameter.cell->dtype() == f64 ? f64 : f32; }

}  // namespace

Optimizer::Optimizer(std::string_view name, Parameters parameters, double lr, Line where)
    : name_(name),
      parameters_(std::move(parameters)) {
  In frame(name_, where);
  if (parameters_.empty()) {
    throw Error({.op = std::string(name_),
                 .got = "no parameters",
                 .expected = "at least one",
                 .advice = "does the module have Variable fields?",
                 .where = origin_at(where).where});
  }
  std::map<const Cell*, std::string_view> names;
  for (const Parameter& parameter : parameters_) {
    const auto [first, is_new] = names.try_emplace(parameter.cell.get(), parameter.name);
    if (!is_new) {
      const std::string other = first->second == parameter.name ? "" : ", the other time as " + std::string(first->second);
      throw Error({.op = std::string(name_),
                   .got = parameter.name + " twice" + other,
                   .expected = "each parameter once",
                   .advice = "parameters(net) lists what layers share once",
                   .where = origin_at(where).where});
    }
  }
  for (const Parameter& parameter : parameters_) {
    const DType dtype = parameter.cell->dtype();
    if (is_float(dtype)) continue;
    throw Error({.op = std::string(name_),
                 .got = parameter.name + " of dtype " + std::string(tegula::name(dtype)),
                 .expected = "floats",
                 .advice = "state that is not trained is an nn::Buffer",
                 .where = origin_at(where).where});
  }
  require_not_negative({{"lr", lr}}, where);
  this->lr = graph::scalar(lr, f64, where);
  steps_ = graph::scalar(0, i64, where);
}

void Optimizer::require(bool holds, std::string_view got, std::string_view expected, Line where) const {
  if (holds) return;
  throw Error({.op = std::string(name_), .got = std::string(got), .expected = std::string(expected), .where = origin_at(where).where});
}

void Optimizer::require_not_negative(std::initializer_list<std::pair<std::string_view, double>> options, Line where) const {
  for (const auto& [name, value] : options) {
    if (value >= 0) continue;  // not of NaN
    throw Error({.op = std::string(name_),
                 .got = std::string(name) + " = " + number_text(value),
                 .expected = "a number of at least 0",
                 .where = origin_at(where).where});
  }
}

std::vector<Variable>* Optimizer::add_state(std::string_view name, double value) {
  auto values = std::make_unique<std::vector<Variable>>();
  values->reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    values->emplace_back(graph::full(parameter.cell->shape(), value, compute_dtype(parameter)));
    values->back().cell()->set_partition(parameter.cell->partition());
  }
  states_.push_back({std::string(name), std::move(values)});
  return states_.back().values.get();
}

std::vector<Variable>* Optimizer::add_state(std::string_view name, std::optional<Shape> (*shape_of)(const Shape&)) {
  auto values = std::make_unique<std::vector<Variable>>(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (const auto shape = shape_of(parameters_[i].cell->shape())) (*values)[i] = graph::full(*shape, 0, compute_dtype(parameters_[i]));
  }
  states_.push_back({std::string(name), std::move(values)});
  return states_.back().values.get();
}

/// Gradients of a copy of the network have the right shapes, and train nothing.
void Optimizer::warn_of_others_gradients(const std::vector<Tensor>& gradients, const Line& where) const {
  const std::vector<const Cell*>* owners = owners_of(gradients);
  if (!owners) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Cell* owner = (*owners)[i];
    if (!owner || owner == parameters_[i].cell.get()) continue;
    warn("optim.others_gradients", std::string(name_) + " at " + to_string(origin_at(where).where) +
                                       " got the gradient of another Variable for its parameter " + parameters_[i].name +
                                       ": a network that is captured or passed by value is a copy with weights of its own, which this step "
                                       "does not train. Take it by reference; "
                                       "where gradients of another network are meant, step() of their stop_gradient says it");
    return;
  }
}

void Optimizer::step(const std::vector<Tensor>& gradients, Line where) {
  In frame(name_, where);
  if (gradients.size() != parameters_.size()) {
    throw Error({.op = std::string(name_),
                 .got = std::to_string(gradients.size()) + " gradients",
                 .expected = "one for each of the " + std::to_string(parameters_.size()) + " parameters",
                 .advice = "step(grad(loss, parameters(net))) with the parameters the optimiser was made for",
                 .where = origin_at(where).where});
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Shape& shape = parameters_[i].cell->shape();
    if (gradients[i].shape(where) == shape) continue;
    throw Error({.op = std::string(name_),
                 .got = "a gradient of shape " + to_string(gradients[i].shape()) + " for " + parameters_[i].name,
                 .expected = "its shape " + to_string(shape),
                 .where = origin_at(where).where});
  }
  for (const Parameter& parameter : parameters_) {
    if (parameter.cell->partition() && !elementwise())
      refuse_parts(parameter.name + ", of which every rank has a part", "split no layers", where);
  }
  warn_of_others_gradients(gradients, where);
  const bool traced = Trace::current() != nullptr;
  if (!traced) compute_step_before(where);
  const RecentScalars::Unnoted own;
  steps_ = steps_ + 1;
  Step step{.t = graph::cast(steps_, f64, where), .lr = lr.read(where), .p = {}, .g = {}, .stored = {}};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    step.stored.push_back(parameters_[i].cell->dtype());
    const DType dtype = compute_dtype(parameters_[i]);
    step.p.push_back(graph::cast(parameters_[i].read(where), dtype, where));
    step.g.push_back(graph::cast(gradients[i], dtype, where));
  }
  if (!traced) last_step_ = step.t.node()->sequence();
  const std::vector<Tensor> next = update_some(step);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (!is_frozen(*parameters_[i].cell)) parameters_[i].assign(next[i], where);
  }
}

std::vector<Tensor> Optimizer::update_some(const Step& step) {
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_frozen(*parameters_[i].cell)) active.push_back(i);
  }
  if (active.size() == parameters_.size()) return update(step);
  std::vector<Tensor> next = step.p;
  if (active.empty()) return next;
  Step some{.t = step.t, .lr = step.lr, .p = {}, .g = {}, .stored = {}};
  for (const std::size_t i : active) some.p.push_back(step.p[i]), some.g.push_back(step.g[i]), some.stored.push_back(step.stored[i]);
  // The state of the active ones moves to the front, and back to its order in any case.
  struct Moved {
    std::vector<Variable>& values;
    const std::vector<std::size_t>& active;
    explicit Moved(std::vector<Variable>& all, const std::vector<std::size_t>& which) : values(all), active(which) {
      for (std::size_t k = 0; k < active.size(); ++k) std::swap(values[k], values[active[k]]);
    }
    ~Moved() {
      for (std::size_t k = active.size(); k-- > 0;) std::swap(values[k], values[active[k]]);
    }
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;
  };
  std::vector<std::unique_ptr<Moved>> moved;
  for (const State& state : states_) moved.push_back(std::make_unique<Moved>(*state.values, active));
  const std::vector<Tensor> updated = update(some);
  for (std::size_t k = 0; k < active.size(); ++k) next[active[k]] = updated[k];
  return next;
}

/// For programs that do not read the last step's results, nor any scalar from before that step: their pending values would pile up.
void Optimizer::compute_step_before(const Line& where) const {
  if (last_step_ == 0) return;
  if (!steps_.read(where).node()->has_value() || RecentScalars::any_before(last_step_)) evaluate_pending(where);
}

void Optimizer::refuse_parts(std::string got, std::string advice, const Line& where) const {
  throw Error(
      {.op = std::string(name_),
       .got = std::move(got),
       .expected =
           "an optimiser that updates element by element: SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, Lion, or ParameterGroups of these",
       .advice = std::move(advice),
       .where = origin_at(where).where});
}

void Optimizer::take_parts(const Parameters& parts, const PartOf& part_of, Line where) {
  const In frame(name_, where);
  if (!elementwise()) refuse_parts("parameters of which every rank updates a part", "train with .shard = 0", where);
  require(parts.size() == parameters_.size(), std::to_string(parts.size()) + " parts",
          "one of each of the " + std::to_string(parameters_.size()) + " parameters", where);
  adopt(parts, 0, part_of);
}

void Optimizer::adopt(const Parameters& parts, std::size_t first, const PartOf& part_of) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const State& state : states_) {
      Variable& value = (*state.values)[i];
      if (value.defined()) value = part_of(first + i, value);
    }
    parameters_[i] = parts[first + i];
  }
}

Optimizer::Number::Number(const Tensor& value) : wide_(value), narrow_(graph::cast(value, f32)) {}

Parameters Optimizer::state() const {
  Parameters cells{{"lr", lr.cell()}, {"steps", steps_.cell()}};
  for (Parameter& cell : update_state()) cells.push_back(std::move(cell));
  return cells;
}

Parameters Optimizer::update_state() const {
  Parameters cells;
  for (const State& state : states_) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Variable& value = (*state.values)[i];
      if (value.defined()) cells.push_back({parameters_[i].name + "." + state.name, value.cell()});
    }
  }
  return cells;
}

}  // namespace tegula::optim
