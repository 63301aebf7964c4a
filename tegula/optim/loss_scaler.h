#pragma once
// Dynamic loss scaling: gradients that f16 would round to zero are computed at a multiple of themselves (Micikevicius et al., Mixed
// Precision Training, 2018).
//
//   optim::LossScaler scaler;
//   auto [gradients, finite] = scaler.unscale(grad(scaler.scaled(loss), parameters(net)));
//   scaler.step(adam, gradients, finite);

#include <vector>

#include "tegula/optim/optimizer.h"

namespace tegula::optim {

struct LossScalerOptions {
  double scale = 65536;          // at first
  double growth = 2;             // factor after `interval` steps without an overflow …
  std::int64_t interval = 2000;
  double backoff = 0.5;          // … and after each one with
  double maximum = 16777216;     // upper bound of growth
};

/// A step whose gradients hold an infinity or NaN changes neither parameters nor the optimiser's state, and lowers the scale. All of
/// this happens on the device: nothing waits for the host to look.
class LossScaler {
 public:
  /// Throws Error for factors that do not grow or do not shrink, and numbers that are not positive.
  explicit LossScaler(LossScalerOptions options = {}, Line where = Line::current());

  /// loss * scale: what to differentiate.
  Tensor scaled(const Tensor& loss, Line where = Line::current()) const;
  struct Unscaled {
    std::vector<Tensor> gradients;  // f32 (f64 stays)
    Tensor finite;                  // () bool: whether all elements of all of them are
  };
  Unscaled unscale(const std::vector<Tensor>& gradients, Line where = Line::current()) const;
  /// optimizer.step(gradients) when `finite` holds, else nothing; then the scale for the next step.
  void step(Optimizer& optimizer, const std::vector<Tensor>& gradients, const Tensor& finite, Line where = Line::current());

  const Variable& scale() const { return scale_; }      // () f32
  const Variable& skipped() const { return skipped_; }  // () i64: steps left out so far
  /// The state for a checkpoint: "loss_scale", "loss_scale.good_steps", "loss_scale.skipped_steps".
  Parameters state() const;

 private:
  LossScalerOptions options_;
  Variable scale_, good_, skipped_;
};

}  // namespace tegula::optim
