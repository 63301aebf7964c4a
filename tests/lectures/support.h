#pragma once
// Numbers in, numbers out: what the lectures' tests share.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::test {

inline std::vector<double> random_numbers(std::size_t count, std::mt19937& engine, double low = -1, double high = 1) {
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> out(count);
  for (auto& x : out) x = draw(engine);
  return out;
}

inline void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance) {
  const auto values = got.to_host<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
}

}  // namespace tegula::test
