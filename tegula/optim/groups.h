#pragma once
// Parameters in groups with options of their own, and one schedule for all.

#include <concepts>
#include <memory>
#include <vector>

#include "tegula/optim/optimizer.h"

namespace tegula::optim {

/// The parameters for which a condition holds, and the others: optim::split(parameters(net), [](const Parameter& p) { return p.cell->shape().rank() > 1; }).
struct SplitParameters {
  Parameters chosen, others;
};
template <std::predicate<const Parameter&> Condition>
SplitParameters split(const Parameters& parameters, Condition&& condition) {
  SplitParameters out;
  for (const Parameter& parameter : parameters) (condition(parameter) ? out.chosen : out.others).push_back(parameter);
  return out;
}

/// An optimiser on its way into ParameterGroups, with the line on which the user wrote it.
class ParameterGroup {
 public:
  template <std::derived_from<Optimizer> O>
  ParameterGroup(O optimizer, Line where = Line::current()) : where(where),
                                                              optimizer(std::make_unique<O>(std::move(optimizer))) {}
  Line where;
  std::unique_ptr<Optimizer> optimizer;
};

/// Several optimisers as one, each for parameters of its own:
///   auto [matrices, vectors] = optim::split(parameters(net), …);
///   optim::ParameterGroups adamw(optim::AdamW(matrices, {.lr = 1e-3, .weight_decay = 0.1}), optim::AdamW(vectors, {.lr = 1e-3, .weight_decay = 0}));
///   adamw.step(grad(loss, adamw.parameters()));      // in the order of the groups
/// `lr` is the rate of the first group; the others' keep the ratios to it that they were made with, so that one schedule drives all of them. Takes the
/// place of any optimiser: in a Trainer, behind a LossScaler. The groups' own `lr` are not read again. Throws Error when two groups share a parameter, or the first rate is 0.
class ParameterGroups final : public Optimizer {
 public:
  template <std::derived_from<Optimizer>... O>
  explicit ParameterGroups(ParameterGroup first, O... others)
      : ParameterGroups(listed(std::move(first.optimizer), std::move(others)...), first.where) {}
  explicit ParameterGroups(std::vector<std::unique_ptr<Optimizer>> groups, Line where = Line::current());

  std::size_t size() const { return groups_.size(); }
  /// The present rate of a group, from 0.
  Tensor rate(std::size_t group, Line where = Line::current()) const;
  bool elementwise() const override;

 private:
  template <class... O>
  static std::vector<std::unique_ptr<Optimizer>> listed(std::unique_ptr<Optimizer> first, O... others) {
    std::vector<std::unique_ptr<Optimizer>> list;
    list.push_back(std::move(first));
    (list.push_back(std::make_unique<O>(std::move(others))), ...);
    return list;
  }
  std::vector<Tensor> update(const Step& step) override;
  std::vector<Tensor> update_some(const Step& step) override { return update(step); }  // each group leaves out its own
  Parameters update_state() const override;
  void adopt(const Parameters& parts, std::size_t first, const PartOf& part_of) override;
  std::vector<std::unique_ptr<Optimizer>> groups_;
  std::vector<double> ratios_;  // ratio of each rate to the first
};

}  // namespace tegula::optim
