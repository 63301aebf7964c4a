// Reductions without NaN: values of NumPy's nan functions, gradients, results of rows without a number.

#include "tegula/ops/rows/nan_reduce.h"

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"

namespace tegula {
namespace {

INSTANTIATE_DECLARED_CASES(NanReduce, nan_reduce_cases());

Tensor holes() { return doubles({1, kNan, 3, kNan, kNan, kNan, 7, 2, 12}, {3, 3}); }

TEST(NanReduce, NanDoesNotCount) {
  expect_values(nansum(holes(), 1), {4, 0, 21});
  expect_values(nansum(holes()), {25});
  expect_values(nanmean(holes(), 1), {2, kNan, 7});
  expect_values(nanmean(holes(), 0), {4, 2, 7.5});
  expect_values(nanvar(holes(), 1), {2, kNan, 25});
  expect_values(nanvar(holes(), 1, {.correction = 0}), {1, kNan, 50.0 / 3}, 1e-12);
  expect_values(nanvar(holes(), 0), {18, kNan, 40.5});
  expect_values(nanstd(holes(), 1, {.correction = 0}), {1, kNan, std::sqrt(50.0 / 3)}, 1e-12);
  EXPECT_EQ(nanmean(holes(), 1, Keep::Yes).shape(), (Shape{3, 1}));
  EXPECT_EQ(nanvar(holes(), {0, 1}, {.keep = Keep::Yes}).shape(), (Shape{1, 1}));
}

TEST(NanReduce, TheMedianIsTheLowerMiddleOfTheNumbers) {
  expect_values(nanmedian(doubles({5, kNan, 1, 3, kNan, 9})), {3});
  expect_values(nanmedian(doubles({5, kNan, 1, 3})), {3});
  expect_values(nanmedian(holes(), 0), {1, 2, 3});
  expect_values(nanmedian(holes(), 1, Keep::Yes), {1, kNan, 7});
  EXPECT_EQ(nanmedian(holes(), 0, Keep::Yes).shape(), (Shape{1, 3}));
}

TEST(NanReduce, WithoutNanTheyAreTheReductionsOfThoseNames) {
  const Tensor x = counted({4, 5});
  expect_values(nansum(x, 1) - sum(x, 1), {0, 0, 0, 0});
  expect_values(nanmean(x, 0) - mean(x, 0), {0, 0, 0, 0, 0});
  expect_values(nanstd(x, 0) - stddev(x, 0), {0, 0, 0, 0, 0}, 1e-12);
  expect_values(nanmean(zeros({0, 2}, f64), 0), {kNan, kNan});
  expect_values(nansum(zeros({0, 2}, f64), 0), {0, 0});
}

TEST(NanReduce, NanGetsNoGradient) {
  const Tensor x = doubles({1, kNan, 3, kNan});
  expect_values(grad(nansum(square(x)), x), {2, 0, 6, 0});
  expect_values(grad(nanmean(x), x), {0.5, 0, 0.5, 0});
  expect_values(grad(nanvar(x), x), {-2, 0, 2, 0});
  const Tensor same = doubles({2, kNan, 2});
  expect_values(grad(nanstd(same), same), {0, 0, 0});
  expect_values(grad(nanmedian(x), x), {1, 0, 0, 0});
}

TEST(NanReduce, HalvesAreAddedInSinglePrecision) {
  EXPECT_EQ(nanmean(full({5000}, 100.0, f16)).item(), 100.0f);
  EXPECT_EQ(nansum(full({3}, 1.0, f16)).dtype(), f16);
  expect_part(refusal([] { nanmean(arange(3)); }), "nanmean: got dtype i64, expected a float type");
}

}  // namespace
}  // namespace tegula
