// Every declared case of the elementwise families.

#include <gtest/gtest.h>

#include "tegula/graph/structural.h"
#include "tests/support/op_check.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Arithmetic, arithmetic_cases());
INSTANTIATE_DECLARED_CASES(Math, math_cases());
INSTANTIATE_DECLARED_CASES(Compare, compare_cases());
INSTANTIATE_DECLARED_CASES(Logic, logic_cases());
INSTANTIATE_DECLARED_CASES(Activation, activation_cases());

// The check itself: it must see wrong values.
TEST(OpCheck, SeesWrongValuesAndWrongGradients) {
  const auto wrong = [](const OpCase& one, bool gradient) {
    int count = 0;
    for (const Finding& finding : examine(one)) count += !finding.wrong.empty() && gradient == !finding.dtype;
    return count;
  };
  OpCase one = unary_case("probe", [](Arg x) { return graph::cast(x.tensor("probe"), f32); }, 1, 2);
  one.dtypes = {f32};
  one.more_shapes = {};
  one.gradient = false;
  EXPECT_EQ(wrong(one, false), 0);
  one.reference = [](const auto& x) {
    auto y = x[0];
    y[17] *= 1.00001;
    return y;
  };
  EXPECT_EQ(wrong(one, false), 2);  // contiguous and strided

  OpCase two = unary_case(
      "probe",
      [](Arg x) {
        const Tensor t = x.tensor("probe"), terms[] = {t, graph::stop_gradient(t)};
        return graph::add_n(terms);
      },
      1, 2);
  two.dtypes = {f64};
  two.more_shapes = {};
  EXPECT_EQ(wrong(two, false), 0);
  EXPECT_EQ(wrong(two, true), 1);
}

}  // namespace tegula
