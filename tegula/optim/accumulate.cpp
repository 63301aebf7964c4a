#include "tegula/optim/accumulate.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"

namespace tegula::optim {

GradientAccumulator::GradientAccumulator(const Parameters& parameters, Line where) {
  const In frame("GradientAccumulator", where);
  for (const Parameter& parameter : parameters) {
    names_.push_back(parameter.name);
    sums_.emplace_back(graph::full(parameter.cell->shape(), 0, parameter.cell->dtype() == f64 ? f64 : f32, where), where);
    sums_.back().cell()->set_partition(parameter.cell->partition());
  }
  count_ = Variable(graph::scalar(0, i64, where), where);
  weight_ = Variable(graph::scalar(0, f64, where), where);
}

void GradientAccumulator::add(const std::vector<Tensor>& gradients, Line where) { add(gradients, Arg(1.0, where)); }

void GradientAccumulator::add(const std::vector<Tensor>& gradients, Arg of_weight) {
  const Line where = of_weight.loc;
  const In frame("GradientAccumulator", where);
  const auto refuse = [&](std::string got, std::string expected) {
    throw Error({.op = "GradientAccumulator", .got = std::move(got), .expected = std::move(expected), .where = origin_at(where).where});
  };
  if (gradients.size() != sums_.size())
    refuse(std::to_string(gradients.size()) + " gradients", "one for each of the " + std::to_string(sums_.size()) + " parameters");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const Shape &given = gradients[i].shape(where), &own = sums_[i].shape();
    if (given != own) refuse("a gradient of shape " + to_string(given) + " for " + names_[i], "its shape " + to_string(own));
  }
  const bool is_one = of_weight.is_number() && of_weight.value().real() == 1;
  if (of_weight.is_number() && !(of_weight.value().real() >= 0))
    refuse("a weight of " + number_text(of_weight.value().real()), "no negative one");
  const Tensor weight = graph::cast(of_weight.tensor("GradientAccumulator", f64), f64, where);
  if (weight.shape(where).rank() != 0) refuse("a weight of shape " + to_string(weight.shape()), "a number");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const DType dtype = sums_[i].dtype();
    Tensor part = graph::cast(gradients[i], dtype, where);
    if (!is_one) part = tegula::where(weight > 0, part * graph::cast(weight, dtype, where), 0);
    sums_[i].assign(sums_[i].read(where) + part, where);
  }
  weight_.assign(weight_.read(where) + weight, where);
  count_.assign(count_.read(where) + 1, where);
}

std::vector<Tensor> GradientAccumulator::mean(Line where) {
  const In frame("GradientAccumulator", where);
  const Tensor total = weight_.read(where), wide = 1 / tegula::where(total == 0, 1, total), narrow = graph::cast(wide, f32, where);
  std::vector<Tensor> means;
  for (Variable& sum : sums_) {
    means.push_back(sum.read(where) * (sum.dtype() == f64 ? wide : narrow));
    sum.assign(graph::full(sum.shape(), 0, sum.dtype(), where), where);
  }
  count_.assign(graph::scalar(0, i64, where), where);
  weight_.assign(graph::scalar(0, f64, where), where);
  return means;
}

void GradientAccumulator::take_parts(const std::function<Variable(std::size_t i, const Variable& whole)>& part_of) {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] = part_of(i, sums_[i]);
}

Parameters GradientAccumulator::state() const {
  Parameters cells{{"count", count_.cell()}, {"weight", weight_.cell()}};
  for (std::size_t i = 0; i < sums_.size(); ++i) cells.push_back({names_[i] + ".gradient", sums_[i].cell()});
  return cells;
}

}  // namespace tegula::optim
