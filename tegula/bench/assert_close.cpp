#include "tegula/bench/assert_close.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula {
namespace {

/// rtol and atol.
std::pair<double, double> tolerances(DType dtype) {
  if (dtype == f64) return {1e-7, 1e-7};
  if (dtype == f32) return {1.3e-6, 1e-5};
  if (dtype == f16) return {1e-3, 1e-5};
  if (dtype == bf16) return {1.6e-2, 1e-5};
  return {is_float(dtype) ? 0.125 : 0, is_float(dtype) ? 1e-5 : 0};  // eight bits
}

std::string place_of(std::size_t element, const Shape& shape) {
  auto rest = static_cast<std::int64_t>(element);
  Dims place = Dims::filled(shape.rank(), 0);
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    place[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return to_string(place);
}

bool holds(double got, double expected, double difference, double bound, bool equal_nan) {
  if (std::isnan(got) || std::isnan(expected)) return equal_nan && std::isnan(got) && std::isnan(expected);
  return got == expected || (std::isfinite(got) && std::isfinite(expected) && difference <= bound);
}

}  // namespace

void assert_close(const Tensor& got, const Tensor& expected, const CloseOptions& options, Line where) {
  const std::string of = options.message.empty() ? "" : options.message + ": ";
  if (got.shape(where) != expected.shape(where)) {
    throw Error({.op = "assert_close",
                 .got = of + "a tensor of shape " + to_string(got.shape()),
                 .expected = to_string(expected.shape()),
                 .where = where});
  }
  const auto mine = tolerances(got.dtype()), other = tolerances(expected.dtype());
  const double rtol = options.rtol.value_or(std::max(mine.first, other.first));
  const double atol = options.atol.value_or(std::max(mine.second, other.second));
  const std::vector<double> a = got.to_host<double>(where), b = expected.to_host<double>(where);
  std::size_t wrong = 0, first = 0, worst = 0;
  double most = -1, ratio = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (holds(a[i], b[i], difference, atol + rtol * std::abs(b[i]), options.equal_nan)) continue;
    if (wrong++ == 0) first = i;
    const double size = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
    if (size > most) worst = i, most = size;
    if (b[i] != 0) ratio = std::max(ratio, difference / std::abs(b[i]));
  }
  if (wrong == 0) return;
  const auto values = [&](std::size_t i) {
    return number_text(a[i]) + " where " + number_text(b[i]) + " was expected, at " + place_of(i, got.shape());
  };
  throw Error({.op = "assert_close",
               .got = of + std::to_string(wrong) + " of " + std::to_string(a.size()) + " elements that differ: " + values(worst) +
                      (first == worst ? "" : "; the first one " + values(first)) + "; at most by " + number_text(most) + ", or " +
                      number_text(ratio) + " of what was expected",
               .expected = "|got - expected| <= " + number_text(atol) + " + " + number_text(rtol) + " |expected|",
               .where = where});
}

}  // namespace tegula
