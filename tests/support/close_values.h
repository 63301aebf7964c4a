#pragma once
// Results of programs with few rows in a dtype, beside the results of the CPU's calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"

namespace tegula::test {

/// The results of a jit-ed function, and its plan as text.
struct Ran {
  std::vector<std::vector<double>> values;
  std::string plan;
};

constexpr DType kFloats[] = {f32, f64, bf16, f16};

inline double tolerance_of(DType dtype) { return dtype == f64 ? 1e-12 : dtype == f32 ? 3e-5 : dtype == f16 ? 4e-3 : 3e-2; }

/// Element by element, within the rounding of the dtype.
inline void expect_close_values(const Ran& got, const Ran& want, DType dtype) {
  ASSERT_EQ(got.values.size(), want.values.size());
  for (std::size_t k = 0; k < got.values.size(); ++k) {
    ASSERT_EQ(got.values[k].size(), want.values[k].size());
    for (std::size_t i = 0; i < got.values[k].size(); ++i) {
      const double expected = want.values[k][i];
      ASSERT_NEAR(got.values[k][i], expected, tolerance_of(dtype) * std::max(1.0, std::abs(expected)))
          << name(dtype) << ", result " << k << ", element " << i << "\n"
          << got.plan;
    }
  }
}

}  // namespace tegula::test
