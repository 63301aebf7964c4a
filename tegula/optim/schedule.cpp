#include "tegula/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tegula/core/error.h"

namespace tegula::optim {
namespace {

double number(std::int64_t n) { return static_cast<double>(n); }

// From a at share 0 to b at share 1.
double between(double a, double b, double share, Anneal anneal) {
  if (anneal == Anneal::Linear) return a + (b - a) * share;
  return b + (a - b) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

/// A schedule that ends before it begins would be its least rate from the first step on.
void require_steps(const char* schedule, std::int64_t total) {
  if (total > 0) return;
  throw Error({.op = schedule,
               .got = "total " + std::to_string(total),
               .expected = "the number of steps that it lasts, at least 1",
               .advice = ".total = epochs * loader.batches()"});
}

}  // namespace

double ConstantLR::operator()(std::int64_t) const { return base; }

double StepLR::operator()(std::int64_t step) const { return base * std::pow(gamma, number(step / std::max<std::int64_t>(step_size, 1))); }

double MultiStepLR::operator()(std::int64_t step) const {
  const auto reached = std::count_if(milestones.begin(), milestones.end(), [&](std::int64_t milestone) { return milestone <= step; });
  return base * std::pow(gamma, number(reached));
}

double ExponentialLR::operator()(std::int64_t step) const { return base * std::pow(gamma, number(step)); }

double CosineLR::operator()(std::int64_t step) const {
  require_steps("CosineLR", total);
  if (step < warmup) return base * number(step + 1) / number(warmup);
  if (step >= total) return minimum;
  return between(base, minimum, number(step - warmup) / number(total - warmup), Anneal::Cosine);
}

double InverseSqrtLR::operator()(std::int64_t step) const {
  const auto now = static_cast<double>(step + 1), until = static_cast<double>(std::max<std::int64_t>(warmup, 1));
  return base * std::min(now / until, std::sqrt(until / now));
}

double CosineRestartsLR::operator()(std::int64_t step) const {
  std::int64_t length = std::max<std::int64_t>(period, 1), begin = 0;
  if (multiplier <= 1) begin = step / length * length;
  for (; multiplier > 1 && step - begin >= length; length *= multiplier) begin += length;
  const double done = static_cast<double>(step - begin) / static_cast<double>(length);
  return between(base, minimum, done, Anneal::Cosine);
}

double OneCycleLR::operator()(std::int64_t step) const {
  require_steps("OneCycleLR", total);
  const double start = maximum / div_factor, end = start / final_div_factor;
  const double peak = pct_start * number(total) - 1, last = number(total - 1), now = std::min(number(step), last);
  if (now <= peak) return between(start, maximum, peak > 0 ? now / peak : 1, anneal);
  return between(maximum, end, last > peak ? (now - peak) / (last - peak) : 1, anneal);
}

double LambdaLR::operator()(std::int64_t step) const { return base * factor(step); }

double RuleLR::operator()(std::int64_t step) const {
  double rate = base;
  for (std::int64_t i = 1; i <= step; ++i) rate = rule(rate, i);
  return rate;
}

double PlateauLR::operator()(double metric) {
  // Before anything was seen, and after an infinite metric, every finite one is better; NaN never is.
  const double limit = seen                ? best
                       : goal == Goal::Min ? INFINITY
                                           : -INFINITY,
               margin = std::isfinite(limit) ? std::abs(limit) * threshold : 0;
  const bool better = goal == Goal::Min ? metric < limit - margin : metric > limit + margin;
  if (better) {
    best = metric;
    seen = true;
    bad = 0;
  } else {
    ++bad;
  }
  if (cooling > 0) {
    --cooling;
    bad = 0;
  }
  if (bad > patience) {
    rate = std::max(rate * factor, minimum);
    cooling = cooldown;
    bad = 0;
  }
  return rate;
}

}  // namespace tegula::optim
