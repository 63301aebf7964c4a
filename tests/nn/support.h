#pragma once
// Comparing tensors with numbers.

#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>

namespace tegula {

/// Each element of x within tolerance * max(1, |expected|) of the expected one.
inline void expect_near(const Tensor& x, const std::vector<double>& expected, double tolerance = 2e-6) {
  const std::vector<double> values = x.to_host<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
}

}  // namespace tegula
