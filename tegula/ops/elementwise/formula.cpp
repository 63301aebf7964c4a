#include "tegula/ops/elementwise/formula.h"

namespace tegula::formula {

double erfinv(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(kInfinity, y) : std::numeric_limits<double>::quiet_NaN();
  if (y == 0) return y;
  // A start good to three digits (Winitzki 2008), then Halley's method on erf, or on erfc where erf is near 1.
  const double a = 0.147, l = std::log1p(-y * y), b = 2 / (kPi * a) + l / 2;
  double x = std::sqrt(std::sqrt(b * b - l / a) - b);
  const double target = std::fabs(y);
  for (int step = 0; step < 4; ++step) {
    const double error = target > 0.5 ? (1 - target) - std::erfc(x) : std::erf(x) - target;
    const double slope = 2 / std::sqrt(kPi) * std::exp(-x * x);
    const double newton = error / slope;
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {  // reflection (Abramowitz and Stegun 6.3.7)
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::floor(x)));
  }
  double sum = 0;
  for (; x < 12; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);  // asymptotic series (6.3.18)
  return sum + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132)))));
}

}  // namespace tegula::formula
