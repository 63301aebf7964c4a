#include "tegula/ops/images/unpool.h"

#include <cmath>

#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Unpool, unpool_cases());

namespace {

using test::drawn;

TEST(Unpool, PlacesAreThoseOfTheMaxima) {
  const Tensor x = drawn({2, 3, 9, 8});
  const MaxPoolOptions options{.stride = {2, 3}, .padding = {1, 0}, .dilation = {2, 1}};
  const PooledPlaces pooled = max_pool2d_with_indices(x, {3, 2}, options);
  expect_values(pooled.values, max_pool2d(x, {3, 2}, options).to_host<double>());
  const auto values = pooled.values.to_host<double>(), all = x.to_host<double>();
  const auto places = pooled.indices.to_host<std::int64_t>();
  const std::size_t plane = values.size() / 6;
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(all[i / plane * 72 + static_cast<std::size_t>(places[i])], values[i]);
  expect_values(max_pool2d_with_indices(zeros({1, 1, 2, 2}), 2).indices, {0});  // of equal ones the first
}

TEST(Unpool, PutsValuesBackAndNothingElse) {
  const Tensor x = drawn({2, 3, 6, 8});
  const PooledPlaces pooled = max_pool2d_with_indices(x, 2);
  const Tensor back = max_unpool2d(pooled.values, pooled.indices, 2);
  ASSERT_EQ(back.shape(), x.shape());
  expect_values(back, where(back != 0, x, 0).to_host<double>());
  expect_values(sum(cast(back != 0, i64)), {2 * 3 * 12});
  expect_values(max_pool2d(abs(back), 2), abs(pooled.values).to_host<double>());
  EXPECT_EQ(max_unpool2d(pooled.values, pooled.indices, 2, {.size = {7, 8}}).shape(), (Shape{2, 3, 7, 8}));
}

TEST(LocalContrastNorm, LeavesNoMeanAndAnEvenSpread) {
  expect_values(local_contrast_norm(full({1, 2, 5, 5}, 3.0, f64), {.size = 3}), std::vector<double>(50, 0), 1e-9);
  // The same picture with another brightness and contrast gives the same result.
  const Tensor x = drawn({1, 3, 12, 11}, f64), y = local_contrast_norm(x, {.size = 5});
  expect_values(local_contrast_norm(x * 7 + 100, {.size = 5}), y.to_host<double>(), 1e-9);
  EXPECT_LT(max(abs(y)).item<double>(), 6);
}

TEST(Unpool, Errors) {
  expect_part(refusal([] { max_pool2d_with_indices(zeros({3, 4}), 2); }),
              "max_pool2d_with_indices: got shape (3, 4), expected (N, C, H, W)");
  expect_part(refusal([] { max_pool2d_with_indices(zeros({1, 1, 2, 2}), 3); }), "one that fits");
  expect_part(refusal([] { max_unpool2d(zeros({1, 1, 2, 2}), zeros({1, 1, 2, 2}), 2); }), "integers of shape (1, 1, 2, 2)");
  expect_part(refusal([] { max_unpool2d(zeros({1, 1, 2, 2}), full({1, 1, 2, 2}, 99), 2).to_host(); }), "99");
  expect_part(refusal([] { local_contrast_norm(zeros({1, 1, 2, 2}), {.size = 4}); }), "an odd size");
}

}  // namespace
}  // namespace tegula
