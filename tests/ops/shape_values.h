#pragma once
// Shared by the tests of the families that move, reduce, select and order elements.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/tensor.h"

namespace tegula {

inline const double kInfinite = std::numeric_limits<double>::infinity();
inline const double kNan = std::nan("");
using Values = std::vector<double>;

inline Tensor doubles(const Values& values, const Shape& shape) { return tensor(values, shape); }
inline Tensor doubles(const Values& values) { return tensor(values, {static_cast<std::int64_t>(values.size())}); }
/// 0, 1, 2, … of this shape.
inline Tensor counted(const Shape& shape, DType dtype = f64) {
  const HostArray array = HostArray::empty(dtype, shape);
  visit(dtype, [&](auto zero) {
    double next = 0;
    for (auto& value : array.values<decltype(zero)>()) value = from_double<decltype(zero)>(next++);
  });
  return from_array(array);
}

/// NaN equals NaN.
inline void expect_values(const Tensor& got, const Values& expected, double tolerance = 0) {
  const Values values = got.to_host<double>();
  ASSERT_EQ(values.size(), expected.size()) << got.print();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool same = values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]));
    EXPECT_TRUE(same || std::fabs(values[i] - expected[i]) <= tolerance) << "element " << i << " of " << got.print();
  }
}

/// The message of the Error thrown by f.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
inline void expect_part(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

}  // namespace tegula
