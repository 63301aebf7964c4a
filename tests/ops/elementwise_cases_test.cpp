// Every declared case of the elementwise families.

#include <gtest/gtest.h>

#include "tests/support/op_check.h"

namespace tegula {

TEST(ElementwiseCases, Arithmetic) { check(arithmetic_cases()); }
TEST(ElementwiseCases, Math) { check(math_cases()); }
TEST(ElementwiseCases, Compare) { check(compare_cases()); }
TEST(ElementwiseCases, Logic) { check(logic_cases()); }
TEST(ElementwiseCases, Activation) { check(activation_cases()); }

}  // namespace tegula
