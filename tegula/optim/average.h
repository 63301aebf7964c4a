#pragma once
// Averages of parameters over the steps of a training, kept in a copy of the network:
//
//   Net averaged = net;                              // a copy has cells of its own
//   optim::EMA ema(parameters(averaged), parameters(net), {.decay = 0.999});
//   …  adam.step(gradients);  ema.update();          // in a jit or not
//   evaluate(averaged);  save(averaged, "net.safetensors");
//
// With nn::state for parameters buffers are averaged too, and counters (integers) copied. Batch statistics that belong to averaged weights are
// collected by training-mode calls of the copy.

#include "tegula/graph/variable.h"

namespace tegula::optim {

/// The base of the averages. Throws Error if the two lists differ in names, shapes or length, share a cell, or an average would be a half (which has
/// too few digits for small changes: make the copy f32).
class ParameterAverage {
 public:
  virtual ~ParameterAverage() = default;
  /// Takes in the parameters as they are now. The first time the average becomes a copy of them.
  void update(Line where = Line::current());
  /// () i64: how often.
  const Variable& updates() const { return updates_; }
  /// The state for a checkpoint, beside the copy's own: "updates".
  Parameters state() const { return {{"updates", updates_.cell()}}; }

 protected:
  ParameterAverage(std::string_view name, Parameters averages, Parameters parameters, Line where);
  /// The weight of the parameters in the average after `updates` (() f64) earlier updates.
  virtual Tensor share(const Tensor& updates) const = 0;

 private:
  std::string_view name_;
  Parameters averages_, parameters_;
  Variable updates_;
};

struct EMAOptions {
  double decay = 0.999;  // in [0, 1)
  bool warmup = false;  // min(decay, (1 + updates) / (10 + updates)): the beginning is forgotten sooner
};
/// average = decay average + (1 - decay) p (Polyak and Juditsky, 1992; PyTorch's AveragedModel with get_ema_avg_fn).
class EMA final : public ParameterAverage {
 public:
  EMA(Parameters averages, Parameters parameters, const EMAOptions& options = {}, Line where = Line::current());

 private:
  Tensor share(const Tensor& updates) const override;
  EMAOptions options_;
};

/// average += (p - average) / (updates + 1): the mean of all (Izmailov et al., "Averaging weights leads to wider optima", 2018).
class SWA final : public ParameterAverage {
 public:
  SWA(Parameters averages, Parameters parameters, Line where = Line::current());

 private:
  Tensor share(const Tensor& updates) const override;
};

}  // namespace tegula::optim
