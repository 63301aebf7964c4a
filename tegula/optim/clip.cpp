#include "tegula/optim/clip.h"

#include <algorithm>
#include <map>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::optim {

namespace {

/// Σ of the squares () f64 of the gradients of these parameters, where parts count together with those of the other ranks.
Tensor total(const std::vector<Tensor>& squares, const Parameters& parameters, const Line& where) {
  std::vector<Tensor> terms;
  std::map<std::int64_t, std::pair<const Partition*, std::vector<Tensor>>> parts;  // by their ranks
  for (std::size_t i = 0; i < squares.size(); ++i) {
    if (!squares[i].defined()) continue;
    const Partition* const partition = i < parameters.size() ? parameters[i].cell->partition().get() : nullptr;
    if (!partition) terms.push_back(squares[i]);
    else parts[partition->ranks()].first = partition, parts[partition->ranks()].second.push_back(squares[i]);
  }
  for (const auto& [ranks, part] : parts) terms.push_back(part.first->sum(graph::add_n(part.second, where), where));
  return terms.empty() ? graph::scalar(0, f64, where) : graph::add_n(terms, where);
}

}  // namespace

ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, double max_norm, Line where) {
  return clip_grad_norm(gradients, {}, max_norm, where);
}

ClippedGradients clip_grad_norm(const std::vector<Tensor>& gradients, const Parameters& parameters, double max_norm, Line where) {
  In frame("clip_grad_norm", where);
  if (gradients.empty()) {
    throw Error({.op = "clip_grad_norm", .got = "no gradients", .expected = "at least one", .where = origin_at(where).where});
  }
  std::vector<Tensor> squares;  // () each; undefined of frozen parameters
  const auto has_none = [&](std::size_t i) { return i < parameters.size() && is_frozen(*parameters[i].cell); };
  for (const Tensor& g : gradients) {
    g.dtype(where);  // refuses an empty tensor
    if (has_none(squares.size())) squares.emplace_back();
    else squares.push_back(sum(square(cast(g, f64))));  // in f64: squares of large f32 values overflow, and those of small ones underflow
  }
  if (!(max_norm >= 0)) {
    throw Error(
        {.op = "clip_grad_norm", .got = "max_norm " + number_text(max_norm), .expected = "at least 0", .where = origin_at(where).where});
  }
  const Tensor norm = sqrt(total(squares, parameters, where));  // () f64
  const Tensor factor = tegula::where(norm <= max_norm, 1.0, max_norm / norm);
  const Tensor narrow = cast(factor, f32);
  const bool fine = std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return g.dtype() == f64; });
  ClippedGradients result{.gradients = {}, .norm = fine ? norm : cast(norm, f32)};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& g = gradients[i];
    result.gradients.push_back(has_none(i) ? g : cast(g * (g.dtype() == f64 ? factor : narrow), g.dtype()));
  }
  return result;
}

std::vector<Tensor> clip_grad_value(const std::vector<Tensor>& gradients, double limit, Line where) {
  In frame("clip_grad_value", where);
  std::vector<Tensor> clipped;
  for (const Tensor& g : gradients) clipped.push_back(clamp(g, -limit, limit));
  return clipped;
}

}  // namespace tegula::optim
