#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/random.h"

namespace tegula::test {
namespace {

void compare(const Elements& got, const Elements& expected, double absolute, double relative, const std::string& what,
             const std::source_location& where) {
  const auto fail = [&](const std::string& why) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << what << (what.empty() ? "" : ": ") << why;
  };
  if (got.shape && expected.shape && *got.shape != *expected.shape)
    return fail("got " + to_string(*got.shape) + ", expected " + to_string(*expected.shape));
  if (got.values.size() != expected.values.size()) {
    return fail("got " + std::to_string(got.values.size()) + " elements, expected " + std::to_string(expected.values.size()));
  }
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double x = got.values[i], y = expected.values[i];
    if (std::abs(x - y) <= std::max(absolute, relative * std::abs(y))) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << ": got " << x << ", expected " << y << " within " << std::max(absolute, relative * std::abs(y));
    return fail(text.str());
  }
}

}  // namespace

tegula::Tensor drawn(const Shape& shape, DType dtype, double deviation) {
  const tegula::Tensor x = normal(shape, 0, deviation, {.dtype = dtype});
  eval(x);
  return x;
}

tegula::Tensor leaf(const Shape& shape, DType dtype) {
  const tegula::Tensor x = zeros(shape, dtype);
  eval(x);
  return x;
}

std::vector<double> random_numbers(std::size_t count, std::mt19937& engine, double low, double high) {
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> out(count);
  for (double& x : out) x = draw(engine);
  return out;
}

void expect_near(const Elements& got, const Elements& expected, double tolerance, const std::string& what, std::source_location where) {
  compare(got, expected, tolerance, 0, what, where);
}

void expect_close(const Elements& got, const Elements& expected, double tolerance, const std::string& what, std::source_location where) {
  compare(got, expected, tolerance, tolerance, what, where);
}

}  // namespace tegula::test
