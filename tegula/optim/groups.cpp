#include "tegula/optim/groups.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/elementwise/arithmetic.h"

namespace tegula::optim {
namespace {

Parameters all_of(const std::vector<std::unique_ptr<Optimizer>>& groups) {
  Parameters all;
  for (const auto& group : groups) all.insert(all.end(), group->parameters().begin(), group->parameters().end());
  return all;
}
double first_rate(const std::vector<std::unique_ptr<Optimizer>>& groups) { return groups.empty() ? 0 : groups[0]->lr.item<double>(); }

}  // namespace

ParameterGroups::ParameterGroups(std::vector<std::unique_ptr<Optimizer>> groups, Line where)
    : Optimizer("ParameterGroups", all_of(groups), first_rate(groups), where),
      groups_(std::move(groups)) {
  const In frame("ParameterGroups", where);
  const double first = first_rate(groups_);
  require(first > 0, "a first group with rate 0", "a rate to which the others' have ratios", where);
  for (const auto& group : groups_) ratios_.push_back(group->lr.item<double>() / first);
}

Parameters ParameterGroups::update_state() const {
  Parameters cells;
  for (const auto& group : groups_) {
    for (Parameter& cell : update_state_of(*group)) cells.push_back(std::move(cell));
  }
  return cells;
}

bool ParameterGroups::elementwise() const {
  return std::ranges::all_of(groups_, [](const auto& group) { return group->elementwise(); });
}

void ParameterGroups::adopt(const Parameters& parts, std::size_t first, const PartOf& part_of) {
  Optimizer::adopt(parts, first, part_of);  // it has no state of its own
  for (const auto& group : groups_) {
    adopt_by(*group, parts, first, part_of);
    first += group->parameters().size();
  }
}

Tensor ParameterGroups::rate(std::size_t group, Line where) const { return Arg(lr.read(where), where) * ratios_.at(group); }

std::vector<Tensor> ParameterGroups::update(const Step& step) {
  std::vector<Tensor> next;
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    Step own{.t = step.t, .lr = k == 0 ? step.lr : step.lr * ratios_[k], .p = {}, .g = {}, .stored = {}};
    const std::size_t begin = next.size(), end = begin + groups_[k]->parameters().size();
    own.p.assign(step.p.begin() + static_cast<std::ptrdiff_t>(begin), step.p.begin() + static_cast<std::ptrdiff_t>(end));
    own.g.assign(step.g.begin() + static_cast<std::ptrdiff_t>(begin), step.g.begin() + static_cast<std::ptrdiff_t>(end));
    own.stored.assign(step.stored.begin() + static_cast<std::ptrdiff_t>(begin), step.stored.begin() + static_cast<std::ptrdiff_t>(end));
    for (Tensor& p : update_of(*groups_[k], own)) next.push_back(std::move(p));
  }
  return next;
}

}  // namespace tegula::optim
