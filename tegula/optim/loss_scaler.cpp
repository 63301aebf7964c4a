#include "tegula/optim/loss_scaler.h"

#include <string>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::optim {

LossScaler::LossScaler(LossScalerOptions options, Line where) : options_(options) {
  const In frame("LossScaler", where);
  const LossScalerOptions& o = options_;
  if (!(o.scale > 0 && o.growth >= 1 && o.backoff > 0 && o.backoff < 1 && o.interval > 0 && o.maximum >= o.scale)) {
    throw Error({.op = "LossScaler",
                 .got = "scale " + number_text(o.scale) + ", growth " + number_text(o.growth) + ", backoff " + number_text(o.backoff) +
                        ", interval " + std::to_string(o.interval) + ", maximum " + number_text(o.maximum),
                 .expected = "0 < backoff < 1 <= growth, the others positive, scale <= maximum",
                 .where = origin_at(where).where});
  }
  scale_ = graph::scalar(o.scale, f32, where);
  good_ = graph::scalar(0, i64, where);
  skipped_ = graph::scalar(0, i64, where);
}

Tensor LossScaler::scaled(const Tensor& loss, Line where) const {
  const In frame("LossScaler", where);
  return loss * scale_.read(where);
}

LossScaler::Unscaled LossScaler::unscale(const std::vector<Tensor>& gradients, Line where) const {
  const In frame("LossScaler", where);
  const Tensor factor = 1.0 / scale_.read(where);
  Unscaled out;
  for (const Tensor& gradient : gradients) {
    const Tensor wide = gradient.dtype() == f64 ? gradient : graph::cast(gradient, f32, where);
    out.gradients.push_back(wide * factor);
    const Tensor finite = all(isfinite(out.gradients.back()));
    out.finite = out.finite.defined() ? out.finite && finite : finite;
  }
  return out;
}

void LossScaler::step(Optimizer& optimizer, const std::vector<Tensor>& gradients, const Tensor& finite, Line where) {
  const In frame("LossScaler", where);
  Parameters cells = optimizer.state();
  cells.insert(cells.end(), optimizer.parameters().begin(), optimizer.parameters().end());
  std::vector<Tensor> before;
  for (const Parameter& cell : cells) before.push_back(cell.read(where));
  optimizer.step(gradients, where);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Tensor after = cells[i].read(where);
    if (after.node() != before[i].node()) cells[i].assign(tegula::where(finite, after, before[i]), where);
  }
  const Tensor good = good_ + 1, scale = scale_.read(where);
  const Tensor grows = good >= options_.interval;
  const Tensor larger = minimum(scale * options_.growth, options_.maximum);
  scale_ = tegula::where(finite, tegula::where(grows, larger, scale), scale * options_.backoff);
  good_ = tegula::where(finite && !grows, good, graph::scalar(0, i64, where));
  skipped_ = skipped_ + graph::cast(!finite, i64, where);
}

Parameters LossScaler::state() const {
  return {{"loss_scale", scale_.cell()}, {"loss_scale.good_steps", good_.cell()}, {"loss_scale.skipped_steps", skipped_.cell()}};
}

}  // namespace tegula::optim
