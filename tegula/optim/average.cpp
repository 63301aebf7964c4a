#include "tegula/optim/average.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"

namespace tegula::optim {

ParameterAverage::ParameterAverage(std::string_view name, Parameters averages, Parameters parameters, Line where)
    : name_(name),
      averages_(std::move(averages)),
      parameters_(std::move(parameters)) {
  const In frame(name_, where);
  const auto refuse = [&](std::string got, std::string expected, std::string advice = "") {
    throw Error({.op = std::string(name_),
                 .got = std::move(got),
                 .expected = std::move(expected),
                 .advice = std::move(advice),
                 .where = origin_at(where).where});
  };
  if (averages_.size() != parameters_.size() || parameters_.empty()) {
    refuse(std::to_string(averages_.size()) + " averages of " + std::to_string(parameters_.size()) + " parameters", "one for each",
           "parameters(copy) and parameters(net)");
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter &a = averages_[i], &p = parameters_[i];
    if (a.cell.get() == p.cell.get()) refuse(p.name + " as its own average", "a copy", "Net averaged = net;");
    if (a.name != p.name || a.cell->shape() != p.cell->shape()) {
      refuse(a.name + to_string(a.cell->shape()) + " for " + p.name + to_string(p.cell->shape()), "the same names and shapes");
    }
    if (is_half(a.cell->dtype())) refuse(a.name + " of dtype " + std::string(tegula::name(a.cell->dtype())), "averages in f32 or f64");
  }
  updates_ = graph::scalar(0, i64, where);
}

void ParameterAverage::update(Line where) {
  const In frame(name_, where);
  const Tensor before = graph::cast(updates_.read(where), f64, where), own = share(before);
  const Tensor wide = tegula::where(before == 0.0, 1.0, own), narrow = graph::cast(wide, f32, where);
  updates_.assign(updates_.read(where) + 1, where);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Cell& cell = *averages_[i].cell;
    const Tensor p = graph::cast(parameters_[i].read(where), cell.dtype(), where);
    if (!is_float(cell.dtype())) {
      averages_[i].assign(p, where);
      continue;
    }
    const Tensor a = averages_[i].read(where);
    averages_[i].assign(a + (cell.dtype() == f64 ? wide : narrow) * (p - a), where);
  }
}

EMA::EMA(Parameters averages, Parameters parameters, const EMAOptions& options, Line where)
    : ParameterAverage("EMA", std::move(averages), std::move(parameters), where),
      options_(options) {
  if (options.decay >= 0 && options.decay < 1) return;
  throw Error({.op = "EMA", .got = "decay = " + number_text(options.decay), .expected = "a number in [0, 1)", .where = where});
}

Tensor EMA::share(const Tensor& updates) const {
  if (!options_.warmup) return graph::scalar(1 - options_.decay, f64);
  return 1 - minimum(options_.decay, (1 + updates) / (10 + updates));
}

SWA::SWA(Parameters averages, Parameters parameters, Line where)
    : ParameterAverage("SWA", std::move(averages), std::move(parameters), where) {}

Tensor SWA::share(const Tensor& updates) const { return 1 / (updates + 1); }

}  // namespace tegula::optim
