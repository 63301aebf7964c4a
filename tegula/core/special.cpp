#include "tegula/core/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tegula::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

/// Newton's method on erf from a start that is good to three digits (Winitzki, 2008).
double erfinv(double y) {
  if (!(std::abs(y) < 1)) return std::abs(y) == 1 ? std::copysign(kInfinity, y) : kNaN;
  if (y == 0) return y;
  constexpr double a = 0.147;
  const double logarithm = std::log1p(-y * y), b = 2 / (std::numbers::pi * a) + logarithm / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - logarithm / a) - b), y);
  for (int step = 0; step < 4; ++step) {
    // erfc keeps the digits where erf is near 1.
    const double error = std::abs(y) > 0.5 ? std::copysign(1.0, y) * ((1 - std::abs(y)) - std::erfc(std::abs(x))) : std::erf(x) - y;
    x -= error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
  }
  return x;
}

/// Recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.18); reflection (6.3.7) for negative x.
double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) return x == std::floor(x) ? kNaN : digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * std::remainder(x, 1.0));
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);
  const double series = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760))))));
  return sum + std::log(x) - 0.5 / x - series;
}

double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x;
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

}  // namespace tegula::special
