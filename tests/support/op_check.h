#pragma once
// Runs declared cases: value against f64, gradient against central differences, a row of the support table.

#include <gtest/gtest.h>

#include <ostream>

#include "tegula/ops/case.h"

namespace tegula {

/// Tries the case for every dtype, shape and memory layout it declares; reports errors to GoogleTest, and all results to the support
/// table, which is printed at the end of the program and written to $TEGULA_REPORT_DIR/support_table.txt.
void check(const OpCase& one);

inline std::ostream& operator<<(std::ostream& out, const OpCase& one) { return out << one.op; }  // in GoogleTest's lists

/// A test for every op of a list, so that filters, shards and sanitizers can take one op at a time.
/// `INSTANTIATE_DECLARED_CASES(Math, math_cases());` makes Math/DeclaredCases.Hold/exp, Math/DeclaredCases.Hold/log …
class DeclaredCases : public testing::TestWithParam<std::vector<OpCase>> {};
std::vector<std::vector<OpCase>> by_op(std::vector<OpCase> cases);
std::string name_of_op(const testing::TestParamInfo<std::vector<OpCase>>& info);
#define INSTANTIATE_DECLARED_CASES(family, cases) \
  INSTANTIATE_TEST_SUITE_P(family, DeclaredCases, testing::ValuesIn(by_op(cases)), name_of_op)

/// The finding of one run of a case. `check` records these.
struct Finding {
  std::optional<DType> dtype;  // of a value; none for a gradient
  std::string run;             // "gelu f16 (7, 33) strided"
  std::string wrong;           // empty when all is well
};
std::vector<Finding> examine(const OpCase& one);

/// The layout of an input's elements in memory.
enum class InputLayout { Contiguous, Strided, Transposed };
/// A leaf of these values (row-major, rounded to dtype) with that layout.
Tensor leaf_of(const std::vector<double>& values, const Shape& shape, DType dtype, InputLayout layout = InputLayout::Contiguous);

}  // namespace tegula
