#pragma once
// Layers with weights by a formula, against numbers that PyTorch gave for the same layers with the same weights, in f64.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tegula/graph/autodiff/grad.h"
#include "tegula/nn/module.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula {

/// ((factor * i + salt) mod modulus - modulus / 2) * step for element i.
inline Tensor by_formula(const Shape& shape, std::int64_t factor, std::int64_t salt, std::int64_t modulus, double step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(static_cast<double>((factor * i + salt) % modulus - modulus / 2) * step);
  return tensor(values, shape);
}
/// The input of a layer.
inline Tensor formula_data(const Shape& shape, std::int64_t salt) { return by_formula(shape, 5, salt, 13, 0.1); }

/// The parameters in the order of their names; the k-th has salt 3 k.
template <class Module>
Parameters with_formula_weights(Module& module) {
  Parameters list = parameters(module);
  std::ranges::sort(list, {}, &Parameter::name);
  for (std::size_t k = 0; k < list.size(); ++k)
    list[k].assign(by_formula(list[k].read().shape(), 7, 3 * static_cast<std::int64_t>(k), 11, 0.05));
  return list;
}

struct FromPyTorch {
  std::vector<double> first;      // elements of the output y
  double sum;                     // Σ y²
  std::vector<double> gradients;  // Σ |d sum / d parameter|, in the order of their names
};

inline void expect_as_pytorch(const Tensor& y, const Parameters& list, const FromPyTorch& expected) {
  const auto values = y.to_host<double>();
  for (std::size_t i = 0; i < expected.first.size(); ++i) EXPECT_NEAR(values[i], expected.first[i], 1e-9) << "element " << i;
  const Tensor loss = sum(y * y);
  EXPECT_NEAR(loss.item<double>(), expected.sum, 1e-9 * expected.sum);
  const auto gradients = grad(loss, list);
  ASSERT_EQ(gradients.size(), expected.gradients.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    EXPECT_NEAR(sum(abs(gradients[k])).item<double>(), expected.gradients[k], 1e-9 * std::max(1.0, expected.gradients[k])) << list[k].name;
  }
}

}  // namespace tegula
