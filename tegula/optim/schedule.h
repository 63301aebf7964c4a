#pragma once
// Learning rates over time: plain values, called with the number of the step (or epoch) from 0.
//
//   optim::CosineLR schedule{.base = 1e-3, .total = 10'000, .warmup = 500};
//   adam.lr = schedule(step);
//
// Any function from std::int64_t to double is a schedule.

#include <cstdint>
#include <functional>
#include <vector>

namespace tegula::optim {

/// A schedule of any kind.
using Schedule = std::function<double(std::int64_t step)>;

/// base.
struct ConstantLR {
  double base;
  double operator()(std::int64_t step) const;
};

/// base * gamma^(step / step_size), whole division.
struct StepLR {
  double base;
  std::int64_t step_size;
  double gamma = 0.1;
  double operator()(std::int64_t step) const;
};

/// base * gamma^(how many milestones are reached).
struct MultiStepLR {
  double base;
  std::vector<std::int64_t> milestones;
  double gamma = 0.1;
  double operator()(std::int64_t step) const;
};

/// base * gamma^step.
struct ExponentialLR {
  double base;
  double gamma;
  double operator()(std::int64_t step) const;
};

/// Rises linearly to base over `warmup` steps (step 0 has base / warmup), then half a cosine from base down to `minimum` at step `total`,
/// and stays there (Loshchilov and Hutter, "SGDR", 2017).
struct CosineLR {
  double base;
  std::int64_t total;
  std::int64_t warmup = 0;
  double minimum = 0;
  double operator()(std::int64_t step) const;
};

/// Rises linearly to base over `warmup` steps (step 0 has base / warmup), then falls as 1/sqrt(step): at step warmup - 1 it is base (Vaswani et al., 2017, with the
/// greatest rate instead of a factor).
struct InverseSqrtLR {
  double base;
  std::int64_t warmup = 4000;
  double operator()(std::int64_t step) const;
};

/// Cosines from base down to `minimum`, one after the other: the first takes `period` steps, each next one `multiplier` times as many (Loshchilov and
/// Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017; PyTorch's CosineAnnealingWarmRestarts).
struct CosineRestartsLR {
  double base;
  std::int64_t period;
  std::int64_t multiplier = 1;
  double minimum = 0;
  double operator()(std::int64_t step) const;
};

enum class Anneal : std::uint8_t { Cosine, Linear };
/// The rate goes from maximum / div_factor up to the maximum over the first pct_start of the steps, then down to maximum / div_factor /
/// final_div_factor at step total - 1, and stays there (Smith and Topin, 2018; PyTorch's OneCycleLR with two phases).
struct OneCycleLR {
  double maximum;
  std::int64_t total;
  double pct_start = 0.3;
  double div_factor = 25;
  double final_div_factor = 1e4;
  Anneal anneal = Anneal::Cosine;
  double operator()(std::int64_t step) const;
};

/// base * factor(step).
struct LambdaLR {
  double base;
  std::function<double(std::int64_t step)> factor;
  double operator()(std::int64_t step) const;
};

/// The rule of the lectures: each step's rate is made from the one before, base, rule(base, 1), rule(rule(base, 1), 2), …
struct RuleLR {
  double base;
  std::function<double(double rate, std::int64_t step)> rule;
  double operator()(std::int64_t step) const;
};

enum class Goal : std::uint8_t { Min, Max };
/// Reduces the rate when a metric has stopped improving: adam.lr = plateau(validation_loss). PyTorch's ReduceLROnPlateau, but the
/// threshold is relative to |best|, so that negative metrics improve in the right direction. NaN is no improvement.
/// The last five fields are its state; save them to continue.
struct PlateauLR {
  double base;
  double factor = 0.1;
  std::int64_t patience = 10;  // calls without improvement that are borne
  Goal goal = Goal::Min;
  double threshold = 1e-4;  // relative improvement that counts
  std::int64_t cooldown = 0;
  double minimum = 0;

  double rate = base;
  double best = 0;
  bool seen = false;  // false until `best` has a value
  std::int64_t bad = 0;
  std::int64_t cooling = 0;

  /// Notes the metric of an epoch, and gives the rate of the next one.
  double operator()(double metric);
};

}  // namespace tegula::optim
